// SPDX-License-Identifier: Apache-2.0
//
// Two cores that store different bytes of one line, and nothing orders one's write-back before the other's store: a
// cache that writes back whole lines loses one of the two.
#pragma once

#include "lab/checkers/checker.hpp"

namespace heddle::lab::checkers {

class Lines final : public Checker {
 public:
  using Checker::Checker;
  void scalar_write(BlockIndex block, std::uint32_t op, std::uintptr_t line, std::uint64_t bytes) override;
  void written_back(BlockIndex block, std::uint32_t op, std::uintptr_t line, std::uint64_t bytes) override;

 private:
  void compare(BlockIndex block, std::uint32_t op, std::uintptr_t line, std::uint64_t bytes, bool with_dirty);
};

}  // namespace heddle::lab::checkers
