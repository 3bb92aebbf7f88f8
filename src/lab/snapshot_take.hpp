// SPDX-License-Identifier: Apache-2.0
//
// A snapshot of a run on simulated chips, taken when no agent is in the middle of anything. Reads only.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/text.hpp"
#include "lab/chip_pool.hpp"
#include "lab/snapshot_log.hpp"
#include "snapshot/snapshot.hpp"
#include "window/signal.hpp"

namespace heddle::lab {

inline snapshot::Source source_of(const Location& location) {
  snapshot::Source source;
  if (location.file == nullptr) return source;
  source.file = location.file;
  source.line = location.line;
  return source;
}

template <base::Environment E>
class SnapshotTaker {
 public:
  SnapshotTaker(ChipEngine<E>& engine, World& world, const SnapshotLog& log)
      : engine_(engine), pool_(engine.pool()), world_(world), log_(log) {}

  snapshot::Snapshot take(snapshot::Taken when) {
    made_.taken = when;
    made_.time = world_.simulator.now();
    made_.recorded = {"ranks", "tasks",   "blocks", "cores",  "flags",  "queues",
                      "rings", "windows", "cells",  "faults", "events", "scopes"};
    for (int r = 0; r < engine_.ranks(); ++r) {
      rank(r);
      waits(r);
      cores(r);
      tasks(r);
    }
    engine_.windows().list().for_each([&](const heddle::detail::WindowTable& window) {
      made_.windows.push_back({window.name, static_cast<std::int64_t>(window.bytes)});
    });
    made_.cells = log_.cells();
    made_.events = log_.events();
    return std::move(made_);
  }

 private:
  using Key = std::pair<std::uint32_t, std::uint32_t>;  // task and part, of the rank at hand

  void rank(int r) {
    ChipRank<E>& of = engine_.rank(r);
    snapshot::Rank& rank = made_.ranks.emplace_back();
    rank.rank = r;
    rank.round = of.round();
    switch (of.state()) {
      case host::RankState::running:
        rank.state = snapshot::RankState::running;
        break;
      case host::RankState::failed:
        rank.state = snapshot::RankState::failed;
        break;
      default:
        rank.state = snapshot::RankState::ended;
        break;
    }
    // A rank that is being cancelled has failed, whatever it still has to do.
    if (of.cancelled()) rank.state = snapshot::RankState::failed;
    if (of.state() == host::RankState::running) program(of.core(), rank);
    rings(of.core(), rank);
  }

  void program(graph::OrchestratorCore<E>& core, snapshot::Rank& rank) {
    using What = graph::OrchestratorWait::What;
    const graph::OrchestratorWait& wait = core.waiting();
    const graph::Slot<E>* holder = core.find(wait.task);
    switch (wait.what) {
      case What::nothing:
        rank.waits_for = snapshot::ProgramWait::nothing;
        return;
      case What::end:
        rank.waits_for = snapshot::ProgramWait::end;
        return;
      case What::tensor:
        rank.waits_for = snapshot::ProgramWait::value;
        break;
      case What::region_map:
        rank.waits_for = snapshot::ProgramWait::region_map;
        break;
      case What::ring: {
        rank.waits_for = snapshot::ProgramWait::ring;
        rank.ring = static_cast<int>(wait.ring);
        rank.resource = resource_of(wait.resource);
        const auto& ring = core.ring(wait.ring);
        if (const auto* oldest = oldest_of(ring); oldest != nullptr) holder = oldest;
        break;
      }
    }
    if (holder != nullptr) rank.holder = holder->number;
    rank.for_task = wait.for_task;
    rank.source = source_of(wait.location);
  }
  static snapshot::Resource resource_of(graph::Resource resource) {
    switch (resource) {
      case graph::Resource::task_window:
        return snapshot::Resource::task_window;
      case graph::Resource::heap:
        return snapshot::Resource::heap;
      case graph::Resource::dep_pool:
        return snapshot::Resource::dep_pool;
      default:
        return snapshot::Resource::unknown;
    }
  }
  static const graph::Slot<E>* oldest_of(const graph::Ring<E>& ring) {
    std::uint64_t oldest = ring.tail();
    while (oldest < ring.head() && ring.slot(oldest).complete()) ++oldest;
    return oldest < ring.head() ? &ring.slot(oldest) : nullptr;
  }

