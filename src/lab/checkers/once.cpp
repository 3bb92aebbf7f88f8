// SPDX-License-Identifier: Apache-2.0
#include "lab/checkers/once.hpp"

namespace heddle::lab::checkers {

void Once::round_begins() {
  blocks_.clear();
  tasks_.clear();
}

void Once::submitted(TaskIndex task, const TaskFacts& facts) {
  tasks_.resize(std::size_t{task} + 1);
  tasks_[task].always_runs = facts.always_runs;
  blocks_.resize(blocks_.size() + facts.blocks);
}

bool Once::check_producers(TaskIndex index, BlockIndex block, const char* what) {
  const TaskNode& task = context_.order.task(index);
  for (std::uint32_t i = 0; i < task.producers; ++i) {
    const TaskIndex producer = context_.order.producer(task, i);
    if (tasks_[producer].completed) continue;
    refuse(index, block,
           std::string(what) + " before " + context_.who(producer, none) + " has completed, which it waits for");
    return false;
  }
  return true;
}

void Once::block_begins(BlockIndex block) {
  const TaskIndex task = context_.order.block(block).task;
  if (blocks_[block].begun) return refuse(task, block, "began twice");
  if (tasks_[task].completed) return refuse(task, block, "began after its task had completed");
  blocks_[block].begun = true;
  if (tasks_[task].begun++ == 0) check_producers(task, block, "began");
}

void Once::block_ends(BlockIndex block) {
  const TaskIndex task = context_.order.block(block).task;
  if (!blocks_[block].begun) return refuse(task, block, "ended and had not begun");
  if (blocks_[block].ended) return refuse(task, block, "ended twice");
  blocks_[block].ended = true;
}

void Once::completed(TaskIndex index) {
  if (tasks_[index].completed) return refuse(index, none, "completed twice");
  tasks_[index].completed = true;
  const TaskNode& task = context_.order.task(index);
  // A dummy, or a predicate that says no.
  if (tasks_[index].begun == 0 && !tasks_[index].always_runs) {
    check_producers(index, none, "completed");
    return;
  }
  for (std::uint32_t i = 0; i < task.blocks; ++i) {
    const BlockState& block = blocks_[task.first_block + i];
    if (block.ended) continue;
    return refuse(index, task.first_block + i,
                  block.begun ? "had not ended when its task completed" : "did not run, and its task completed");
  }
}

void Once::round_ends() {
  for (TaskIndex i = 0; i < tasks_.size(); ++i)
    if (!tasks_[i].completed) return refuse(i, none, "never completed, and the round ended");
}

void Once::unknown_block(const BlockId& block) {
  context_.report("once",
                  Error(Code::not_once, "block " + std::to_string(block.block) + " of task " +
                                            std::to_string(block.task.serial) + " began; no such block was submitted")
                      .at_rank(block.task.rank));
}

void Once::refuse(TaskIndex task, BlockIndex block, const std::string& what) {
  context_.report("once", context_.error_at(Code::not_once, context_.who(task, block) + " " + what, task, block));
}

}  // namespace heddle::lab::checkers
