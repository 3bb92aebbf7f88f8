// SPDX-License-Identifier: Apache-2.0
//
// Puts, gets and scalar accesses that leave the window part or the argument that they begin in.
#pragma once

#include "lab/checkers/checker.hpp"

namespace heddle::lab::checkers {

class Bounds final : public Checker {
 public:
  using Checker::Checker;
  void uses(BlockIndex block, const char* verb, const Piece& piece, bool far) override;

 private:
  void check_window(BlockIndex block, const char* verb, const Piece& piece, const graph::Region& bytes);
  void check_arguments(BlockIndex block, const char* verb, const graph::Region& bytes);
  void refuse(BlockIndex block, std::string message);
};

}  // namespace heddle::lab::checkers
