// SPDX-License-Identifier: Apache-2.0
//
// The halves of each mixed block, on the path that they took: what one of them gave, by setting a flag or pushing a
// tile, the other one took. What is left stands in the counts of its cluster, where the next kernel finds it: the
// finding names the kernel that left it.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lab/checkers/checker.hpp"

namespace heddle::lab::checkers {

class Flags final : public Checker {
 public:
  using Checker::Checker;
  void round_begins() override;
  void submitted(TaskIndex task, const TaskFacts& facts) override;
  void half(BlockIndex block, const HalfEvent& event) override;

 private:
  // A flag, or the tiles, in one direction between the cube half and one vector half.
  struct Path {
    std::uint32_t part = 0;
    bool from_cube = false, tile = false;
    std::uint32_t flag = 0;
    auto key() const { return std::tie(part, from_cube, tile, flag); }
    friend bool operator<(const Path& left, const Path& right) { return left.key() < right.key(); }
  };
  struct Count {
    std::uint32_t gave = 0, took = 0;
    Location gave_at, took_at;  // the last
    std::uint32_t cluster = 0;
  };
  struct Halves {
    std::map<Path, Count> counts;
    std::uint32_t ended = 0;
  };

  void compare(TaskIndex task, std::uint32_t block, const Halves& halves);
  std::string describe(const Path& path, const Count& count, std::uint32_t vectors) const;

  std::vector<Cores> cores_;                                       // of each task
  std::map<std::pair<TaskIndex, std::uint32_t>, Halves> running_;  // of a task, the block's number
};

}  // namespace heddle::lab::checkers
