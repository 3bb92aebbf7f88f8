// SPDX-License-Identifier: Apache-2.0
#include "lab/strategies/delay.hpp"

#include <algorithm>
#include <functional>

namespace heddle::lab {

void DelayStrategy::begin(std::uint64_t seed, std::uint64_t length_hint) {
  seed_ = combine(seed, key_of("delay"));
  places_.clear();
  const std::uint32_t count = 1 + below(scramble(seed_), delays_);
  for (std::uint32_t delay = 0; delay < count; ++delay) {
    places_.push_back(place_in(combine(seed_, delay), length_hint));
  }
  std::sort(places_.begin(), places_.end(), std::greater<>());
  faults_.begin(seed_, length_hint);
}

std::uint32_t DelayStrategy::choose(const Choice& choice) {
  if (choice.kind == ChoiceKind::fault) return faults_.choose(choice);
  if (places_.empty() || choice.position < places_.back()) return 0;
  places_.pop_back();
  const std::uint64_t hash = draw(seed_, choice);
  if (choice.kind == ChoiceKind::latency && (hash & 3U) != 0) return choice.alternatives - 1;
  return 1 + below(hash, choice.alternatives - 1);
}

}  // namespace heddle::lab
