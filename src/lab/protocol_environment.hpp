// SPDX-License-Identifier: Apache-2.0
//
// The environment at protocol fidelity: virtual time, in which every access of the control plane to what others see is
// a point where another agent may run. For faults of the schedulers, the cores and the engine, rather than of programs.
// What agents do to shared state has to be done by agents: outside of them nobody could wait for a lock.
#pragma once

#include "lab/program_environment.hpp"

namespace heddle::lab {

struct Disturbed {
  static void step() {
    if (Simulator* const simulator = Simulator::current()) simulator->step();
  }
};

struct ProtocolEnvironment : VirtualEnvironment<Disturbed> {
  static constexpr bool disturbed = true;

  // Whoever spins looks again after each thing that happens, and never goes on for ever by itself.
  static void pause(std::uint32_t) {
    if (Simulator* const simulator = Simulator::current()) simulator->let_others();
  }
};

static_assert(base::Environment<ProtocolEnvironment>);

}  // namespace heddle::lab
