// SPDX-License-Identifier: Apache-2.0
#include "doctor/wait_graph.hpp"

#include <algorithm>

namespace heddle::doctor {
namespace {

using Node = WaitGraph::Node;
constexpr std::uint32_t none = WaitAnalysis::none;

// Indices of edges, grouped by one of their ends.
class Grouped {
 public:
  template <class KeyOf>
  Grouped(std::span<const WaitGraph::Edge> edges, std::size_t keys, KeyOf key_of) : first_(keys + 1, 0) {
    for (const auto& edge : edges) ++first_[key_of(edge) + 1];
    for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
    std::vector<std::uint32_t> at(first_.begin(), first_.end() - 1);
    items_.resize(edges.size());
    for (std::uint32_t i = 0; i < edges.size(); ++i) items_[at[key_of(edges[i])]++] = i;
  }
  std::span<const std::uint32_t> of(std::size_t key) const {
    return {items_.data() + first_[key], first_[key + 1] - first_[key]};
  }

 private:
  std::vector<std::uint32_t> first_, items_;
};

// Which nodes can go on: each need that is met counts down its owner; whoever has none left goes on.
void propagate(const WaitGraph& graph, const Grouped& by_target, WaitAnalysis& found) {
  found.goes_on.assign(graph.nodes(), 0);
  found.met.assign(graph.needs(), 0);
  std::vector<std::uint32_t> unmet(graph.nodes(), 0);
  for (WaitGraph::Need need = 0; need < graph.needs(); ++need) ++unmet[graph.owner(need)];
  std::vector<Node> work;
  const auto goes_on = [&](Node node) {
    found.goes_on[node] = 1;
    work.push_back(node);
  };
  for (Node node = 0; node < graph.nodes(); ++node)
    if (unmet[node] == 0 && !graph.is_dead(node)) goes_on(node);
  while (!work.empty()) {
    const Node node = work.back();
    work.pop_back();
    for (const std::uint32_t i : by_target.of(node)) {
      const WaitGraph::Edge& edge = graph.edges()[i];
      if (found.met[edge.need] != 0) continue;
      found.met[edge.need] = 1;
      if (--unmet[edge.from] == 0 && !graph.is_dead(edge.from)) goes_on(edge.from);
    }
  }
}

// Nodes that nothing could help: all else that they need does not matter.
void find_ends(const WaitGraph& graph, WaitAnalysis& found) {
  std::vector<std::uint8_t> has_any(graph.needs(), 0);
  for (const WaitGraph::Edge& edge : graph.edges()) has_any[edge.need] = 1;
  found.end.assign(graph.nodes(), 0);
  for (Node node = 0; node < graph.nodes(); ++node) found.end[node] = graph.is_dead(node) ? 1 : 0;
  for (WaitGraph::Need need = 0; need < graph.needs(); ++need)
    if (has_any[need] == 0) found.end[graph.owner(need)] = 1;
}

// Whether an edge keeps its node: the need that it is of is not met. Then no alternative of it can go on.
bool keeps(const WaitGraph::Edge& edge, const WaitAnalysis& found) {
  return found.met[edge.need] == 0 && found.end[edge.from] == 0;
}

class Components {
 public:
  Components(const WaitGraph& graph, const Grouped& by_source, WaitAnalysis& found)
      : graph_(graph), by_source_(by_source), found_(found) {}

  // Tarjan's, with a stack of its own. Components are numbered in reverse topological order.
  std::uint32_t find() {
    const std::size_t nodes = graph_.nodes();
    found_.component.assign(nodes, none);
    order_.assign(nodes, none);
    low_.assign(nodes, 0);
    next_.assign(nodes, 0);
    for (Node node = 0; node < nodes; ++node)
      if (found_.goes_on[node] == 0 && order_[node] == none) visit(node);
    return count_;
  }

 private:
  void enter(Node node) {
    order_[node] = low_[node] = clock_++;
    open_.push_back(node);
    path_.push_back(node);
  }

  void visit(Node root) {
    enter(root);
    while (!path_.empty()) {
      const Node node = path_.back();
      const auto edges = by_source_.of(node);
      if (next_[node] < edges.size()) {
        const WaitGraph::Edge& edge = graph_.edges()[edges[next_[node]++]];
        if (!keeps(edge, found_)) continue;
        if (order_[edge.to] == none) {
          enter(edge.to);
        } else if (found_.component[edge.to] == none) {
          low_[node] = std::min(low_[node], order_[edge.to]);
        }
        continue;
      }
      path_.pop_back();
      if (!path_.empty()) low_[path_.back()] = std::min(low_[path_.back()], low_[node]);
      if (low_[node] == order_[node]) close(node);
    }
  }

  void close(Node root) {
    Node node = none;
    do {
      node = open_.back();
      open_.pop_back();
      found_.component[node] = count_;
    } while (node != root);
    ++count_;
  }

