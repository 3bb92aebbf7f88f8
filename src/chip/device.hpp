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
#include "chip/handover.hpp"
#include "chip/scheduler.hpp"
#include "chip/snapshot.hpp"

namespace heddle::chip {

template <base::Environment E>
class Device {
 public:
  using Slot = graph::Slot<E>;

  Device(const Config& config, Client<E>& client, std::string name)
      : common_(checked(config), client), exchange_(config.geometry.schedulers), name_(std::move(name)) {
    handovers_.resize(config.geometry.clusters);
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
    const std::uint32_t stager = take_note_ready(slot);
    if (stager < schedulers()) {
      exchange_.schedulers[stager]->release(slot);
      return;
    }
    exchange_.incoming.push(slot);
    if (!by_scheduler()) poke_one<E>(exchange_, shape_of(slot.cores), nullptr, true);
  }
  // From any agent: a task that is not ready and may be placed behind gates. It must not become ready meanwhile.
  void candidate(Slot& slot) {
    const std::uint32_t shape = shape_of(slot.cores);
    exchange_.candidates.push(slot);
    if (!by_scheduler()) poke_one<E>(exchange_, shape, nullptr);
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

  // What the cores of a cluster hand each other. Made when it is asked for first: by agents of one thread.
  Handover<E>& handover(std::uint32_t cluster) {
    auto& handover = handovers_[cluster];
    if (handover == nullptr)
      handover =
          std::make_unique<Handover<E>>(common_.config.geometry.vectors_per_cluster, common_.config.handovers.tiles);
    return *handover;
  }

  void clear_handovers() {
    for (auto& handover : handovers_) handover.reset();
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
    for (std::uint32_t cluster = 0; cluster < handovers_.size(); ++cluster) {
      Handover<E>* const handover = handovers_[cluster].get();
      if (handover == nullptr) continue;
      handover->for_each([&](const HalfLink& link) {
        if (const std::int64_t count = handover->count(link); count != 0)
          snapshot.flags.push_back({cluster, link, count, handover->left_by(link)});
      });
    }
    for (const auto& scheduler : exchange_.schedulers)
      if (scheduler->gang().task() != nullptr) snapshot.gangs.push_back(view_of(scheduler->gang()));
    for (const auto& scheduler : exchange_.schedulers) {
      snapshot.turns += scheduler->turns();
      snapshot.dispatches += scheduler->dispatches();
      snapshot.gated += scheduler->gated();
      snapshot.rings += scheduler->rings();
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
  // A scheduler looks at what came in before it parks.
  bool by_scheduler() const {
    const auto& all = exchange_.schedulers;
    return std::any_of(all.begin(), all.end(), [self = E::self()](const auto& each) { return each.get() == self; });
  }

  static Config checked(Config config) {
    const Geometry& geometry = config.geometry;
    if (geometry.clusters == 0 || geometry.schedulers == 0 || geometry.schedulers > geometry.clusters ||
        geometry.schedulers >= graph::gate_stagers || geometry.vectors_per_cluster < 1 ||
        geometry.lanes() > Geometry::most_lanes)
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
    view.withheld_task = seat.withheld_task;
    view.withheld_block = seat.withheld_block;
    if (!seat.running) {
      view.state = CoreState::idle;
    } else if (seat.waits_for_pending) {
      view.state = CoreState::finish_withheld;
    } else {
      view.state = seat.acknowledged ? CoreState::running : seat.gated ? CoreState::gated : CoreState::dispatched;
    }
    return view;
  }

  GangView<E> view_of(const GangMember<E, Scheduler<E>>& coordinator) const {
    const Slot& gang = *coordinator.task();
    GangView<E> view;
    view.slot = &gang;
    view.has_failed = coordinator.has_failed();
    // relaxed: no agent runs.
    view.drains = Gang<E>::phase_of(exchange_.gang.word.load(std::memory_order_relaxed)) == GangPhase::drain;
    view.blocks = gang.block_count / gang.parts();
    for (const auto& scheduler : exchange_.schedulers) view.room += scheduler->idle_room(shape_of(gang.cores));
    return view;
  }

  Common<E> common_;
  Exchange<E> exchange_;
  std::vector<std::unique_ptr<Handover<E>>> handovers_;  // by cluster
  const std::string name_;
};

}  // namespace heddle::chip
