// SPDX-License-Identifier: Apache-2.0
//
// What the seeded strategies draw from: a number of 64 bits for each choice, which depends on the seed and on the
// choice's name and not on what was chosen before. A choice therefore keeps its outcome when others go away.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>

#include "lab/choice.hpp"
#include "lab/keys.hpp"

namespace heddle::lab {

inline std::uint64_t draw(std::uint64_t seed, const Choice& choice) noexcept {
  return combine(combine(combine(seed, choice.agent_key), choice.label_key), choice.ordinal);
}

// A place in a run that takes about `length` choices (0: unknown): each as likely.
inline std::uint64_t place_in(std::uint64_t hash, std::uint64_t length) noexcept {
  if (length != 0) return scramble(hash) % length;
  return scramble(hash) & ((std::uint64_t{2} << below(hash, 14)) - 1);  // any length up to 2^14 is as likely
}

// Where faults happen. A fault that is drawn as a place (more than two alternatives) gets each place as likely in one
// half of the seeds, and early ones preferably in the other: a short run may not reach late ones. A fault that is drawn
// as yes or no happens at the first opportunity after such a place, and then once more after another.
class FaultPlaces {
 public:
  void begin(std::uint64_t seed, std::uint64_t length_hint) {
    seed_ = combine(seed, key_of("faults"));
    length_ = length_hint;
    labels_.clear();
  }

  std::uint32_t choose(const Choice& choice) {
    const std::uint64_t hash = draw(seed_, choice);
    if (choice.alternatives > 2) {
      const std::uint32_t places = choice.alternatives - 1;
      const bool early = (seed_ & 1U) != 0;
      const auto most = early ? static_cast<std::uint32_t>(place_in(hash, 0) % places) + 1 : places;
      return 1 + below(scramble(hash), early ? std::max(most, 1U) : places);
    }
    Label& label = labels_[choice.label_key];
    if (label.seen == 0) place(label, choice, 0);
    const std::uint64_t here = label.by_position ? choice.position : label.seen;
    ++label.seen;
    if (here < label.next) return 0;
    place(label, choice, here + 1);
    return 1;
  }

 private:
  struct Label {
    std::uint64_t seen = 0;
    std::uint64_t next = 0;
    bool by_position = false;
  };

  void place(Label& label, const Choice& choice, std::uint64_t from) const {
    const std::uint64_t hash = combine(combine(seed_, choice.label_key), from);
    label.by_position = length_ != 0 && (combine(seed_, choice.label_key) & 1U) != 0;
    label.next = from + place_in(hash, label.by_position ? length_ : 0);
  }

  std::uint64_t seed_ = 0;
  std::uint64_t length_ = 0;
  std::unordered_map<std::uint64_t, Label> labels_;  // looked up only, never iterated
};

}  // namespace heddle::lab
