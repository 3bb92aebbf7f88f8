// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdlib>

#include "base/sanitizer.hpp"
#include "lab/machine.hpp"

namespace heddle::lab {

// How many seeds a test runs: `usual`, or what the environment variable HEDDLE_SEEDS says. A run of the lab is one
// thread and the same under a sanitizer, only many times slower: there a part of the seeds has to do.
inline std::uint64_t seeds(std::uint64_t usual) {
  const char* const text = std::getenv("HEDDLE_SEEDS");
  const std::uint64_t wanted = text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
  constexpr std::uint64_t part = HEDDLE_TSAN ? 20 : HEDDLE_ASAN ? 4 : 1;
  return wanted == 0 ? (usual + part - 1) / part : wanted;
}

// Calls scenario(machine), which spawns agents, runs the machine and returns the outcome, with a machine of each of the
// seeds first..first + count - 1. Returns the first outcome that is not Kind::finished, or the last one.
template <class Scenario>
Outcome first_failure_from(std::uint64_t first, std::uint64_t count, Scenario&& scenario, const Options& options = {}) {
  Outcome outcome;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    Machine machine(seed, options);
    outcome = scenario(machine);
    if (!outcome.finished()) break;
  }
  return outcome;
}

// The same with the seeds 1..count.
template <class Scenario>
Outcome first_failure(std::uint64_t count, Scenario&& scenario, const Options& options = {}) {
  return first_failure_from(1, count, scenario, options);
}

}  // namespace heddle::lab