  // A ring that was found to be too small is told as it stood then.
  void rings(graph::OrchestratorCore<E>& core, snapshot::Rank& rank) {
    const graph::StuckRing& stuck = core.stuck();
    const bool is_stuck = stuck.resource != graph::Resource::none;
    if (is_stuck) {
      rank.waits_for = snapshot::ProgramWait::ring;
      rank.resource = resource_of(stuck.resource);
      rank.ring = static_cast<int>(stuck.ring);
      rank.held_by_scope = true;
      rank.for_task = stuck.task;
      rank.source = source_of(stuck.location);
      rank.holder = -1;
      rank.state = snapshot::RankState::running;
    }
    for (std::uint32_t i = 0; i < graph::ring_count; ++i) {
      const auto& ring = core.ring(i);
      if (!ring.mapped()) continue;
      snapshot::Ring& made = made_.rings.emplace_back();
      made.rank = rank.rank;
      made.ring = static_cast<int>(i);
      made.tasks = {ring.config().task_window, static_cast<std::int64_t>(ring.head() - ring.tail())};
      made.heap_bytes = {static_cast<std::int64_t>(ring.config().heap_bytes),
                         static_cast<std::int64_t>(ring.heap_used())};
      made.edges = {ring.config().dep_pool, static_cast<std::int64_t>(ring.edges_used())};
      if (const auto* oldest = oldest_of(ring); oldest != nullptr) made.oldest = oldest->number;
      if (is_stuck && stuck.ring == i) {
        made.tasks.held = static_cast<std::int64_t>(stuck.held_tasks);
        made.heap_bytes.held = static_cast<std::int64_t>(stuck.held_heap);
        made.edges.held = static_cast<std::int64_t>(stuck.held_edges);
        made.holder = source_of(stuck.holder);
        made.oldest = -1;
        scopes(rank.rank, stuck);
      }
    }
  }
  // Only how many of them hold the ring matters: one, or several.
  void scopes(int rank, const graph::StuckRing& stuck) {
    for (int i = 0; i < (stuck.one_scope ? 1 : 2); ++i) {
      snapshot::Scope& scope = made_.scopes.emplace_back();
      scope.rank = rank;
      scope.ring = static_cast<int>(stuck.ring);
      scope.first = 0;
      if (i == 0) scope.source = source_of(stuck.holder);
    }
  }

  static std::int64_t block_of(std::uint32_t part, std::uint32_t parts) { return part / std::max(1U, parts); }
  static int part_of(std::uint32_t part, std::uint32_t parts) {
    return parts > 1 ? static_cast<int>(part % parts) : -1;
  }

  // The waits of the rank, until its blocks and tasks are made.
  void waits(int r) {
    waiting_.clear();
    conditions_.clear();
    held_.clear();
    engine_.rank(r).waits().for_each([&](const window::WaitNode& node) {
      const auto& slot = *static_cast<const graph::Slot<E>*>(node.task);
      if (node.half == nullptr && node.signal.window->bytes == 0) {  // a core that a fault holds
        if (slot_is_task(node)) held_.push_back(static_cast<const LabFiber<E>*>(node.waiter)->core);
        return;
      }
      snapshot::Wait wait;
      wait.rank = r;
      wait.has = window::load<E>(node.signal);
      wait.needs = node.value;
      wait.compare = base::sign_of(node.compare);
      if (node.half != nullptr) {
        half(wait, node);
      } else {
        CellName cell = name_of(node.signal);
        wait.window = std::move(cell.window);
        wait.cell = cell.cell;
      }
      if (node.deferred) {
        conditions_[slot.number].push_back(std::move(wait));
      } else {
        waiting_[{slot.number, static_cast<std::uint32_t>(node.block)}] = std::move(wait);
      }
    });
    for (auto& [task, of] : conditions_)
      std::sort(of.begin(), of.end(), [](const auto& left, const auto& right) {
        return std::pair(left.window, left.cell) < std::pair(right.window, right.cell);
      });
  }
  static bool slot_is_task(const window::WaitNode& node) { return !node.deferred && node.waiter != nullptr; }
  void half(snapshot::Wait& wait, const window::WaitNode& node) const {
    using What = window::HalfWait::What;
    const window::HalfWait& half = *node.half;
    wait.kind = snapshot::WaitKind::flag;
    wait.cluster = static_cast<const LabFiber<E>*>(node.waiter)->core / world_.chip.geometry.lanes();
    wait.cell = half.flag;
    wait.source = source_of(half.location);
    switch (half.what) {
      case What::flag:
        break;
      case What::flag_room:
        wait.window = "room in flag " + std::to_string(half.flag);
        break;
      case What::tile:
        wait.window = "a tile";
        break;
      case What::tile_room:
        wait.window = "room for a tile";
        break;
      case What::placement:
        wait.window = "a core for the other half";
        break;
    }
  }

