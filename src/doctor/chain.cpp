// SPDX-License-Identifier: Apache-2.0
#include "doctor/chain.hpp"

#include <algorithm>

#include "doctor/why.hpp"

namespace heddle::doctor {

using snapshot::BlockState;
using Node = WaitGraph::Node;
using Kind = WaitNode::Kind;

namespace {

constexpr std::uint32_t no_node = WaitAnalysis::none;
constexpr std::size_t steps_most = 64;

bool is_waiter(Kind kind) { return kind == Kind::block || kind == Kind::program || kind == Kind::end; }

class Teller {
 public:
  Teller(const WaitModel& model, const WaitAnalysis& analysis)
      : model_(model), analysis_(analysis), situation_(model.situation), all_(situation_.all()) {}

  Chain tell() {
    find_roots();
    chain_.knot = best_knot();
    if (chain_.knot == no_node) return std::move(chain_);
    const std::vector<std::uint32_t> path = path_of(analysis_.knots[chain_.knot]);
    for (at_ = 0; at_ < path.size() && chain_.steps.size() < steps_most;) step(path);
    if (path.empty()) {
      end(analysis_.knots[chain_.knot].nodes.front());
    } else if (at_ >= path.size()) {
      finish(path);
    }
    return std::move(chain_);
  }

 private:
  const WaitGraph::Edge& edge(std::uint32_t index) const { return model_.graph.edges()[index]; }
  const WaitNode& node(Node index) const { return model_.nodes[index]; }

  // Cycles before ends, those with a core or a ring in them first: they are what a change of order would undo.
  std::uint32_t best_knot() const {
    std::uint32_t best = no_node;
    int most = -1;
    for (std::uint32_t i = 0; i < analysis_.knots.size(); ++i) {
      const int weight = !analysis_.knots[i].is_cycle                     ? waited_for(i)
                         : knot_has(model_, analysis_, i, EdgeKind::core) ? 4
                         : knot_has(model_, analysis_, i, EdgeKind::room) ? 3
                                                                          : 2;
      if (weight <= most) continue;
      most = weight;
      best = i;
    }
    return best;
  }
  // Of an end: a broken core explains more than anything; a task that nobody asks for, nothing.
  int waited_for(std::uint32_t knot) const {
    const Node end = analysis_.knots[knot].nodes.front();
    return waiters_[end] == no_node ? 0 : node(end).kind == Kind::core ? 5 : 1;
  }

  // For each end the first of the waiters that lead to it, blocks before others.
  void find_roots() {
    std::vector<Node> root(model_.nodes.size(), no_node), way;
    waiters_.assign(model_.nodes.size(), no_node);
    for (Node from = 0; from < model_.nodes.size(); ++from) {
      Node at = from;
      way.clear();
      while (root[at] == no_node && analysis_.toward[at] != no_node) {
        way.push_back(at);
        at = edge(analysis_.toward[at]).to;
      }
      const Node end = root[at] == no_node ? at : root[at];
      for (const Node each : way) root[each] = end;
      if (way.empty() && root[from] == no_node) continue;
      if (!is_waiter(node(from).kind)) continue;
      Node& first = waiters_[end];
      const auto rank = [&](Node of) {
        return (node(of).kind == Kind::block ? 0 : 2) + (leads_at_once(of, end) ? 0 : 1);
      };
      if (first == no_node || rank(from) < rank(first)) first = from;
    }
  }
  bool leads_at_once(Node from, Node end) const { return edge(analysis_.toward[from]).to == end; }

  // Of edges: a cycle from one of its waiters on, or from the first waiter to an end.
  std::vector<std::uint32_t> path_of(const Knot& knot) {
    if (knot.is_cycle) {
      std::vector<std::uint32_t> path = knot.cycle;
      const auto holder = std::find_if(path.begin(), path.end(), [&](std::uint32_t i) { return holds(edge(i).from); });
      const auto waiter =
          std::find_if(path.begin(), path.end(), [&](std::uint32_t i) { return is_waiter(node(edge(i).from).kind); });
      std::rotate(path.begin(),
                  holder != path.end()   ? holder
                  : waiter != path.end() ? waiter
                                         : path.begin(),
                  path.end());
      chain_.closes = true;
      return path;
    }
    std::vector<std::uint32_t> path;
    const Node end = knot.nodes.front();
    for (Node at = waiters_[end]; at != no_node && at != end; at = edge(path.back()).to)
      path.push_back(analysis_.toward[at]);
    return path;
  }
  bool holds(Node index) const {
    return node(index).kind == Kind::block && situation_.holds_core(all_.blocks[node(index).index]) &&
           all_.blocks[node(index).index].state == BlockState::waiting;
  }

