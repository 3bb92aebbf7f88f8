// SPDX-License-Identifier: Apache-2.0
#include "doctor/wait_model.hpp"

#include <algorithm>
#include <utility>

namespace heddle::doctor {

using snapshot::BlockState;
using snapshot::CoreKind;
using snapshot::CoreState;
using snapshot::ProgramWait;
using snapshot::RankState;
using snapshot::TaskState;

namespace {

using Node = WaitGraph::Node;
using Kind = WaitNode::Kind;

class Modeller {
 public:
  explicit Modeller(WaitModel& model) : model_(model), situation_(model.situation), all_(situation_.all()) {}

  void run() {
    make_nodes();
    for (std::uint32_t i = 0; i < all_.ranks.size(); ++i) program(i);
    for (std::uint32_t i = 0; i < all_.cores.size(); ++i) core(i);
    for (std::uint32_t i = 0; i < all_.tasks.size(); ++i) task(i);
    for (std::uint32_t i = 0; i < all_.blocks.size(); ++i) block(i);
    for (std::size_t i = 0; i < model_.cell_of.size(); ++i) cell(i);
  }

 private:
  Node add(Kind kind, std::uint32_t index, int rank) {
    model_.nodes.push_back({kind, index, rank});
    return model_.graph.add();
  }
  void edge(Node from, Node to, EdgeKind kind) { model_.graph.needs(from, to, static_cast<std::uint32_t>(kind)); }
  void alternative(WaitGraph::Need need, Node to, EdgeKind kind) {
    model_.graph.alternative(need, to, static_cast<std::uint32_t>(kind));
  }

  void make_nodes() {
    const auto each = [&](const auto& records, std::vector<Node>& nodes, Kind kind) {
      for (std::uint32_t i = 0; i < records.size(); ++i) nodes.push_back(add(kind, i, records[i].rank));
    };
    each(all_.ranks, model_.program, Kind::program);
    each(all_.tasks, model_.start, Kind::start);
    each(all_.tasks, model_.end, Kind::end);
    each(all_.tasks, some_, Kind::some);
    each(all_.blocks, model_.block, Kind::block);
    each(all_.cores, model_.core, Kind::core);
  }

  void program(std::uint32_t i) {
    const snapshot::Rank& rank = all_.ranks[i];
    const Node node = model_.program[i];
    if (situation_.is_lost(rank.rank)) {
      model_.graph.kill(node);
      return;
    }
    if (rank.state == RankState::ended) return;
    if (rank.waits_for != ProgramWait::ring && rank.waits_for != ProgramWait::region_map &&
        rank.waits_for != ProgramWait::value)
      return;
    const EdgeKind kind = rank.waits_for == ProgramWait::value ? EdgeKind::value : EdgeKind::room;
    if (rank.held_by_scope) edge(node, node, kind);  // which ends only once the program goes on
    if (const std::uint32_t holder = situation_.task(rank.rank, rank.holder); holder != Situation::none)
      edge(node, model_.end[holder], kind);
  }

  // What keeps a core from other work.
  void core(std::uint32_t i) {
    const snapshot::Core& core = all_.cores[i];
    const Node node = model_.core[i];
    if (core.state == CoreState::dead) {
      model_.graph.kill(node);
      return;
    }
    if (core.running) edge(node, of_assignment(core.rank, *core.running), EdgeKind::core);
    if (core.pending) edge(node, of_assignment(core.rank, *core.pending), EdgeKind::core);
  }
  // The block that a core was given; its task when the block is not listed; else nothing that could keep it.
  Node of_assignment(int rank, const snapshot::Assignment& given) {
    std::uint32_t found = situation_.block(rank, given.task, given.block, given.part);
    if (found == Situation::none) found = situation_.block(rank, given.task, given.block, -1);
    if (found != Situation::none) return model_.block[found];
    return open();
  }
  Node open() {
    if (open_ == WaitGraph::none) open_ = add(Kind::some, 0, -1);
    return open_;
  }

  bool all_begun(const snapshot::Task& task) const { return task.blocks >= 0 && task.begun >= task.blocks; }

  void task(std::uint32_t i) {
    const snapshot::Task& task = all_.tasks[i];
    if (situation_.is_over(task)) return;
    if (situation_.is_lost(task.rank)) {
      model_.graph.kill(model_.start[i]);
      model_.graph.kill(model_.end[i]);
      model_.graph.kill(some_[i]);
      return;
    }
    start(i, task);
    const WaitGraph::Need some = model_.graph.need(some_[i]);
    const bool may_start = !all_begun(task) && task.state != TaskState::waiting;
    if (may_start) {
      edge(model_.end[i], model_.start[i], EdgeKind::blocks);
      alternative(some, model_.start[i], EdgeKind::blocks);
    }
    const auto [first, last] = situation_.blocks_of(i);
    bool any = may_start;
    for (std::uint32_t k = first; k < last; ++k) {
      const std::uint32_t block = situation_.blocks()[k];
      if (all_.blocks[block].state == BlockState::ended) continue;
      edge(model_.end[i], model_.block[block], EdgeKind::blocks);
      alternative(some, model_.block[block], EdgeKind::blocks);
      any = true;
    }
    // It has begun, and where its blocks stand was not recorded.
    if (!any && task.state == TaskState::running) alternative(some, open(), EdgeKind::blocks);
    for (const snapshot::Wait& wait : task.conditions)
      if (wait.kind == snapshot::WaitKind::signal) edge(model_.end[i], of_cell(wait), EdgeKind::signal);
  }

