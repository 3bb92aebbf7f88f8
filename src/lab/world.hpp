// SPDX-License-Identifier: Apache-2.0
//
// What one run in the lab has besides its engine: the simulator, the network, the faults, what was submitted, and who
// watches.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "chip/geometry.hpp"
#include "lab/chips/chips.hpp"
#include "lab/dispatch_log.hpp"
#include "lab/faults.hpp"
#include "lab/links.hpp"
#include "lab/network.hpp"
#include "lab/observer.hpp"
#include "lab/run.hpp"
#include "lab/simulator.hpp"
#include "lab/submit_log.hpp"

namespace heddle::lab {

struct World {
  World(Simulator& machine, const chip::Config& chip_config, const LinkTable& links, const RunSpec& run_spec,
        NetworkSink& sink, Observer* watching)
      : simulator(machine),
        chip(chip_config),
        spec(run_spec),
        around(surroundings_of(run_spec.chip_set)),
        faults(run_spec.faults, run_spec.ranks),
        network(machine, links, run_spec.ranks, faults, sink, watching),
        log(run_spec.ranks, watching != nullptr),
        observer(watching) {}

  Simulator& simulator;
  const chip::Config& chip;
  const RunSpec& spec;
  const Surroundings around;
  FaultBook faults;
  Network network;
  SubmitLog log;
  Observer* observer;                    // null: nobody watches
  DispatchLog* records = nullptr;        // null: hand-overs are not recorded
  std::uint64_t puts = 0, notifies = 0;  // numbers them
  std::uint64_t blocks_run = 0;
  std::uint64_t waits_parked = 0;

  // What happens now concerns this rank: strategies that look at every order leave out those of ranks apart.
  void touch(int rank) { simulator.touch(std::uint64_t{1} << (static_cast<unsigned>(rank) % 64U)); }

  // The longest time in which no block ended although some were on their way.
  void progress() {
    const std::uint64_t now = simulator.now();
    if (now > last_progress && now - last_progress > longest_pause) {
      longest_pause = now - last_progress;
      pause_began = last_progress;
    }
    last_progress = std::max(last_progress, now);
  }
  std::uint64_t last_progress = 0;
  std::uint64_t longest_pause = 0;
  std::uint64_t pause_began = 0;
};

}  // namespace heddle::lab
