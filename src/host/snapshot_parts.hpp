// SPDX-License-Identifier: Apache-2.0
//
// What a snapshot tells of any engine, whatever its environment and its pool. Reads only; whoever calls sees to it that
// no orchestrator changes anything meanwhile.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "host/engine.hpp"
#include "snapshot/snapshot.hpp"
#include "window/half_wait.hpp"

namespace heddle::host {

inline snapshot::Source source_of(const Location& location) {
  snapshot::Source source;
  if (location.file == nullptr) return source;
  source.file = location.file;
  source.line = location.line;
  return source;
}

// `index` counts what is handed out one by one: the parts of the blocks.
inline std::int64_t block_of(std::int64_t index, std::uint32_t parts) { return index / std::max(1U, parts); }
inline int part_of(std::int64_t index, std::uint32_t parts) { return parts > 1 ? static_cast<int>(index % parts) : -1; }

// All but the verdict, and what explains it.
inline snapshot::Outcome outcome_of(const Error& error) {
  snapshot::Outcome outcome;
  outcome.code = static_cast<int>(error.code());
  outcome.message = error.message();
  outcome.rank = error.rank();
  outcome.task = error.task();
  outcome.block = error.block();
  outcome.round = error.round();
  outcome.source = source_of(error.location());
  outcome.hint = error.hint();
  return outcome;
}

// Those of one task, in the order in which a snapshot has them.
inline void sort_conditions(std::vector<snapshot::Wait>& conditions) {
  std::sort(conditions.begin(), conditions.end(), [](const auto& left, const auto& right) {
    return std::pair(left.window, left.cell) < std::pair(right.window, right.cell);
  });
}

// The count that a half waits for, but for the cluster.
inline void fill_half(snapshot::Wait& wait, const window::HalfWait& half) {
  using What = window::HalfWait::What;
  wait.kind = snapshot::WaitKind::flag;
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

// A rank's program and rings.
template <base::Environment E, class B>
class RankParts {
 public:
  RankParts(Rank<E, B>& rank, snapshot::Snapshot& made) : of_(rank), core_(rank.core()), made_(made) {}

  void add() {
    snapshot::Rank& rank = made_.ranks.emplace_back();
    rank.rank = of_.index();
    rank.round = of_.round();
    rank.state = state();
    if (of_.state() == RankState::running) program(rank);
    rings(rank);
  }

 private:
  snapshot::RankState state() const {
    // A rank that is being cancelled has failed, whatever it still has to do.
    if (of_.cancelled()) return snapshot::RankState::failed;
    switch (of_.state()) {
      case RankState::running:
        return snapshot::RankState::running;
      case RankState::failed:
        return snapshot::RankState::failed;
      default:
        return snapshot::RankState::ended;
    }
  }

  void program(snapshot::Rank& rank) const {
    using What = graph::OrchestratorWait::What;
    const graph::OrchestratorWait& wait = core_.waiting();
    const graph::Slot<E>* holder = core_.find(wait.task);
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
        if (const auto* oldest = oldest_of(core_.ring(wait.ring)); oldest != nullptr) holder = oldest;
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
    while (oldest < ring.filled() && ring.slot(oldest).complete()) ++oldest;
    return oldest < ring.filled() ? &ring.slot(oldest) : nullptr;
  }

  // A ring that was found to be too small is told as it stood then.
  void rings(snapshot::Rank& rank) {
    const graph::StuckRing& stuck = core_.stuck();
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
      const auto& ring = core_.ring(i);
      if (!ring.mapped()) continue;
      snapshot::Ring& made = made_.rings.emplace_back();
      made.rank = rank.rank;
      made.ring = static_cast<int>(i);
      made.tasks = {ring.config().task_window, static_cast<std::int64_t>(ring.filled() - ring.tail())};
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
        scopes_of(rank.rank, stuck);
      }
    }
  }
  // Only how many of them hold the ring matters: one, or several.
  void scopes_of(int rank, const graph::StuckRing& stuck) {
    for (int i = 0; i < (stuck.one_scope ? 1 : 2); ++i) {
      snapshot::Scope& scope = made_.scopes.emplace_back();
      scope.rank = rank;
      scope.ring = static_cast<int>(stuck.ring);
      scope.first = 0;
      if (i == 0) scope.source = source_of(stuck.holder);
    }
  }

  Rank<E, B>& of_;
  graph::OrchestratorCore<E>& core_;
  snapshot::Snapshot& made_;
};

}  // namespace heddle::host