  void start(std::uint32_t i, const snapshot::Task& task) {
    const Node node = model_.start[i];
    if (task.state == TaskState::not_submitted) {
      const std::uint32_t rank = situation_.rank(task.rank);
      if (rank == Situation::none) return;
      const bool has_ended =
          all_.ranks[rank].state == RankState::ended || all_.ranks[rank].waits_for == ProgramWait::end;
      if (has_ended) {
        (void)model_.graph.need(node);  // it never will be
      } else {
        edge(node, model_.program[rank], EdgeKind::submit);
      }
      return;
    }
    bool is_kept = false;
    if (task.producers && task.state == TaskState::submitted) {
      for (const snapshot::TaskRef& each : *task.producers) {
        const std::uint32_t producer = situation_.task(each.rank, each.task);
        if (producer == Situation::none || situation_.is_over(all_.tasks[producer])) continue;
        edge(node, model_.end[producer], EdgeKind::producer);
        is_kept = true;
      }
    }
    if (!is_kept && (task.state == TaskState::ready || task.state == TaskState::running)) needs_core(node, task);
  }

  // What a file may cost, whatever it says; tasks of further shapes, and blocks of more parts, stay open.
  static constexpr int shapes_most = 16;
  static constexpr std::uint32_t parts_most = 64;

  // A node that stands for room for one more block on the rank's cores, made once for each shape.
  void needs_core(Node node, const snapshot::Task& task) {
    if (!all_.has("cores") || task.cubes < 0 || task.vectors < 0 || (task.cubes == 0 && task.vectors == 0)) return;
    const std::tuple shape(task.rank, task.cubes, task.vectors);
    auto found = rooms_.find(shape);
    if (found == rooms_.end()) {
      if (++shapes_[task.rank] > shapes_most) return;
      found = rooms_.emplace(shape, make_room(task.rank, task.cubes, task.vectors)).first;
    }
    edge(node, found->second, EdgeKind::core);
  }
  Node make_room(int rank, int cubes, int vectors) {
    const Node room = add(Kind::room, 0, rank);
    const WaitGraph::Need any = model_.graph.need(room);
    for (auto at = clusters().lower_bound({rank, -1}); at != clusters().end() && at->first.first == rank; ++at) {
      const Cluster& cores = at->second;
      if (static_cast<int>(cores.cubes.size()) < cubes || static_cast<int>(cores.vectors.size()) < vectors) continue;
      if (cubes + vectors == 1) {
        for (const Node core : cubes == 1 ? cores.cubes : cores.vectors) alternative(any, core, EdgeKind::core);
      } else {
        alternative(any, make_cluster(rank, cores, cubes, vectors), EdgeKind::core);
      }
    }
    return room;
  }
  struct Cluster {
    std::vector<Node> cubes, vectors;
  };
  Node make_cluster(int rank, const Cluster& cores, int cubes, int vectors) {
    const Node node = add(Kind::cluster, 0, rank);
    const auto take = [&](const std::vector<Node>& lanes, int count) {
      if (count == 0) return;
      if (count == static_cast<int>(lanes.size())) {
        for (const Node core : lanes) edge(node, core, EdgeKind::core);
      } else {
        const WaitGraph::Need any = model_.graph.need(node);
        for (const Node core : lanes) alternative(any, core, EdgeKind::core);
      }
    };
    take(cores.cubes, cubes);
    take(cores.vectors, vectors);
    return node;
  }
  const std::map<std::pair<int, std::int64_t>, Cluster>& clusters() {
    if (!clusters_.empty()) return clusters_;
    for (std::uint32_t i = 0; i < all_.cores.size(); ++i) {
      const snapshot::Core& core = all_.cores[i];
      Cluster& cluster = clusters_[{core.rank, core.cluster}];
      if (core.kind != CoreKind::vector) cluster.cubes.push_back(model_.core[i]);
      if (core.kind != CoreKind::cube) cluster.vectors.push_back(model_.core[i]);
    }
    return clusters_;
  }

