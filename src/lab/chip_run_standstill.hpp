// SPDX-License-Identifier: Apache-2.0
//
// What a run on simulated chips knows of its standstill: part of chip_run.hpp.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "base/text.hpp"
#include "lab/chip_run.hpp"

namespace heddle::lab {

namespace chip_run {

// What a core that withholds had ended before, if its scheduler did not wait for it to say so.
template <base::Environment E>
std::string ended_before(const chip::CoreView<E>& core) {
  if (core.withheld == 0) return {};
  return "task " + std::string(core.withheld_task) + ", block " + std::to_string(core.withheld_block);
}

// Whether a block with these cores could run on what is idle.
template <base::Environment E>
bool has_idle(const chip::Snapshot<E>& snapshot, Cores cores) {
  std::map<std::uint32_t, Cores> idle;  // by cluster
  for (const auto& core : snapshot.cores) {
    if (core.state != chip::CoreState::idle) continue;
    Cores& of = idle.try_emplace(core.cluster, Cores{0, 0}).first->second;
    ++(core.kind == heddle::Core::cube ? of.cubes : of.vectors);
  }
  return std::any_of(idle.begin(), idle.end(), [&](const auto& cluster) {
    return cluster.second.cubes >= cores.cubes && cluster.second.vectors >= cores.vectors;
  });
}

}  // namespace chip_run

template <base::Environment E>
Standstill ChipRun<E>::describe(Engine& engine) {
  Standstill still;
  still.log = std::make_shared<const SubmitLog>(world_.log.frozen());
  for (int r = 0; r < spec_.ranks; ++r) {
    still.round = engine.rank(r).round();
    std::map<std::uint32_t, std::string> held;
    engine.rank(r).waits().for_each([&](const window::WaitNode& node) {
      if (node.signal.window->bytes == 0) {  // a core that a fault holds
        held.emplace(static_cast<const LabFiber<E>*>(node.waiter)->core, node.signal.window->name);
        return;
      }
      const auto& slot = *static_cast<const graph::Slot<E>*>(node.task);
      StuckWait wait;
      wait.task = {r, slot.number};
      wait.block = node.deferred ? -1 : node.block;
      if (!node.deferred) wait.core = pool_.core_name(r, static_cast<const LabFiber<E>*>(node.waiter)->core);
      if (node.half != nullptr) {
        wait.half = describe_half(r, node);
      } else {
        wait.cell = name_of(node.signal);
      }
      wait.has = window::load<E>(node.signal);
      wait.needs = node.value;
      wait.compare = base::sign_of(node.compare);
      still.waits.push_back(std::move(wait));
    });
    const auto snapshot = pool_.device(r).snapshot();
    for (const auto& core : snapshot.cores) {
      if (core.state == chip::CoreState::gated)
        still.gated.push_back({r, pool_.core_name(r, core.core), core.running.slot->name, core.running.block,
                               core.running.slot->location});
      if (!core.withholds) continue;
      const auto& given = core.pending ? core.pending : core.running;
      if (!given) continue;
      still.dead.push_back({r, pool_.core_name(r, core.core), given.slot->name, given.block, given.slot->location,
                            chip_run::ended_before(core)});
    }
    describe_starved(r, snapshot, still);
    describe_runtime(r, snapshot, still);
    if (!held.empty()) describe_cores(r, held, still);
  }
  std::sort(still.waits.begin(), still.waits.end(), [](const StuckWait& left, const StuckWait& right) {
    return std::tie(left.task.rank, left.task.serial, left.block, left.cell.cell) <
           std::tie(right.task.rank, right.task.serial, right.block, right.cell.cell);
  });
  return still;
}

template <base::Environment E>
void ChipRun<E>::describe_starved(int rank, const chip::Snapshot<E>& snapshot, Standstill& still) {
  // A task that has no kernel, or skips it, needs no core: it may wait for its conditions.
  const auto waits = [&](std::uint32_t number) {
    return std::any_of(still.waits.begin(), still.waits.end(),
                       [&](const StuckWait& wait) { return wait.task == TaskId{rank, number}; });
  };
  // In a queue, given to a core that has not begun it, or handed out as a whole.
  std::set<std::uint32_t> placed;
  for (const auto& queued : snapshot.queued) placed.insert(queued.slot->number);
  std::set<std::uint32_t> together;  // one idle core is of no use to these
  for (const auto& queued : snapshot.queued)
    if ((queued.slot->flags & graph::slot_sync_start) != 0) together.insert(queued.slot->number);
  for (const auto& gang : snapshot.gangs) {
    placed.insert(gang.slot->number);
    if (gang.room < gang.blocks) together.insert(gang.slot->number);
  }
  for (const auto& core : snapshot.cores) {
    if (core.pending) placed.insert(core.pending.slot->number);
    if (!core.running) continue;
    const graph::Slot<E>& slot = *core.running.slot;
    if (core.state != chip::CoreState::running || slot.next_block.load() >= slot.block_count)
      placed.insert(slot.number);
  }
  for (std::uint32_t n = 0; n < world_.log.tasks(rank); ++n) {
    const LoggedTask& task = world_.log.task(rank, n);
    if (!task.ready || task.complete || task.begun >= task.parts || waits(n)) continue;
    still.starved.push_back({rank, n});
    if (!together.contains(n) && chip_run::has_idle(snapshot, task.cores)) still.idle.push_back({rank, n});
    if (!placed.contains(n)) still.lost.push_back({rank, n});
  }
}

// What the schedulers of the rank are in the middle of.
template <base::Environment E>
void ChipRun<E>::describe_runtime(int rank, const chip::Snapshot<E>& snapshot, Standstill& still) {
  for (const chip::GangView<E>& view : snapshot.gangs) {
    StuckGang gang{{rank, view.slot->number}, view.drains, view.has_failed, view.room >= view.blocks, view.blocks, 0};
    const std::uint64_t since = world_.log.task(rank, view.slot->number).ready_ns;
    for (std::uint32_t n = 0; n < world_.log.tasks(rank); ++n)
      if (const LoggedTask& task = world_.log.task(rank, n); task.begun != 0 && task.ready_ns > since) ++gang.overtook;
    still.gangs.push_back(gang);
  }
  const std::string prefix = "rank " + std::to_string(rank) + " ";
  for (const Simulator::Look& look : world_.simulator.looks())
    if (look.agent.starts_with(prefix)) still.retries.push_back({rank, look.agent, look.what});
}

template <base::Environment E>
void ChipRun<E>::describe_cores(int rank, const std::map<std::uint32_t, std::string>& held, Standstill& still) {
  for (const auto& core : pool_.device(rank).snapshot().cores) {
    WorkerRecord& record = still.cores.emplace_back();
    record.worker = pool_.core_name(rank, core.core);
    record.state = WorkerRecord::State::idle;
    if (!core.running) continue;
    const auto& slot = *core.running.slot;
    record.state = WorkerRecord::State::kernel;
    record.rank = rank;
    record.task = slot.name;
    record.block = core.running.block;
    record.submitted = slot.location;
    if (const auto call = held.find(core.core); call != held.end()) {
      record.stuck = true;
      record.function = call->second;
    } else if (const auto wait = std::find_if(still.waits.begin(), still.waits.end(),
                                              [&](const StuckWait& each) { return each.core == record.worker; });
               wait != still.waits.end()) {
      record.function = wait->half ? "a wait for its other half" : "a wait for " + wait->cell.text();
    }
    if (!record.function.empty()) record.stack.push_back(record.function + " (" + slot.location.text() + ")");
  }
}

template <base::Environment E>
StuckHalf ChipRun<E>::describe_half(int rank, const window::WaitNode& node) {
  using What = window::HalfWait::What;
  const auto& slot = *static_cast<const graph::Slot<E>*>(node.task);
  const std::uint32_t lanes = world_.chip.geometry.lanes();
  const std::uint32_t core = static_cast<const LabFiber<E>*>(node.waiter)->core;
  StuckHalf half;
  half.wait = *node.half;
  half.cluster = core / lanes;
  half.block = static_cast<std::uint32_t>(node.block) / slot.parts();
  half.part = static_cast<std::uint32_t>(node.block) % slot.parts();
  half.other_part = half.wait.is_cube ? slot.cores.cubes + half.wait.part : 0;
  const BlockHalves* const block = pool_.halves(rank).find(slot.number, half.block);
  if (block == nullptr) return half;
  const BlockHalves::Half& other = block->halves[half.other_part];
  chip::Device<E>& device = pool_.device(rank);
  if (other.state != BlockHalves::State::nowhere) half.other_core = pool_.core_name(rank, other.core);
  if (other.state == BlockHalves::State::begun) half.other = StuckHalf::Other::runs;
  if (other.state == BlockHalves::State::ended) half.other = StuckHalf::Other::ended;
  if (other.state == BlockHalves::State::placed) {
    half.other = StuckHalf::Other::dispatched;
    const chip::Seat<E>& seat = device.seat(other.core);
    if (seat.pending && seat.running && seat.pending.slot == &slot && seat.pending.block == half.block) {
      half.other = StuckHalf::Other::behind;
      half.before = {rank, seat.running.slot->number};
      half.before_part = seat.running.block * seat.running.slot->parts() + seat.running.part;
    }
  }
  if (half.wait.what == What::placement || other.state == BlockHalves::State::nowhere) return half;
  const bool is_room = half.wait.what == What::flag_room || half.wait.what == What::tile_room;
  const bool is_tile = half.wait.what == What::tile || half.wait.what == What::tile_room;
  const chip::HalfLink link{(half.wait.is_cube ? other.core : core) % lanes - 1, half.wait.is_cube == is_room,
                            is_tile ? chip::tile_link : half.wait.flag};
  if (const chip::LeftBy& by = device.handover(half.cluster).left_by(link); by.task != nullptr && is_room)
    half.left =
        "task " + std::string(by.task) + ", block " + std::to_string(by.block) + " (" + by.location.text() + ")";
  return half;
}

}  // namespace heddle::lab
