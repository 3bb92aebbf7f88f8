// SPDX-License-Identifier: Apache-2.0
#include "lab/strategies/replay.hpp"

#include <utility>

#include "lab/keys.hpp"
#include "lab/strategies/default.hpp"

namespace heddle::lab {

ReplayStrategy::ReplayStrategy(const std::vector<TakenChoice>& list, bool by_time)
    : ReplayStrategy(list, std::make_unique<DefaultStrategy>(by_time)) {}

ReplayStrategy::ReplayStrategy(const std::vector<TakenChoice>& list, std::unique_ptr<Strategy> base)
    : base_(std::move(base)) {
  for (const TakenChoice& choice : list) {
    listed_[key(key_of(choice.agent), key_of(choice.label), choice.ordinal)] = choice.taken;
  }
}

std::uint64_t ReplayStrategy::key(std::uint64_t agent_key, std::uint64_t label_key, std::uint32_t ordinal) noexcept {
  return combine(combine(agent_key, label_key), ordinal);
}

void ReplayStrategy::begin(std::uint64_t seed, std::uint64_t length_hint) {
  consumed_ = 0;
  base_->begin(seed, length_hint);
}

// The other strategy is asked in any case: it may count.
std::uint32_t ReplayStrategy::choose(const Choice& choice) {
  const std::uint32_t otherwise = base_->choose(choice);
  const auto found = listed_.find(key(choice.agent_key, choice.label_key, choice.ordinal));
  if (found == listed_.end() || found->second >= choice.alternatives) return otherwise;
  ++consumed_;
  return found->second;
}

}  // namespace heddle::lab
