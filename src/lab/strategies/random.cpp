// SPDX-License-Identifier: Apache-2.0
#include "lab/strategies/random.hpp"

namespace heddle::lab {

void RandomStrategy::begin(std::uint64_t seed, std::uint64_t length_hint) {
  seed_ = combine(seed, key_of("random"));
  mood_ = static_cast<Mood>(below(scramble(seed_), 4));
  faults_.begin(seed_, length_hint);
}

std::uint32_t RandomStrategy::latency(const Choice& choice, std::uint64_t hash) const {
  const std::uint32_t others = choice.alternatives - 1;
  const std::uint32_t any = 1 + below(scramble(hash), others);
  const bool usual = (hash & 1U) == 0;
  switch (mood_) {
    case Mood::calm:
      return (hash & 7U) != 0 ? 0 : any;
    case Mood::usual:
      return usual ? 0 : any;
    case Mood::tails:
      return usual ? 0 : (hash & 2U) != 0 ? others : 1;
    case Mood::uneven:
      break;
  }
  const std::uint64_t who = combine(seed_, choice.agent_key);
  const std::uint64_t what = combine(seed_, choice.label_key);
  if ((who & 3U) == 0 || (what & 3U) == 0) return others - below(scramble(hash), others / 4 + 1);
  return usual ? 0 : any;
}

std::uint32_t RandomStrategy::choose(const Choice& choice) {
  if (choice.kind == ChoiceKind::fault) return faults_.choose(choice);
  const std::uint64_t hash = draw(seed_, choice);
  if (choice.kind == ChoiceKind::latency) return latency(choice, hash);
  return below(hash, choice.alternatives);
}

}  // namespace heddle::lab
