// SPDX-License-Identifier: Apache-2.0
//
// Every block of every task runs exactly once and no earlier than its producers are done; every task completes once.
#pragma once

#include <vector>

#include "lab/checkers/checker.hpp"

namespace heddle::lab::checkers {

class Once final : public Checker {
 public:
  using Checker::Checker;
  void round_begins() override;
  void round_ends() override;
  void submitted(TaskIndex task, const TaskFacts& facts) override;
  void completed(TaskIndex task) override;
  void block_begins(BlockIndex block) override;
  void block_ends(BlockIndex block) override;
  void unknown_block(const BlockId& block) override;

 private:
  struct BlockState {
    bool begun = false, ended = false;
  };
  struct TaskState {
    bool always_runs = false, completed = false;
    std::uint32_t begun = 0;
  };
  void refuse(TaskIndex task, BlockIndex block, const std::string& what);
  bool check_producers(TaskIndex task, BlockIndex block, const char* what);

  std::vector<BlockState> blocks_;
  std::vector<TaskState> tasks_;
};

}  // namespace heddle::lab::checkers
