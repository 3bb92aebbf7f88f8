// SPDX-License-Identifier: Apache-2.0
//
// The edges of a round once more, by looking at the bytes of the arguments: whatever inference must order is connected
// by a path of producers. What had completed, or ended all its blocks, when the other was submitted needs no edge.
#pragma once

#include <vector>

#include "lab/checkers/checker.hpp"

namespace heddle::lab::checkers {

class Dependences final : public Checker {
 public:
  explicit Dependences(Context& context) : Checker(context), reads_(uses_), writes_(uses_) {}
  void round_begins() override;
  void submitted(TaskIndex task, const TaskFacts& facts) override;

 private:
  struct Use {
    graph::Region region;
    std::uint32_t next = none;
    TaskIndex task = none;
    std::uint32_t argument = 0;
    bool write = false;
    bool superseded = false;  // covered by a later write that waits for it
    std::uint32_t element_bytes = 1;
    int rank = 0;
    std::int64_t shape[max_tensor_rank]{};
    std::int64_t stride[max_tensor_rank]{};  // bytes
  };
  static Use use_of(TaskIndex task, std::uint32_t argument, const heddle::detail::ArgRecord& arg);
  void collect(const Use& use);
  bool share_a_byte(const Use& left, const Use& right);
  static bool list_runs(const Use& use, std::vector<std::pair<std::uintptr_t, std::uintptr_t>>& runs);
  bool is_direct(TaskIndex producer, TaskIndex task) const;
  void mark_producers(TaskIndex task, TaskIndex oldest);
  void report_missing(const Use& earlier, const Use& use);

  std::vector<Use> uses_;
  RegionIndex<Use> reads_, writes_;
  std::vector<std::uint32_t> candidates_;
  std::vector<std::uint32_t> marked_;  // per task: the search that found it to be waited for
  std::uint32_t mark_ = 0;
  std::vector<TaskIndex> stack_;
  std::vector<std::pair<std::uintptr_t, std::uintptr_t>> left_, right_;
};

}  // namespace heddle::lab::checkers