  Party party(Node index) const {
    const WaitNode& of = node(index);
    switch (of.kind) {
      case Kind::program:
        return situation_.program(of.rank);
      case Kind::start:
      case Kind::end:
      case Kind::some:
        return of.index < all_.tasks.size() ? situation_.of_task(of.index) : Party{};
      case Kind::block:
        return situation_.of_block(of.index);
      case Kind::core:
        return situation_.of_core(of.index);
      case Kind::cell: {
        const snapshot::Wait& wait = *model_.cell_of[of.index];
        return situation_.of_cell(wait.rank, wait.window, wait.cell);
      }
      default:
        return {};
    }
  }
  void say(Node from, EdgeKind kind, Node to, std::string sentence) {
    chain_.steps.push_back({party(from), kind, to == no_node ? Party{} : party(to), std::move(sentence)});
  }

  // One step of one or more edges from at_ on.
  void step(const std::vector<std::uint32_t>& path) {
    const WaitGraph::Edge& first = edge(path[at_++]);
    const auto kind = static_cast<EdgeKind>(first.tag);
    switch (node(first.from).kind) {
      case Kind::block:
        of_block(first, kind);
        break;
      case Kind::cell:
      case Kind::flag:
        of_cell(first, path);
        break;
      case Kind::start:
        of_start(first, kind, path);
        break;
      case Kind::program:
        of_program(first, kind);
        break;
      case Kind::end:
        of_end(first, kind);
        break;
      case Kind::some:
      case Kind::room:
      case Kind::cluster:
        break;  // what leads there has told it
      case Kind::core:
        say(first.from, EdgeKind::core, first.to, party(first.from).text + " is held by " + party(first.to).text);
        break;
    }
  }

  void of_block(const WaitGraph::Edge& first, EdgeKind kind) {
    const snapshot::Block& block = all_.blocks[node(first.from).index];
    std::string text = party(first.from).text;
    if ((kind == EdgeKind::signal || kind == EdgeKind::flag) && block.wait) {
      text += " waits until " + situation_.condition(*block.wait);
      if (situation_.holds_core(block))
        text += " (it holds " + situation_.core_name(block.rank, block.core) + " meanwhile)";
    } else if (kind == EdgeKind::taken_up) {
      text += " was given to " + party(first.to).text + ", which never took it up";
    } else if (kind == EdgeKind::producer) {
      text += " is behind its gate on " + situation_.core_name(block.rank, block.core) + ", until its task may start";
    } else if (kind == EdgeKind::fault) {
      text += " runs on " + party(first.to).text + ", which never ends it";
    } else if (block.state == BlockState::dispatched) {
      text += " was given to " + situation_.core_name(block.rank, block.core) + ", behind " + party(first.to).text;
    } else {
      text += " needs a core";
    }
    say(first.from, kind, first.to, text);
  }

  // To whoever would change it: the next edge says which part of the task.
  void of_cell(const WaitGraph::Edge& first, const std::vector<std::uint32_t>& path) {
    Node to = first.to;
    if (node(to).kind == Kind::some && at_ < path.size()) to = edge(path[at_++]).to;
    const bool is_block = node(to).kind == Kind::block;
    const std::string what = node(first.from).kind == Kind::flag ? "set" : "notify";
    std::string text = party(to).text + " would " + what + " it, and ";
    const bool waits = is_block && all_.blocks[node(to).index].state == BlockState::waiting;
    text += waits ? "waits itself before it does" : is_block ? "has not ended" : "has not begun";
    say(first.from, node(first.from).kind == Kind::flag ? EdgeKind::flag : EdgeKind::signal, to, text);
  }

  void of_start(const WaitGraph::Edge& first, EdgeKind kind, const std::vector<std::uint32_t>& path) {
    const std::string who = party(first.from).text;
    if (kind == EdgeKind::producer) {
      say(first.from, kind, first.to, who + " starts only after " + party(first.to).text);
    } else if (kind == EdgeKind::submit) {
      const snapshot::Rank& rank = all_.ranks[node(first.to).index];
      say(first.from, kind, first.to,
          who + " was never submitted: the program of rank " + std::to_string(rank.rank) + " " + program_wait(rank));
    } else {
      Node to = first.to;
      Node core = no_node;
      while (node(to).kind != Kind::block && at_ < path.size()) {
        if (node(to).kind == Kind::core) core = to;
        to = edge(path[at_++]).to;
      }
      if (node(to).kind == Kind::core) core = to;
      const std::string held = node(to).kind == Kind::block ? "is held by " + party(to).text : "never comes free";
      const bool has_begun = all_.tasks[node(first.from).index].begun > 0;
      say(first.from, EdgeKind::core, to,
          who + (has_begun ? " has more blocks" : " is ready") + ", and the core that it needs" +
              (core == no_node ? "" : ", " + party(core).text + ",") + " " + held);
    }
  }

