// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "lab/choice.hpp"
#include "lab/strategies/draw.hpp"

namespace heddle::lab {

// An ordinary day but for a few choices, most of them as late as can be: failures that it finds are short to tell.
class DelayStrategy final : public Strategy {
 public:
  explicit DelayStrategy(std::uint32_t delays = 3) : delays_(delays) {}
  const char* name() const override { return "delay"; }
  void begin(std::uint64_t seed, std::uint64_t length_hint) override;
  std::uint32_t choose(const Choice& choice) override;

 private:
  const std::uint32_t delays_;  // at least 1
  std::uint64_t seed_ = 0;
  std::vector<std::uint64_t> places_;  // of the delays to come, the next one last
  FaultPlaces faults_;
};

}  // namespace heddle::lab