  void block(std::uint32_t i) {
    const snapshot::Block& block = all_.blocks[i];
    const Node node = model_.block[i];
    if (block.state == BlockState::ended) return;
    if (situation_.is_lost(block.rank)) {
      model_.graph.kill(node);
      return;
    }
    const std::uint32_t core = situation_.core(block.rank, block.core);
    const std::uint32_t task = situation_.task(block.rank, block.task);
    switch (block.state) {
      case BlockState::waiting:
        if (block.wait && block.wait->kind == snapshot::WaitKind::signal)
          edge(node, of_cell(*block.wait), EdgeKind::signal);
        if (block.wait && block.wait->kind == snapshot::WaitKind::flag)
          edge(node, of_flag(*block.wait, block), EdgeKind::flag);
        break;
      case BlockState::queued:
        if (task != Situation::none) needs_core(node, all_.tasks[task]);
        break;
      case BlockState::dispatched:
        if (core != Situation::none) dispatched(node, i, core);
        // Placed before it may begin.
        if (task != Situation::none && all_.tasks[task].state == TaskState::submitted)
          edge(node, model_.start[task], EdgeKind::producer);
        break;
      default:
        if (core != Situation::none && all_.cores[core].state == CoreState::dead)
          edge(node, model_.core[core], EdgeKind::fault);
        break;
    }
  }
  // Behind what the core runs, or first in line of one that does not take it up.
  void dispatched(Node node, std::uint32_t i, std::uint32_t at) {
    const snapshot::Core& core = all_.cores[at];
    if (core.state == CoreState::dead) {
      edge(node, model_.core[at], EdgeKind::taken_up);
      return;
    }
    if (!core.running) return;
    const Node before = of_assignment(core.rank, *core.running);
    if (before != model_.block[i]) edge(node, before, EdgeKind::core);
  }

  Node of_cell(const snapshot::Wait& wait) {
    const auto [found, is_new] = model_.cells.try_emplace({wait.rank, wait.window, wait.cell}, WaitGraph::none);
    if (is_new) {
      found->second = add(Kind::cell, static_cast<std::uint32_t>(model_.cell_of.size()), wait.rank);
      model_.cell_of.push_back(&wait);
    }
    return found->second;
  }

  // The other halves of the block set it.
  Node of_flag(const snapshot::Wait& wait, const snapshot::Block& block) {
    const Node node = add(Kind::flag, static_cast<std::uint32_t>(model_.flags.size()), wait.rank);
    model_.flags.push_back(wait);
    if (situation_.task(block.rank, block.task) == Situation::none || block.part < 0) return node;
    const WaitGraph::Need any = model_.graph.need(node);
    const auto [first, last] = situation_.parts_of(block);
    for (std::uint32_t k = first; k < last; ++k) {
      const std::uint32_t other = situation_.blocks()[k];
      const snapshot::Block& half = all_.blocks[other];
      if (half.part == block.part || half.state == BlockState::ended) continue;
      const bool is_too_many = k - first >= parts_most;
      alternative(any, is_too_many ? open() : model_.block[other], EdgeKind::flag);
      if (is_too_many) break;
    }
    return node;
  }

  // Whoever notifies it and has not ended; and what is on its way, unless nothing moves any more.
  void cell(std::size_t i) {
    const snapshot::Wait& wait = *model_.cell_of[i];
    const Node node = model_.cells.at({wait.rank, wait.window, wait.cell});
    const WaitGraph::Need any = model_.graph.need(node);
    const std::uint32_t found = situation_.cell(wait);
    if (found == Situation::none || !all_.cells[found].notifiers) {
      model_.guesses = true;
      if (!situation_.is_final()) alternative(any, open(), EdgeKind::signal);
      return;
    }
    const snapshot::Cell& cell = all_.cells[found];
    for (const snapshot::TaskRef& each : *cell.notifiers) {
      const std::uint32_t task = situation_.task(each.rank, each.task);
      if (task == Situation::none || has_run(all_.tasks[task])) continue;
      alternative(any, some_[task], EdgeKind::signal);
    }
    if (situation_.is_final()) return;
    for (const snapshot::Change& change : cell.history)
      if (!change.arrived && !change.lost && change.issued) alternative(any, open(), EdgeKind::signal);
  }
  static bool has_run(const snapshot::Task& task) {
    return task.state == TaskState::complete || task.state == TaskState::waiting ||
           (task.blocks >= 0 && task.ended >= task.blocks);
  }

  WaitModel& model_;
  const Situation& situation_;
  const snapshot::Snapshot& all_;
  std::vector<Node> some_;
  Node open_ = WaitGraph::none;
  std::map<std::tuple<int, int, int>, Node> rooms_;
  std::map<int, int> shapes_;  // in rooms_, by rank
  std::map<std::pair<int, std::int64_t>, Cluster> clusters_;
};

}  // namespace

WaitModel model_of(const Situation& situation) {
  WaitModel model(situation);
  Modeller(model).run();
  return model;
}

}  // namespace heddle::doctor
