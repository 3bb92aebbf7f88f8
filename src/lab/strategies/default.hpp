// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lab/choice.hpp"

namespace heddle::lab {

// An ordinary day: every choice is the default.
class DefaultStrategy final : public Strategy {
 public:
  explicit DefaultStrategy(bool by_time = true) : by_time_(by_time) {}
  const char* name() const override { return "default"; }
  void begin(std::uint64_t /*seed*/, std::uint64_t /*length_hint*/) override {}
  std::uint32_t choose(const Choice& /*choice*/) override { return 0; }
  bool by_time() const override { return by_time_; }

 private:
  bool by_time_;
};

}  // namespace heddle::lab
