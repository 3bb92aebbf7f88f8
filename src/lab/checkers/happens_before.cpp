// SPDX-License-Identifier: Apache-2.0
#include "lab/checkers/happens_before.hpp"

#include <algorithm>
#include <utility>

namespace heddle::lab::checkers {

HappensBefore::HappensBefore(int ranks) : ranks_(static_cast<std::size_t>(std::max(ranks, 0))) {}

void HappensBefore::round_begins(std::int64_t round) {
  for (CellNode& cell : cells_) {
    if (cell.head != none) {
      cell.has_old = true;
      cell.old = origin(cell.head);
    }
    cell.head = none;
    cell.last_notify = none;
  }
  for (NotifyIndex i = 0; i < notifies_.size(); ++i)
    if (notifies_[i].arrived == 0) late_.try_emplace(notifies_[i].id, notifies_[i].cell, origin(i));
  round_ = round;
  for (RankNode& rank : ranks_) rank = {std::move(rank.by_serial), std::move(rank.completed), 0, 0};
  for (RankNode& rank : ranks_) {
    rank.by_serial.clear();
    rank.completed.clear();
  }
  tasks_.clear();
  blocks_.clear();
  producers_.clear();
  notifies_.clear();
  acquires_.clear();
  fences_.clear();
  running_.clear();
  first_running_ = 0;
  notify_of_id_.clear();
  stamp_ = 0;
  key_ = UINT64_MAX;
}

TaskIndex HappensBefore::submitted(const TaskFacts& facts) {
  ++now_;
  const auto rank_index = static_cast<std::size_t>(facts.id.rank);
  if (facts.id.rank < 0 || rank_index >= ranks_.size()) return none;
  RankNode& rank = ranks_[rank_index];
  const auto index = static_cast<TaskIndex>(tasks_.size());
  TaskNode& task = tasks_.emplace_back();
  task.id = facts.id;
  task.name = facts.name;
  task.location = facts.location;
  task.blocks = facts.blocks;
  task.manual = facts.manual;
  task.submitted = now_;
  task.first_block = static_cast<BlockIndex>(blocks_.size());
  task.completed_before = static_cast<std::uint32_t>(rank.completed.size());
  task.first_producer = static_cast<std::uint32_t>(producers_.size());
  for (const TaskId& id : facts.producers)
    if (const TaskIndex producer = find(id); producer != none) producers_.push_back(producer);
  task.producers = static_cast<std::uint32_t>(producers_.size()) - task.first_producer;
  blocks_.resize(blocks_.size() + facts.blocks);
  for (std::size_t i = task.first_block; i < blocks_.size(); ++i) blocks_[i].task = index;
  if (rank.by_serial.size() <= facts.id.serial) rank.by_serial.resize(std::size_t{facts.id.serial} + 1, none);
  rank.by_serial[facts.id.serial] = index;
  return index;
}

void HappensBefore::completed(TaskIndex index) {
  ++now_;
  TaskNode& task = tasks_[index];
  if (task.completed != 0) return;
  task.completed = now_;
  ranks_[static_cast<std::size_t>(task.id.rank)].completed.push_back(index);
}

void HappensBefore::block_begins(BlockIndex index, std::uint32_t core) {
  ++now_;
  BlockNode& block = blocks_[index];
  block.core = core;
  if (block.begun == 0) block.begun = now_;
  TaskNode& task = tasks_[block.task];
  if (task.begun != 0) return;
  task.begun = now_;
  running_.push_back(block.task);
}

void HappensBefore::block_ends(BlockIndex index) {
  ++now_;
  BlockNode& block = blocks_[index];
  if (block.ended == 0) ++tasks_[block.task].blocks_ended;
  block.ended = now_;
}

std::uint32_t HappensBefore::operation(BlockIndex block) {
  ++now_;
  return ++blocks_[block].op;
}

void HappensBefore::fence(BlockIndex index, int peer) {
  const std::uint32_t op = operation(index);
  fences_.push_back({op, peer, blocks_[index].last_fence});
  blocks_[index].last_fence = static_cast<std::uint32_t>(fences_.size() - 1);
}

NotifyIndex HappensBefore::notify(BlockIndex index, std::uint64_t id, const heddle::detail::SignalRef& signal,
                                  std::int64_t value, Notify how, Order order) {
  const std::uint32_t op = operation(index);
  const CellIndex cell_index = cell_of(signal);
  BlockNode& block = blocks_[index];
  CellNode& cell = cells_[cell_index];
  cell.notified = true;
  NotifyNode node;
  node.id = id;
  node.block = index;
  node.op = op;
  node.cell = cell_index;
  node.peer = signal.rank;
  node.value = value;
  node.how = how;
  node.relaxed = order == Order::relaxed;
  node.issued = now_;
  node.previous_of_block = block.last_notify;
  node.previous_of_cell = cell.last_notify;
  node.carried = op;
  if (node.relaxed) {
    std::uint32_t fence = block.last_fence;
    while (fence != none && fences_[fence].peer >= 0 && fences_[fence].peer != signal.rank)
      fence = fences_[fence].previous;
    node.carried = fence == none ? 0 : fences_[fence].op;
  }
  const auto result = static_cast<NotifyIndex>(notifies_.size());
  notifies_.push_back(node);
  block.last_notify = result;
  cell.last_notify = result;
  notify_of_id_.emplace(id, result);
  return result;
}

NotifyIndex HappensBefore::notify_arrived(std::uint64_t id) {
  ++now_;
  if (const auto late = late_.find(id); late != late_.end()) {
    CellNode& cell = cells_[late->second.first];
    cell.has_old = true;
    cell.old = late->second.second;
    late_.erase(late);
    return none;
  }
  const auto found = notify_of_id_.find(id);
  if (found == notify_of_id_.end()) return none;
  NotifyNode& node = notifies_[found->second];
  CellNode& cell = cells_[node.cell];
  if (node.arrived != 0) return found->second;  // a duplicate: who waits has acquired it already, or will
  node.arrived = now_;
  if (node.how == Notify::set) {
    cell.has_old = false;
    cell.head = none;
  }
  node.previous_of_value = cell.head;
  cell.head = found->second;
  return found->second;
}

AcquireIndex HappensBefore::wait_satisfied(TaskIndex task, BlockIndex block, const heddle::detail::SignalRef& signal,
                                           Compare compare, std::int64_t value) {
  AcquireNode node;
  node.task = task;
  node.block = block;
  if (block == none)
    ++now_;
  else
    node.op = operation(block);
  node.cell = cell_of(signal);
  node.head = cells_[node.cell].head;
  node.compare = compare;
  node.value = value;
  node.tick = now_;
  AcquireIndex& last = block == none ? tasks_[task].last_condition : blocks_[block].last_acquire;
  node.previous = last;
  last = static_cast<AcquireIndex>(acquires_.size());
  acquires_.push_back(node);
  return last;
}

void HappensBefore::overwritten(CellIndex index) {
  cells_[index].head = none;
  cells_[index].has_old = false;
}

CellIndex HappensBefore::cell_of(const heddle::detail::SignalRef& signal) {
  const auto [place, is_new] = cell_of_address_.try_emplace(signal.cell, static_cast<CellIndex>(cells_.size()));
  if (is_new) {
    cells_by_address_.emplace(reinterpret_cast<std::uintptr_t>(signal.cell), place->second);
    cells_.emplace_back().signal = signal;
  }
  return place->second;
}

TaskIndex HappensBefore::find(TaskId id) const {
  if (id.rank < 0 || static_cast<std::size_t>(id.rank) >= ranks_.size()) return none;
  const auto& by_serial = ranks_[static_cast<std::size_t>(id.rank)].by_serial;
  return id.serial < by_serial.size() ? by_serial[id.serial] : none;
}

BlockIndex HappensBefore::find(const BlockId& id) const {
  const TaskIndex task = find(id.task);
  if (task == none || id.block >= tasks_[task].blocks) return none;
  return tasks_[task].first_block + id.block;
}

Tick HappensBefore::oldest_running() const {
  while (first_running_ < running_.size() && tasks_[running_[first_running_]].completed != 0) ++first_running_;
  return first_running_ < running_.size() ? tasks_[running_[first_running_]].begun : now_;
}

Origin HappensBefore::origin(NotifyIndex index) const {
  const BlockIndex block = notifies_[index].block;
  const TaskNode& task = tasks_[blocks_[block].task];
  return {round_, task.id.rank, block_number(block), task.name, task.location};
}

bool HappensBefore::has_notified_cell(std::uintptr_t begin, std::uintptr_t end) const {
  bool found = false;
  for_cells(begin < 7 ? 0 : begin - 7, end, [&](CellIndex index) {
    const CellNode& cell = cells_[index];
    const auto from = reinterpret_cast<std::uintptr_t>(cell.signal.cell);
    found |= cell.notified && from + (cell.signal.wide ? 8 : 4) > begin;
  });
  return found;
}

}  // namespace heddle::lab::checkers
