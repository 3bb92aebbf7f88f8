// SPDX-License-Identifier: Apache-2.0
#include "lab/strategies/pct.hpp"

#include <algorithm>
#include <functional>

namespace heddle::lab {

namespace {

constexpr std::uint64_t lowest_drawn = std::uint64_t{1} << 32U;

}  // namespace

void PctStrategy::begin(std::uint64_t seed, std::uint64_t length_hint) {
  seed_ = combine(seed, key_of("pct"));
  behind_.clear();
  is_tie_ = false;
  places_.clear();
  const std::uint32_t points = below(scramble(seed_), change_points_ + 1);
  for (std::uint32_t point = 0; point < points; ++point)
    places_.push_back(place_in(combine(seed_, point), length_hint));
  std::sort(places_.begin(), places_.end(), std::greater<>());
  faults_.begin(seed_, length_hint);
}

std::uint64_t PctStrategy::priority(std::uint64_t key) const {
  const auto found = behind_.find(key);
  return found != behind_.end() ? found->second : combine(seed_, key) | lowest_drawn;
}

void PctStrategy::next_among(std::span<const std::uint64_t> keys, bool /*all*/) {
  const auto best = std::max_element(keys.begin(), keys.end(), [this](std::uint64_t left, std::uint64_t right) {
    return priority(left) < priority(right);
  });
  first_ = static_cast<std::uint32_t>(best - keys.begin());
  is_tie_ = true;
}

std::uint32_t PctStrategy::choose(const Choice& choice) {
  if (is_tie_) {
    is_tie_ = false;
    return first_;
  }
  // What is drawn outside of agents belongs to nobody: each label is an agent of its own.
  const std::uint64_t who = choice.agent == UINT32_MAX ? choice.label_key : choice.agent_key;
  if (choice.kind == ChoiceKind::fault) return faults_.choose(choice);
  if (choice.kind != ChoiceKind::latency) return below(draw(seed_, choice), choice.alternatives);
  if (!places_.empty() && choice.position >= places_.back()) {
    places_.pop_back();
    behind_[who] = places_.size();  // each below those that fell behind before
  }
  const std::uint64_t rank = priority(who);
  if (rank < lowest_drawn) return choice.alternatives - 1;
  // The greatest priority gives the least latency.
  return choice.alternatives - 1 - below(rank, choice.alternatives - 1);
}

}  // namespace heddle::lab
