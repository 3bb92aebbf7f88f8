// SPDX-License-Identifier: Apache-2.0
#include "lab/checkers/dependences.hpp"

#include <algorithm>

namespace heddle::lab::checkers {
namespace {

constexpr std::size_t runs_most = 4096;  // of one argument, that are looked at one by one

}  // namespace

void Dependences::round_begins() {
  uses_.clear();
  reads_.clear();
  writes_.clear();
  marked_.clear();
  mark_ = 0;
}

void Dependences::submitted(TaskIndex task, const TaskFacts& facts) {
  using heddle::detail::Tag;
  marked_.resize(std::size_t{task} + 1);
  if (facts.manual) return;
  const std::size_t first = uses_.size();
  for (std::uint32_t i = 0; i < facts.args.size(); ++i) {
    const Tag tag = facts.args[i].tag;
    if (tag != Tag::no_dep && tag != Tag::scratch && facts.args[i].data != nullptr)
      uses_.push_back(use_of(task, i, facts.args[i]));
  }
  const std::size_t end = uses_.size();
  for (std::size_t i = first; i < end; ++i)
    if (facts.args[uses_[i].argument].tag != Tag::fresh) collect(uses_[i]);
  for (std::size_t i = first; i < end; ++i) (uses_[i].write ? writes_ : reads_).insert(static_cast<std::uint32_t>(i));
}

Dependences::Use Dependences::use_of(TaskIndex task, std::uint32_t argument, const heddle::detail::ArgRecord& arg) {
  Use use;
  use.region = region_of(arg);
  use.task = task;
  use.argument = argument;
  use.write = arg.tag != heddle::detail::Tag::in;
  use.element_bytes = arg.element_bytes;
  use.rank = arg.rank;
  for (int d = 0; d < arg.rank; ++d) {
    use.shape[d] = arg.shape[d];
    use.stride[d] = arg.stride[d] * std::int64_t{arg.element_bytes};
  }
  return use;
}

// Whom the use conflicts with, and whether its task waits for them.
void Dependences::collect(const Use& use) {
  candidates_.clear();
  const auto keep = [&](std::uint32_t i) {
    const Use& earlier = uses_[i];
    const TaskNode& task = context_.order.task(earlier.task);
    if (earlier.superseded || task.completed != 0) return false;
    if (share_a_byte(earlier, use)) candidates_.push_back(i);
    return true;
  };
  writes_.visit(use.region, keep);
  if (use.write) reads_.visit(use.region, keep);
  if (candidates_.empty()) return;
  std::sort(candidates_.begin(), candidates_.end());
  bool searched = false;
  for (const std::uint32_t i : candidates_) {
    Use& earlier = uses_[i];
    bool waits = is_direct(earlier.task, use.task);
    if (!waits) {
      if (!searched) mark_producers(use.task, uses_[candidates_.front()].task);
      searched = true;
      waits = marked_[earlier.task] == mark_;
    }
    const TaskNode& task = context_.order.task(earlier.task);
    if (waits)
      earlier.superseded |= use.write && graph::covers(use.region, earlier.region);
    else if (task.blocks_ended < task.blocks)
      return report_missing(earlier, use);
  }
}

bool Dependences::is_direct(TaskIndex producer, TaskIndex index) const {
  const TaskNode& task = context_.order.task(index);
  for (std::uint32_t i = 0; i < task.producers; ++i)
    if (context_.order.producer(task, i) == producer) return true;
  return false;
}

// Everything from `oldest` on that the task waits for, directly or not.
void Dependences::mark_producers(TaskIndex index, TaskIndex oldest) {
  ++mark_;
  stack_.assign(1, index);
  while (!stack_.empty()) {
    const TaskNode& task = context_.order.task(stack_.back());
    stack_.pop_back();
    for (std::uint32_t i = 0; i < task.producers; ++i) {
      const TaskIndex producer = context_.order.producer(task, i);
      if (producer < oldest || marked_[producer] == mark_) continue;
      marked_[producer] = mark_;
      stack_.push_back(producer);
    }
  }
}

// By listing the bytes, so that an error in the regions that inference works with shows.
bool Dependences::share_a_byte(const Use& left, const Use& right) {
  const bool both_whole = left.region.rank == 0 && right.region.rank == 0;
  if (both_whole || !list_runs(left, left_) || !list_runs(right, right_))
    return graph::overlaps(left.region, right.region, context_.overlaps);
  for (std::size_t i = 0, j = 0; i < left_.size() && j < right_.size();) {
    if (left_[i].first < right_[j].second && right_[j].first < left_[i].second) return true;
    if (left_[i].second <= right_[j].first)
      ++i;
    else
      ++j;
  }
  return false;
}

// The runs of bytes, in the order of their addresses; false when there are too many.
bool Dependences::list_runs(const Use& use, std::vector<std::pair<std::uintptr_t, std::uintptr_t>>& runs) {
  runs.clear();
  std::int64_t run = use.element_bytes;
  int outer = use.rank;
  while (outer > 0 && (use.shape[outer - 1] == 1 || use.stride[outer - 1] == run)) run *= use.shape[--outer];
  std::size_t count = 1;
  for (int d = 0; d < outer; ++d) {
    if (use.shape[d] <= 0) return true;
    if (static_cast<std::size_t>(use.shape[d]) > runs_most / count) return false;
    count *= static_cast<std::size_t>(use.shape[d]);
  }
  if (run <= 0) return true;
  std::int64_t index[max_tensor_rank]{};
  for (std::size_t n = 0; n < count; ++n) {
    std::uintptr_t begin = use.region.base;
    for (int d = 0; d < outer; ++d) begin += static_cast<std::uintptr_t>(index[d] * use.stride[d]);
    runs.emplace_back(begin, begin + static_cast<std::uintptr_t>(run));
    for (int d = outer; d > 0 && ++index[d - 1] == use.shape[d - 1];) index[--d] = 0;
  }
  if (!std::is_sorted(runs.begin(), runs.end())) std::sort(runs.begin(), runs.end());
  return true;
}

void Dependences::report_missing(const Use& earlier, const Use& use) {
  context_.report(
      "dependences",
      context_.error_at(Code::missing_edge,
                        "argument " + std::to_string(use.argument) + " of " + context_.who(use.task, none) +
                            (use.write ? " writes" : " reads") + " bytes that argument " +
                            std::to_string(earlier.argument) + " of " + context_.who(earlier.task, none) +
                            (earlier.write ? " writes" : " reads") +
                            ", and the one does not wait for the other: the runtime's inference missed " + "an edge",
                        use.task, none));
}

}  // namespace heddle::lab::checkers
