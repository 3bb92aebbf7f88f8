// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "lab/machine.hpp"

namespace heddle::lab {

// Calls scenario(machine), which spawns agents, runs the machine and returns the outcome, with a machine of each of the
// seeds 1..count. Returns the first outcome that is not Kind::finished, or the last one.
template <class Scenario>
Outcome first_failure(std::uint64_t count, Scenario&& scenario, const Options& options = {}) {
  Outcome outcome;
  for (std::uint64_t seed = 1; seed <= count; ++seed) {
    Machine machine(seed, options);
    outcome = scenario(machine);
    if (!outcome.finished()) break;
  }
  return outcome;
}

}  // namespace heddle::lab
