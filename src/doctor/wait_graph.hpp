// SPDX-License-Identifier: Apache-2.0
//
// Who waits for whom, as a graph of conjunctions of alternatives: a node goes on once each of its needs is met, and a
// need is met once any one of its alternatives has gone on. What cannot go on however lucky the rest is, and why, comes
// out in time linear in the graph. What the nodes stand for is not known here.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace heddle::doctor {

class WaitGraph {
 public:
  using Node = std::uint32_t;
  using Need = std::uint32_t;
  static constexpr Node none = UINT32_MAX;

  struct Edge {
    Node from = none, to = none;
    Need need = 0;
    std::uint32_t tag = 0;  // the caller's
  };

  // open: goes on once its needs are met; without needs, at once. dead: never, whatever happens.
  Node add(bool is_dead = false) {
    dead_.push_back(is_dead ? 1 : 0);
    return static_cast<Node>(dead_.size() - 1);
  }
  // A need of a node. Without alternatives it is never met.
  Need need(Node node) {
    owner_.push_back(node);
    return static_cast<Need>(owner_.size() - 1);
  }
  void alternative(Need need, Node to, std::uint32_t tag) { edges_.push_back({owner_[need], to, need, tag}); }
  // The same in one: a need with this one alternative.
  void needs(Node node, Node other, std::uint32_t tag) { alternative(need(node), other, tag); }
  void kill(Node node) { dead_[node] = 1; }

  std::size_t nodes() const { return dead_.size(); }
  std::size_t needs() const { return owner_.size(); }
  std::span<const Edge> edges() const { return edges_; }
  bool is_dead(Node node) const { return dead_[node] != 0; }
  Node owner(Need need) const { return owner_[need]; }

 private:
  std::vector<std::uint8_t> dead_;
  std::vector<Node> owner_;  // of each need
  std::vector<Edge> edges_;
};

// A set of nodes that keep each other for good, and that wait for nothing outside of it: a cause. A dead node, or one
// with a need that has no alternative, is a knot of its own.
struct Knot {
  std::vector<WaitGraph::Node> nodes;  // ascending
  bool is_cycle = false;               // they wait for each other; otherwise the one node is an end
  // A short cycle in it, each step an index of WaitGraph::edges(); empty for an end. With alternatives, the cycle is
  // not the whole reason: the knot is.
  std::vector<std::uint32_t> cycle;
};

struct WaitAnalysis {
  std::vector<std::uint8_t> goes_on;     // per node: it can still go on
  std::vector<std::uint8_t> met;         // per need
  std::vector<std::uint8_t> end;         // per node: it is dead, or has a need without alternatives
  std::vector<std::uint32_t> component;  // per node that cannot: its strongly connected component; else none
  std::vector<Knot> knots;               // by their first node
  std::vector<std::uint32_t> knot;       // per node: the knot that it is in; else none
  std::vector<std::uint32_t> toward;     // per victim: an edge that leads it to a knot by the fewest steps; else none
  std::uint64_t victims = 0;             // nodes that cannot go on, and are in no knot

  static constexpr std::uint32_t none = UINT32_MAX;
};

WaitAnalysis analyse(const WaitGraph& graph);

}  // namespace heddle::doctor
