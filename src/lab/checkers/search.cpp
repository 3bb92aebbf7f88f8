// SPDX-License-Identifier: Apache-2.0
//
// The searches of HappensBefore.
#include <algorithm>

#include "lab/checkers/happens_before.hpp"

namespace heddle::lab::checkers {

// Whether the last search was from the same place and went far enough. A second search from one place, for something
// older, goes to the beginning of the round: there may be a third.
bool HappensBefore::reuse(std::uint64_t key, AcquireIndex acquire, Tick& horizon) {
  const bool same_place = key_ == key && key_acquire_ == acquire;
  if (same_place && horizon_ <= horizon) return true;
  if (same_place) horizon = 0;
  key_ = key;
  key_acquire_ = acquire;
  return false;
}

void HappensBefore::begin_search(Tick horizon) {
  ++stamp_;
  horizon_ = horizon;
  steps_.clear();
}

void HappensBefore::look_from(BlockIndex index, std::uint32_t op, Tick horizon) {
  // What a block knows changes with what it acquires.
  AcquireIndex acquire = blocks_[index].last_acquire;
  while (acquire != none && acquires_[acquire].op > op) acquire = acquires_[acquire].previous;
  if (!reuse(std::uint64_t{index} << 1U, acquire, horizon)) {
    begin_search(horizon);
    reach(index, op);
    run();
  }
  blocks_[index].upto = op;
}

void HappensBefore::look_from_blocks(TaskIndex index, Tick horizon) {
  const TaskNode& task = tasks_[index];
  key_ = UINT64_MAX;  // grows while the task runs: not reused
  begin_search(horizon);
  for (std::uint32_t i = 0; i < task.blocks; ++i) reach(task.first_block + i, blocks_[task.first_block + i].op);
  run();
}

bool HappensBefore::knows_remote(BlockIndex index, std::uint32_t op, int peer) const {
  const BlockNode& block = blocks_[index];
  if (block.seen != stamp_ || block.upto < op) return false;
  if (block.upto == whole) return true;
  for (NotifyIndex i = block.last_notify; i != none && notifies_[i].op >= op; i = notifies_[i].previous_of_block) {
    const NotifyNode& notify = notifies_[i];
    if (notify.seen == stamp_ && notify.peer == peer && notify.carried > op) return true;
  }
  for (std::uint32_t i = block.last_fence; i != none && fences_[i].op > op; i = fences_[i].previous)
    if (fences_[i].peer < 0 && fences_[i].op <= block.upto) return true;
  return false;
}

void HappensBefore::run() {
  while (!steps_.empty()) {
    const Step step = steps_.back();
    steps_.pop_back();
    if (step.is_task) {
      const TaskNode& task = tasks_[step.index];
      for (std::uint32_t i = 0; i < task.blocks; ++i)
        if (blocks_[task.first_block + i].begun != 0) reach(task.first_block + i, whole);
      for (AcquireIndex i = task.last_condition; i != none; i = acquires_[i].previous) reach_value(acquires_[i].head);
      reach_start(step.index);
      continue;
    }
    for (AcquireIndex i = blocks_[step.index].last_acquire; i != none && acquires_[i].op > step.from;
         i = acquires_[i].previous)
      if (acquires_[i].op <= step.upto) reach_value(acquires_[i].head);
  }
}

void HappensBefore::reach(BlockIndex index, std::uint32_t upto) {
  BlockNode& block = blocks_[index];
  if (block.ended != 0 && block.ended < horizon_) return;
  const bool first = block.seen != stamp_;
  if (!first && block.upto >= upto) return;
  const std::uint32_t from = first ? 0 : block.upto;
  block.seen = stamp_;
  block.upto = upto;
  if (block.last_acquire != none) steps_.push_back({false, index, from, upto});
  tasks_[block.task].entered = stamp_;
  reach_start(block.task);
}

void HappensBefore::reach_start(TaskIndex index) {
  TaskNode& task = tasks_[index];
  if (task.start_seen == stamp_) return;
  task.start_seen = stamp_;
  for (std::uint32_t i = 0; i < task.producers; ++i) reach_end(producer(task, i));

  RankNode& rank = ranks_[static_cast<std::size_t>(task.id.rank)];
  const std::uint32_t known = rank.seen == stamp_ ? rank.seen_count : 0;
  for (std::uint32_t i = task.completed_before; i > known; --i) {
    if (tasks_[rank.completed[i - 1]].completed < horizon_) break;
    reach_end(rank.completed[i - 1]);
  }
  rank.seen = stamp_;
  rank.seen_count = std::max(known, task.completed_before);
}

void HappensBefore::reach_end(TaskIndex index) {
  TaskNode& task = tasks_[index];
  if (task.end_seen == stamp_) return;
  task.end_seen = stamp_;
  if (task.completed != 0 && task.completed < horizon_) return;
  task.entered = stamp_;
  steps_.push_back({true, index, 0, 0});
}

// Everything in the value from its newest notify back to one that was reached before.
void HappensBefore::reach_value(NotifyIndex head) {
  for (NotifyIndex i = head; i != none && notifies_[i].seen != stamp_; i = notifies_[i].previous_of_value) {
    NotifyNode& notify = notifies_[i];
    notify.seen = stamp_;
    if (notify.carried > 0 && notify.issued >= horizon_) reach(notify.block, notify.carried);
  }
}

}  // namespace heddle::lab::checkers
