// SPDX-License-Identifier: Apache-2.0
//
// A run of the host backend itself in the lab: its engine, its workers' loop, stealing, parking and cancellation, step
// by step on a simulated machine (lab/machine.hpp). A lost wake-up there is a seed.
#pragma once

#include <memory>

#include "lab/run.hpp"

namespace heddle::lab {

// Constants of `--on lab:host` that --chip-set overrides.
struct HostLabConfig {
  std::uint32_t workers = 2;
  std::uint64_t step_limit = 2'000'000'000;
};
const std::vector<NamedHelp>& host_constants();

// `rooms`: see RunWatch. Throws Error(invalid_argument) for what a specification of this backend cannot have.
RunResult run_on_host_lab(const std::shared_ptr<ProgramBase>& program, const RunSpec& spec, std::uint64_t seed,
                          RoomUse* rooms = nullptr);

}  // namespace heddle::lab
