// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "lab/choice.hpp"
#include "lab/strategies/draw.hpp"

namespace heddle::lab {

// Every choice by itself. How wild a run is depends on its seed: from nearly ordinary days to heavy tails.
class RandomStrategy final : public Strategy {
 public:
  const char* name() const override { return "random"; }
  void begin(std::uint64_t seed, std::uint64_t length_hint) override;
  std::uint32_t choose(const Choice& choice) override;

 private:
  enum class Mood : std::uint8_t {
    calm,    // one latency in eight differs from its mean
    usual,   // one in two
    tails,   // one in two, and those are the least or the most
    uneven,  // one in two; a quarter of the agents and of the labels are slow throughout
  };
  std::uint32_t latency(const Choice& choice, std::uint64_t hash) const;

  std::uint64_t seed_ = 0;
  Mood mood_ = Mood::calm;
  FaultPlaces faults_;
};

}  // namespace heddle::lab
