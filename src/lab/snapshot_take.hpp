// SPDX-License-Identifier: Apache-2.0
//
// A snapshot of a run on simulated chips, taken when no agent is in the middle of anything. Reads only.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/text.hpp"
#include "host/snapshot_parts.hpp"
#include "lab/chip_pool.hpp"
#include "lab/snapshot_log.hpp"
#include "snapshot/snapshot.hpp"
#include "window/signal.hpp"

namespace heddle::lab {

using host::source_of;

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
      host::RankParts(engine_.rank(r), made_).add();
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
    for (auto& [task, of] : conditions_) host::sort_conditions(of);
  }
  static bool slot_is_task(const window::WaitNode& node) { return !node.deferred && node.waiter != nullptr; }
  void half(snapshot::Wait& wait, const window::WaitNode& node) const {
    host::fill_half(wait, *node.half);
    wait.cluster = static_cast<const LabFiber<E>*>(node.waiter)->core / world_.chip.geometry.lanes();
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
    const snapshot::Assignment made{given.slot->number, given.block, host::part_of(index, parts), given.token};
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