  void of_program(const WaitGraph::Edge& first, EdgeKind kind) {
    const snapshot::Rank& rank = all_.ranks[node(first.from).index];
    std::string text = party(first.from).text + " " + program_wait(rank);
    if (first.to == first.from) {
      text += ", which an open scope holds that ends only after that";
    } else {
      text += std::string(kind == EdgeKind::room ? "; it is held by " : "; it is to come from ") + party(first.to).text;
    }
    say(first.from, kind, first.to, text);
  }

  void of_end(const WaitGraph::Edge& first, EdgeKind kind) {
    const std::string who = party(first.from).text;
    if (kind == EdgeKind::signal) {
      const snapshot::Wait& wait = *model_.cell_of[node(first.to).index];
      say(first.from, kind, first.to, who + " completes once " + situation_.condition(condition(first.from, wait)));
    } else if (node(first.to).kind == Kind::block) {
      const auto& block = all_.blocks[node(first.to).index];
      if (block.state == BlockState::waiting) return;  // the step that follows says it
      say(first.from, kind, first.to, who + " ends only after its block " + std::to_string(block.block));
    }
  }
  // The task's own condition on this cell, whose comparison may be another than the first one's.
  snapshot::Wait condition(Node from, const snapshot::Wait& cell) const {
    for (const snapshot::Wait& each : all_.tasks[node(from).index].conditions)
      if (each.rank == cell.rank && each.window == cell.window && each.cell == cell.cell) return each;
    return cell;
  }

  void finish(const std::vector<std::uint32_t>& path) {
    if (!chain_.closes) {
      end(edge(path.back()).to);
      return;
    }
    const Node first = edge(path.front()).from;
    say(first, EdgeKind::signal, first, "so it comes back to " + party(first).text + ": none of these can ever go on");
  }

  // What is missing at a node that nothing could help.
  void end(Node at) {
    switch (node(at).kind) {
      case Kind::cell:
        end_of_cell(at);
        break;
      case Kind::flag:
        say(at, EdgeKind::flag, no_node, "no other half of the block is left to set it");
        break;
      case Kind::start:
        say(at, EdgeKind::submit, no_node,
            party(at).text + " was never submitted, and its rank's program submits nothing more");
        break;
      case Kind::core:
        break;  // the step before says it
      default:
        say(at, EdgeKind::fault, no_node,
            "rank " + std::to_string(node(at).rank) + " has failed, and does nothing any more");
    }
  }
  void end_of_cell(Node at) {
    const snapshot::Wait& wait = *model_.cell_of[node(at).index];
    const std::uint32_t cell = situation_.cell(wait);
    const std::vector<Satisfier> could = satisfiers(model_, analysis_, wait);
    const bool knows = cell != Situation::none && all_.cells[cell].notifiers.has_value();
    if (knows && all_.cells[cell].notifiers->empty())
      say(at, EdgeKind::signal, no_node, "no task of this round notifies " + party(at).text);
    else if (!knows)
      say(at, EdgeKind::signal, no_node, "which tasks notify " + party(at).text + " was not recorded");
    std::size_t told = 0;
    for (const Satisfier& each : could) {
      if (++told > 8) break;
      chain_.steps.push_back({party(at), EdgeKind::signal, each.who, each.sentence});
    }
  }

  const WaitModel& model_;
  const WaitAnalysis& analysis_;
  const Situation& situation_;
  const snapshot::Snapshot& all_;
  std::vector<Node> waiters_;  // by end
  Chain chain_;
  std::size_t at_ = 0;
};

}  // namespace

bool knot_has(const WaitModel& model, const WaitAnalysis& analysis, std::uint32_t knot, EdgeKind kind) {
  const auto& cycle = analysis.knots[knot].cycle;
  return std::any_of(cycle.begin(), cycle.end(),
                     [&](std::uint32_t i) { return static_cast<EdgeKind>(model.graph.edges()[i].tag) == kind; });
}

Chain chain_of(const WaitModel& model, const WaitAnalysis& analysis) { return Teller(model, analysis).tell(); }

}  // namespace heddle::doctor