  const WaitGraph& graph_;
  const Grouped& by_source_;
  WaitAnalysis& found_;
  std::vector<std::uint32_t> order_, low_, next_;
  std::vector<Node> open_, path_;
  std::uint32_t clock_ = 0, count_ = 0;
};

// The shortest way from a node back to it within its knot; empty when there is none. Counts the edges that it looks at.
class Cycles {
 public:
  Cycles(const WaitGraph& graph, const Grouped& by_source, const WaitAnalysis& found)
      : graph_(graph), by_source_(by_source), found_(found), came_by_(graph.nodes(), none) {}

  std::vector<std::uint32_t> through(Node start) {
    reached_.assign(1, start);
    std::uint32_t last = none;
    for (std::size_t at = 0; at < reached_.size() && last == none; ++at) last = look_around(reached_[at], start);
    std::vector<std::uint32_t> cycle;
    for (std::uint32_t edge = last; edge != none; edge = came_by_[graph_.edges()[edge].from]) cycle.push_back(edge);
    std::reverse(cycle.begin(), cycle.end());
    for (const Node node : reached_) came_by_[node] = none;
    return cycle;
  }
  std::uint64_t looked_at() const { return looked_at_; }

 private:
  // The edge that closes the cycle, if one from this node does.
  std::uint32_t look_around(Node node, Node start) {
    for (const std::uint32_t i : by_source_.of(node)) {
      ++looked_at_;
      const WaitGraph::Edge& edge = graph_.edges()[i];
      if (!keeps(edge, found_) || found_.component[edge.to] != found_.component[start]) continue;
      if (edge.to == start) return i;
      if (came_by_[edge.to] != none) continue;
      came_by_[edge.to] = i;
      reached_.push_back(edge.to);
    }
    return none;
  }

  const WaitGraph& graph_;
  const Grouped& by_source_;
  const WaitAnalysis& found_;
  std::vector<std::uint32_t> came_by_;
  std::vector<Node> reached_;
  std::uint64_t looked_at_ = 0;
};

void find_knots(const WaitGraph& graph, std::uint32_t components, WaitAnalysis& found) {
  std::vector<std::uint8_t> leaves(components, 0), loops(components, 0);
  for (const WaitGraph::Edge& edge : graph.edges()) {
    if (!keeps(edge, found)) continue;
    const std::uint32_t from = found.component[edge.from];
    (from == found.component[edge.to] ? loops : leaves)[from] = 1;
  }
  std::vector<std::uint32_t> knot_of(components, none);
  found.knot.assign(graph.nodes(), none);
  for (Node node = 0; node < graph.nodes(); ++node) {
    const std::uint32_t component = found.component[node];
    if (component == none) continue;
    if (leaves[component] != 0) {
      ++found.victims;
      continue;
    }
    if (knot_of[component] == none) {
      knot_of[component] = static_cast<std::uint32_t>(found.knots.size());
      found.knots.push_back({{}, loops[component] != 0, {}});
    }
    found.knot[node] = knot_of[component];
    found.knots[knot_of[component]].nodes.push_back(node);
  }
}

// Of a large knot only some cycles are looked for: the first found is short, if not always the shortest.
void find_cycles(const WaitGraph& graph, const Grouped& by_source, WaitAnalysis& found) {
  Cycles cycles(graph, by_source, found);
  const std::uint64_t most = 4 * graph.edges().size() + 10'000;
  for (Knot& knot : found.knots) {
    if (!knot.is_cycle) continue;
    for (const Node node : knot.nodes) {
      std::vector<std::uint32_t> cycle = cycles.through(node);
      if (knot.cycle.empty() || cycle.size() < knot.cycle.size()) knot.cycle = std::move(cycle);
      if (knot.cycle.size() == 1 || cycles.looked_at() > most) break;
    }
  }
}

// From all knots backwards at once.
void find_ways(const WaitGraph& graph, const Grouped& by_target, WaitAnalysis& found) {
  found.toward.assign(graph.nodes(), none);
  std::vector<Node> reached;
  for (const Knot& knot : found.knots) reached.insert(reached.end(), knot.nodes.begin(), knot.nodes.end());
  for (std::size_t at = 0; at < reached.size(); ++at) {
    for (const std::uint32_t i : by_target.of(reached[at])) {
      const WaitGraph::Edge& edge = graph.edges()[i];
      if (!keeps(edge, found) || found.knot[edge.from] != none || found.toward[edge.from] != none) continue;
      found.toward[edge.from] = i;
      reached.push_back(edge.from);
    }
  }
}

}  // namespace

WaitAnalysis analyse(const WaitGraph& graph) {
  WaitAnalysis found;
  const Grouped by_target(graph.edges(), graph.nodes(), [](const WaitGraph::Edge& edge) { return edge.to; });
  propagate(graph, by_target, found);
  find_ends(graph, found);
  const Grouped by_source(graph.edges(), graph.nodes(), [](const WaitGraph::Edge& edge) { return edge.from; });
  const std::uint32_t components = Components(graph, by_source, found).find();
  find_knots(graph, components, found);
  find_cycles(graph, by_source, found);
  find_ways(graph, by_target, found);
  return found;
}

}  // namespace heddle::doctor
