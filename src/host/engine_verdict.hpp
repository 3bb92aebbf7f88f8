// SPDX-License-Identifier: Apache-2.0
//
// What an engine concludes when nothing in the pool can make progress: part of engine.hpp. Every rank that is still
// running is then stuck for good, and every wait that holds it is registered: a proof, not a timer.
#pragma once

#include <algorithm>
#include <string>

#include "host/engine.hpp"

namespace heddle::host {

template <base::Environment E, class B>
void Engine<E, B>::quiescent() {
  if (finished()) return;
  bool woken = false;
  // A cell that an ordinary store has changed: nobody was told.
  for (auto& rank : ranks_) woken |= rank->waits().rescan([this](window::WaitNode& node) { wake(node); });
  if (woken) return;

  std::vector<WaitRecord> waits;
  bool any_failed = false;
  for (auto& rank : ranks_) {
    if (rank->state() != RankState::running) {
      any_failed |= rank->state() == RankState::failed;
      continue;
    }
    auto of_rank = collect_waits(*rank);
    waits.insert(waits.end(), std::make_move_iterator(of_rank.begin()), std::make_move_iterator(of_rank.end()));
  }
  tell(!any_failed);
  if (any_failed) {
    // The first error stands; whoever still waits did so for the ranks that failed.
    std::vector<WaitRecord> victims = std::move(waits);
    note(Error(Code::signal_deadlock, "other ranks wait for what the failed ones did not do")
             .in_round(round_)
             .with_waits(std::move(victims)));
  } else {
    note(judge(std::move(waits)).in_round(round_));
  }
  for (auto& rank : ranks_)
    if (rank->state() == RankState::running) rank->cancel();
}

// The verdict, from the most to the least specific cause.
template <base::Environment E, class B>
Error Engine<E, B>::judge(std::vector<WaitRecord> waits) {
  if (!windows_.list().all_equal()) return windows_.list().mismatch().with_waits(std::move(waits));
  for (auto& rank : ranks_) {
    if (rank->state() != RankState::running) continue;
    const graph::OrchestratorWait& wait = rank->core().waiting();
    using What = graph::OrchestratorWait::What;
    if (wait.what != What::ring && wait.what != What::region_map) continue;
    return resource_error(*rank, wait).with_waits(std::move(waits));
  }
  if constexpr (B::explains) {
    if (std::optional<Error> verdict = pool_.explain(*this, waits))
      return std::move(*verdict).with_waits(std::move(waits));
  }
  if (waits.empty())
    return Error(Code::no_progress, "nothing can make progress, and no wait explains it")
        .with_hint("this is a fault of the runtime: please report it");
  const std::size_t count = waits.size();
  const WaitRecord first = waits.front();
  Error error(Code::signal_deadlock,
              std::to_string(count) + (count == 1 ? " wait" : " waits") + " can never be satisfied: " + first.text());
  error.at_rank(first.rank).at_task(first.task, first.block, first.location);
  return error.with_waits(std::move(waits));
}

// An orchestrator that waits for room held by tasks that, in the end, wait for it.
template <base::Environment E, class B>
Error Engine<E, B>::resource_error(Rank<E, B>& rank, const graph::OrchestratorWait& wait) {
  const graph::Slot<E>* holder = rank.core().find(wait.task);
  const auto& ring = rank.core().ring(wait.ring);
  Code code = Code::region_map_full;
  std::string what = "the inference table (" + std::to_string(rank.core().region_entries()) + " accesses)";
  std::string larger = "region_entries";
  if (wait.what == graph::OrchestratorWait::What::ring) {
    // The orchestrator waits for one further on, so that it is not woken for each.
    std::uint64_t oldest = ring.tail();
    while (oldest < ring.head() && ring.slot(oldest).complete()) ++oldest;
    if (oldest < ring.head()) holder = &ring.slot(oldest);
    const std::string of = " of ring " + std::to_string(wait.ring);
    switch (wait.resource) {
      case graph::Resource::heap:
        code = Code::heap_ring_deadlock;
        what = "the heap" + of + " (" + std::to_string(ring.config().heap_bytes) + " bytes)";
        larger = "heap_bytes";
        break;
      case graph::Resource::dep_pool:
        code = Code::dep_pool_overflow;
        what = "the dependency pool" + of + " (" + std::to_string(ring.config().dep_pool) + " entries)";
        larger = "dep_pool";
        break;
      default:
        code = Code::flow_control_deadlock;
        what = "the task window" + of + " (" + std::to_string(ring.config().task_window) + " slots)";
        larger = "task_window";
        break;
    }
  }
  std::string message = what + " is held by tasks that wait for what nothing submitted so far satisfies";
  if (holder != nullptr)
    message += "; one of them is " + std::string(holder->name) + " (" + holder->location.text() + ")";
  return Error(code, message + "; a larger " + larger + " lets the orchestrator go on")
      .at_rank(rank.index())
      .at_task(wait.for_task, -1, wait.location);
}

template <base::Environment E, class B>
std::vector<WaitRecord> Engine<E, B>::collect_parked(Rank<E, B>& rank) {
  std::vector<WaitRecord> waits;
  rank.waits().for_each([&](const window::WaitNode& node) {
    if (node.signal.window->bytes != 0) waits.push_back(describe(node, rank.index()));  // 0: a core that a fault holds
  });
  std::sort(waits.begin(), waits.end(), [](const WaitRecord& left, const WaitRecord& right) {
    return std::tie(left.task, left.block, left.cell, left.detail) <
           std::tie(right.task, right.block, right.cell, right.detail);
  });
  return waits;
}

template <base::Environment E, class B>
std::vector<WaitRecord> Engine<E, B>::collect_waits(Rank<E, B>& rank) {
  std::vector<WaitRecord> waits = collect_parked(rank);
  using What = graph::OrchestratorWait::What;
  if (const What what = rank.core().waiting().what;
      what == What::ring || what == What::region_map || what == What::tensor)
    waits.push_back(describe(rank));
  return waits;
}

template <base::Environment E, class B>
WaitRecord Engine<E, B>::describe(const window::WaitNode& node, int rank) const {
  const auto& slot = *static_cast<const graph::Slot<E>*>(node.task);
  WaitRecord record;
  record.what = node.deferred ? WaitRecord::What::completion : WaitRecord::What::signal;
  record.rank = rank;
  record.task = slot.name;
  record.block = node.block;
  record.location = slot.location;
  if (node.half != nullptr) return describe_half(node, std::move(record));
  record.window = node.signal.window->name;
  const auto offset =
      static_cast<const std::byte*>(node.signal.cell) - node.signal.window->part[static_cast<std::size_t>(rank)];
  record.cell = offset / (node.signal.wide ? 8 : 4);
  record.has = window::load<E>(node.signal);
  record.needs = node.value;
  record.compare = name_of(node.compare);
  return record;
}

// Of a block's half, and not of one that the runtime counts.
template <base::Environment E, class B>
WaitRecord Engine<E, B>::describe_half(const window::WaitNode& node, WaitRecord record) {
  const window::HalfWait& wait = *node.half;
  record.what = WaitRecord::What::flag;
  record.block = node.block / static_cast<const graph::Slot<E>*>(node.task)->parts();
  record.has = window::load<E>(node.signal);
  record.needs = node.value;
  record.compare = name_of(node.compare);
  record.detail = window::name_of(wait, "", record.has, record.needs) + ", shared with its " + other_of(wait) +
                  ", in its " + waiter_of(wait) + " at " + wait.location.text();
  return record;
}

template <base::Environment E, class B>
WaitRecord Engine<E, B>::describe(Rank<E, B>& rank) const {
  const graph::OrchestratorWait& wait = rank.core().waiting();
  WaitRecord record;
  record.what = wait.what == graph::OrchestratorWait::What::tensor ? WaitRecord::What::tensor : WaitRecord::What::ring;
  record.rank = rank.index();
  record.task = "orchestrator";
  record.location = wait.location;
  const graph::Slot<E>* task = rank.core().find(wait.task);
  record.detail =
      task == nullptr ? "a task" : "task " + std::string(task->name) + " (" + task->location.text() + ") to complete";
  return record;
}

}  // namespace heddle::host
