// SPDX-License-Identifier: Apache-2.0
//
// A simulated chip: its schedulers and cores, and the tasks that are ready on it. Generic over the environment: the
// lab runs it in virtual time or step by step, and tests run it on real threads.
//
// For each scheduler somebody runs run_scheduler(), for each core run_core(), from the start or once
// Client::core_needed() has named it, each in an agent of its own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <heddle/error.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "chip/client.hpp"
#include "chip/core.hpp"
#include "chip/scheduler.hpp"
#include "chip/snapshot.hpp"

namespace heddle::chip {

template <base::Environment E>
class Device {
 public:
  using Slot = graph::Slot<E>;

  Device(const Config& config, Client<E>& client, std::string name)
      : common_(checked(config), client), exchange_(config.geometry.schedulers), name_(std::move(name)) {
    for (std::uint32_t i = 0; i < config.geometry.schedulers; ++i)
      exchange_.schedulers.push_back(std::make_unique<Scheduler<E>>(common_, exchange_, i));
  }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const Config& config() const { return common_.config; }
  const std::string& name() const { return name_; }
  std::uint32_t schedulers() const { return common_.config.geometry.schedulers; }
  std::uint32_t cores() const { return common_.config.geometry.cores(); }

  // Blocks that can run at the same time, each on these cores; 0: none ever can, and ready() must not see such a task.
  std::uint32_t width_for(Cores cores) const {
    if (shape_of(cores) == no_shape) return 0;
    return common_.config.geometry.clusters * common_.config.geometry.blocks_in_cluster(cores);
  }

  // From any agent: a task with nothing handed out yet. Its next_block is the device's from here on.
  void ready(Slot& slot) {
    exchange_.incoming.push(slot);
    // A scheduler looks at what came in before it parks.
    const auto& schedulers = exchange_.schedulers;
    const void* const self = E::self();
    if (std::any_of(schedulers.begin(), schedulers.end(), [&](const auto& each) { return each.get() == self; })) return;
    poke_one<E>(exchange_, shape_of(slot.cores), nullptr, true);
  }

  // Agent bodies.
  void run_scheduler(std::uint32_t index) { exchange_.schedulers[index]->run(); }
  void run_core(std::uint32_t core) { seat(core).core->run(); }

  // Makes the agents return at their next look, whatever is queued: stop when everything is done, or given up.
  void stop() {
    // release: partner is Common::stopped().
    common_.stopping.store(1, std::memory_order_release);
    for (auto& scheduler : exchange_.schedulers) {
      scheduler->wake();
      for (Seat<E>& each : scheduler->seats()) each.core->wake();
    }
  }

  // When no agent of the device runs.
  Snapshot<E> snapshot() const {
    Snapshot<E> snapshot;
    snapshot.device = name_;
    for (std::uint32_t i = 0; i < cores(); ++i) snapshot.cores.push_back(view_of(seat(i)));
    const auto queued = [&](const Slot& slot, bool begun) {
      const std::uint32_t parts = std::max(1U, slot.parts());
      snapshot.queued.push_back(
          {&slot, slot.name, slot.next_block.load() / parts, slot.block_count / parts, slot.cores, begun});
    };
    exchange_.gang.waiting.for_each([&](const Slot& slot) { queued(slot, true); });
    for (const auto& queue : exchange_.ready) queue.for_each([&](const Slot& slot) { queued(slot, true); });
    exchange_.incoming.for_each([&](const Slot& slot) { queued(slot, false); });
    for (const auto& scheduler : exchange_.schedulers) {
      snapshot.turns += scheduler->turns();
      snapshot.dispatches += scheduler->dispatches();
    }
    return snapshot;
  }

  // When no agent of the device runs, or all of them are agents of one thread.
  const Seat<E>& seat(std::uint32_t core) const {
    const Geometry& geometry = common_.config.geometry;
    const std::uint32_t cluster = core / geometry.lanes();
    const auto& seats = std::as_const(*exchange_.schedulers[cluster % geometry.schedulers]).seats();
    return seats[cluster / geometry.schedulers * geometry.lanes() + core % geometry.lanes()];
  }

 private:
  static Config checked(Config config) {
    const Geometry& geometry = config.geometry;
    if (geometry.clusters == 0 || geometry.schedulers == 0 || geometry.schedulers > geometry.clusters ||
        geometry.vectors_per_cluster < 1 || geometry.lanes() > Geometry::most_lanes)
      throw Error(Code::invalid_argument, "chip " + config.name + ": " + std::to_string(geometry.clusters) +
                                              " clusters of " + std::to_string(geometry.vectors_per_cluster) +
                                              " vector cores with " + std::to_string(geometry.schedulers) +
                                              " schedulers; each scheduler needs a cluster, and a cluster " +
                                              "has 1 to " + std::to_string(Geometry::most_lanes - 1) + " vector cores");
    return config;
  }

  static CoreView<E> view_of(const Seat<E>& seat) {
    CoreView<E> view;
    view.core = seat.core->index();
    view.cluster = seat.core->cluster();
    view.lane = seat.core->lane();
    view.kind = seat.core->kind();
    view.running = seat.running;
    view.pending = seat.pending;
    view.status = seat.seen;
    view.started = seat.started;
    view.withholds = seat.core->withholds();
    view.anomalies = seat.anomalies;
    view.withheld = seat.withheld;
    if (!seat.running) {
      view.state = CoreState::idle;
    } else if (seat.waits_for_pending) {
      view.state = CoreState::finish_withheld;
    } else {
      view.state = seat.acknowledged ? CoreState::running : seat.gated ? CoreState::gated : CoreState::dispatched;
    }
    return view;
  }

  Common<E> common_;
  Exchange<E> exchange_;
  const std::string name_;
};

}  // namespace heddle::chip
