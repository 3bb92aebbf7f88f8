// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "lab/choice.hpp"
#include "lab/strategies/draw.hpp"

namespace heddle::lab {

// Whatever could happen is as likely to happen next, however far off its time is.
class WalkStrategy final : public Strategy {
 public:
  const char* name() const override { return "walk"; }
  void begin(std::uint64_t seed, std::uint64_t length_hint) override {
    seed_ = combine(seed, key_of("walk"));
    faults_.begin(seed_, length_hint);
  }
  std::uint32_t choose(const Choice& choice) override {
    if (choice.kind == ChoiceKind::fault) return faults_.choose(choice);
    if (choice.kind == ChoiceKind::latency) return 0;
    return below(draw(seed_, choice), choice.alternatives);
  }
  bool by_time() const override { return false; }

 private:
  std::uint64_t seed_ = 0;
  FaultPlaces faults_;
};

}  // namespace heddle::lab