  // Cores and the blocks that they were given.
  void cores(int r) {
    handed_out_.clear();
    const chip::Snapshot<E> of = pool_.device(r).snapshot();
    for (const chip::CoreView<E>& view : of.cores) {
      snapshot::Core core;
      core.rank = r;
      core.core = view.core;
      core.name = chip::place_of(view.cluster, view.lane);
      core.cluster = view.cluster;
      core.lane = static_cast<int>(view.lane);
      core.kind = view.kind == heddle::Core::cube ? snapshot::CoreKind::cube : snapshot::CoreKind::vector;
      core.state = state_of(view);
      core.status = view.status;
      core.anomalies = view.anomalies;
      core.withheld = view.withheld;
      if (view.running) core.running = assignment(r, view, view.running);
      if (view.pending) core.pending = assignment(r, view, view.pending);
      made_.cores.push_back(std::move(core));
    }
    for (const chip::FlagView& view : of.flags) {
      snapshot::Flag& flag = made_.flags.emplace_back();
      flag.rank = r;
      flag.cluster = view.cluster;
      flag.flag = view.link.id;
      const std::string half = "vector half " + std::to_string(view.link.half);
      flag.side = view.link.from_cube ? half : "cube half, from " + half;
      flag.count = view.count;
    }
    snapshot::Queue queue;
    queue.rank = r;
    queue.name = "ready";
    for (const chip::QueuedView<E>& view : of.queued)
      queue.entries.push_back({view.slot->number, view.next_block, view.blocks});
    made_.queues.push_back(std::move(queue));
  }
  snapshot::CoreState state_of(const chip::CoreView<E>& view) const {
    const bool is_held = std::find(held_.begin(), held_.end(), view.core) != held_.end();
    if (view.withholds || is_held) return snapshot::CoreState::dead;
    switch (view.state) {
      case chip::CoreState::idle:
        return snapshot::CoreState::idle;
      case chip::CoreState::gated:
        return snapshot::CoreState::gated;
      case chip::CoreState::dispatched:
        return snapshot::CoreState::dispatched;
      case chip::CoreState::running:
        return snapshot::CoreState::running;
      case chip::CoreState::finish_withheld:
        return snapshot::CoreState::finish_withheld;
    }
    return snapshot::CoreState::unknown;
  }

  snapshot::Assignment assignment(int r, const chip::CoreView<E>& view, const chip::Assignment<E>& given) {
    const std::uint32_t parts = given.slot->parts();
    const std::uint32_t index = given.block * parts + given.part;
    const snapshot::Assignment made{given.slot->number, given.block, part_of(index, parts), given.token};
    const TaskId task{r, given.slot->number};
    if (log_.has_ended(task, index)) return made;  // its end was not seen yet
    snapshot::Block block;
    block.rank = r;
    block.task = made.task;
    block.block = made.block;
    block.part = made.part;
    block.core = view.core;
    block.source = source_of(given.slot->location);
    if (const auto wait = waiting_.find({given.slot->number, index}); wait != waiting_.end()) {
      block.state = snapshot::BlockState::waiting;
      block.wait = wait->second;
      if (block.wait->source.known()) block.source = block.wait->source;
    } else if (log_.has_begun(task, index)) {
      block.state = snapshot::BlockState::running;
    } else {
      block.state = snapshot::BlockState::dispatched;
      if (view.state != chip::CoreState::gated) ++handed_out_[given.slot->number];
    }
    made_.blocks.push_back(std::move(block));
    return made;
  }

  void tasks(int r) {
    const SubmitLog& log = world_.log;
    for (std::uint32_t n = 0; n < log.tasks(r); ++n) {
      const LoggedTask& of = log.task(r, n);
      snapshot::Task& task = made_.tasks.emplace_back();
      task.rank = r;
      task.task = n;
      task.name = of.name;
      task.source = source_of(of.location);
      task.round = engine_.rank(r).round();
      task.cubes = of.cores.cubes;
      task.vectors = of.cores.vectors;
      task.blocks = of.parts;
      task.ended = of.ended;
      task.begun = of.begun;
      if (const auto found = handed_out_.find(n); found != handed_out_.end()) task.begun += found->second;
      auto& producers = task.producers.emplace();
      for (const TaskId& producer : log.producers(r, of)) producers.push_back({producer.rank, producer.serial});
      if (const auto found = conditions_.find(n); found != conditions_.end())
        task.conditions = std::move(found->second);
      task.state = of.complete                ? snapshot::TaskState::complete
                   : !task.conditions.empty() ? snapshot::TaskState::waiting
                   : task.begun > 0           ? snapshot::TaskState::running
                   : of.ready                 ? snapshot::TaskState::ready
                                              : snapshot::TaskState::submitted;
    }
  }

  ChipEngine<E>& engine_;
  ChipPool<E>& pool_;
  World& world_;
  const SnapshotLog& log_;
  snapshot::Snapshot made_;
  std::map<Key, snapshot::Wait> waiting_;
  std::map<std::uint32_t, std::vector<snapshot::Wait>> conditions_;
  std::vector<std::uint32_t> held_;                    // cores
  std::map<std::uint32_t, std::uint32_t> handed_out_;  // to cores that have not begun: parts by task
};

}  // namespace heddle::lab
