// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "lab/choice.hpp"
#include "lab/strategies/draw.hpp"

namespace heddle::lab {

// A random priority for each agent, which decides its latencies and who wins a tie, and a few change points at which
// the agent that chooses falls behind all others. Finds what takes a few decisions in the right places.
class PctStrategy final : public Strategy {
 public:
  explicit PctStrategy(std::uint32_t change_points = 3) : change_points_(change_points) {}
  const char* name() const override { return "pct"; }
  void begin(std::uint64_t seed, std::uint64_t length_hint) override;
  void next_among(std::span<const std::uint64_t> keys, bool all) override;
  std::uint32_t choose(const Choice& choice) override;

 private:
  // Of whoever has the key. The greater goes first; who fell behind has one below all that are drawn.
  std::uint64_t priority(std::uint64_t key) const;

  const std::uint32_t change_points_;
  std::uint64_t seed_ = 0;
  std::vector<std::uint64_t> places_;                        // change points to come, the next one last
  std::unordered_map<std::uint64_t, std::uint64_t> behind_;  // by key; looked up only, never iterated
  std::uint32_t first_ = 0;                                  // whom next_among() found first
  bool is_tie_ = false;                                      // the coming choice is between those
  FaultPlaces faults_;
};

}  // namespace heddle::lab
