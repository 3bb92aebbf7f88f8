// SPDX-License-Identifier: Apache-2.0
#include "doctor/wait_graph.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "lab/seeds.hpp"

namespace heddle::doctor {
namespace {

using Node = WaitGraph::Node;
constexpr std::uint32_t none = WaitAnalysis::none;

TEST(WaitGraph, WhoNeedsNothingGoesOn) {
  WaitGraph graph;
  const Node a = graph.add(), b = graph.add();
  graph.needs(b, a, 0);
  const WaitAnalysis found = analyse(graph);
  EXPECT_TRUE(found.goes_on[a] && found.goes_on[b]);
  EXPECT_TRUE(found.knots.empty());
  EXPECT_EQ(found.victims, 0U);
}

TEST(WaitGraph, AnEmptyGraphHasNoKnots) { EXPECT_TRUE(analyse(WaitGraph{}).knots.empty()); }

TEST(WaitGraph, TwoThatWaitForEachOtherAreTheCauseAndTheThirdIsAVictim) {
  WaitGraph graph;
  const Node a = graph.add(), b = graph.add(), victim = graph.add();
  graph.needs(a, b, 1);
  graph.needs(b, a, 2);
  graph.needs(victim, a, 3);
  const WaitAnalysis found = analyse(graph);
  ASSERT_EQ(found.knots.size(), 1U);
  EXPECT_TRUE(found.knots[0].is_cycle);
  EXPECT_EQ(found.knots[0].nodes, (std::vector<Node>{a, b}));
  EXPECT_EQ(found.knots[0].cycle, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(found.victims, 1U);
  EXPECT_EQ(found.toward[victim], 2U);
}

TEST(WaitGraph, OneAlternativeThatGoesOnIsEnough) {
  WaitGraph graph;
  const Node a = graph.add(), b = graph.add(), free = graph.add();
  const auto need = graph.need(a);
  graph.alternative(need, b, 0);
  graph.alternative(need, free, 0);
  graph.needs(b, a, 0);
  const WaitAnalysis found = analyse(graph);
  EXPECT_TRUE(found.goes_on[a] && found.goes_on[b]);
}

TEST(WaitGraph, EveryNeedHasToBeMet) {
  WaitGraph graph;
  const Node a = graph.add(), free = graph.add(), dead = graph.add(true);
  graph.needs(a, free, 0);
  graph.needs(a, dead, 0);
  const WaitAnalysis found = analyse(graph);
  EXPECT_FALSE(found.goes_on[a]);
  ASSERT_EQ(found.knots.size(), 1U);
  EXPECT_FALSE(found.knots[0].is_cycle);
  EXPECT_EQ(found.knots[0].nodes, (std::vector<Node>{dead}));
}

TEST(WaitGraph, ANeedThatNobodyCanMeetIsACauseWhateverElseItsNodeWaitsFor) {
  WaitGraph graph;
  const Node a = graph.add(), b = graph.add();
  graph.needs(a, b, 0);
  graph.needs(b, a, 0);
  (void)graph.need(a);
  const WaitAnalysis found = analyse(graph);
  ASSERT_EQ(found.knots.size(), 1U);
  EXPECT_EQ(found.knots[0].nodes, (std::vector<Node>{a}));
  EXPECT_FALSE(found.knots[0].is_cycle);
  EXPECT_EQ(found.toward[b], 1U);
}

TEST(WaitGraph, WhoWaitsForItselfIsACycleOfOne) {
  WaitGraph graph;
  const Node a = graph.add();
  graph.needs(a, a, 7);
  const WaitAnalysis found = analyse(graph);
  ASSERT_EQ(found.knots.size(), 1U);
  EXPECT_TRUE(found.knots[0].is_cycle);
  EXPECT_EQ(found.knots[0].cycle.size(), 1U);
}

TEST(WaitGraph, ALongChainNeedsNoDeepStack) {
  WaitGraph graph;
  constexpr std::uint32_t length = 300'000;
  for (std::uint32_t i = 0; i < length; ++i) (void)graph.add();
  for (std::uint32_t i = 0; i < length; ++i) graph.needs(i, (i + 1) % length, 0);
  const WaitAnalysis found = analyse(graph);
  ASSERT_EQ(found.knots.size(), 1U);
  EXPECT_EQ(found.knots[0].cycle.size(), length);
}

// The same by brute force, for graphs of a few nodes.
struct Oracle {
  explicit Oracle(const WaitGraph& of) : graph(of), n(of.nodes()), goes_on(n, false), met(of.needs(), false) {
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto& edge : graph.edges()) {
        if (!goes_on[edge.to] || met[edge.need]) continue;
        met[edge.need] = changed = true;
      }
      for (Node node = 0; node < n; ++node) {
        if (goes_on[node] || graph.is_dead(node) || !all_met(node)) continue;
        goes_on[node] = changed = true;
      }
    }
    reach.assign(n, std::vector<std::uint32_t>(n, none));
    for (const auto& edge : graph.edges())
      if (keeps(edge)) reach[edge.from][edge.to] = 1;
    for (Node via = 0; via < n; ++via)
      for (Node from = 0; from < n; ++from)
        for (Node to = 0; to < n; ++to)
          if (reach[from][via] != none && reach[via][to] != none)
            reach[from][to] = std::min(reach[from][to], reach[from][via] + reach[via][to]);
  }
  bool all_met(Node node) const {
    for (WaitGraph::Need need = 0; need < graph.needs(); ++need)
      if (graph.owner(need) == node && !met[need]) return false;
    return true;
  }
  bool is_end(Node node) const {
    if (graph.is_dead(node)) return true;
    for (WaitGraph::Need need = 0; need < graph.needs(); ++need) {
      if (graph.owner(need) != node) continue;
      if (std::none_of(graph.edges().begin(), graph.edges().end(), [&](const auto& e) { return e.need == need; }))
        return true;
    }
    return false;
  }
  bool keeps(const WaitGraph::Edge& edge) const { return !met[edge.need] && !is_end(edge.from); }
  bool together(Node a, Node b) const { return a == b || (reach[a][b] != none && reach[b][a] != none); }
  // It cannot go on, and nothing that it reaches does not come back.
  bool is_cause(Node node) const {
    if (goes_on[node]) return false;
    for (Node to = 0; to < n; ++to)
      if (reach[node][to] != none && !together(node, to)) return false;
    return true;
  }

  const WaitGraph& graph;
  std::size_t n;
  std::vector<bool> goes_on, met;
  std::vector<std::vector<std::uint32_t>> reach;  // fewest steps
};

WaitGraph random_graph(std::mt19937_64& random) {
  WaitGraph graph;
  const auto nodes = 1 + random() % 8;
  for (std::uint64_t i = 0; i < nodes; ++i) (void)graph.add(random() % 12 == 0);
  for (Node node = 0; node < nodes; ++node) {
    for (auto needs = random() % 3; needs > 0; --needs) {
      const auto need = graph.need(node);
      for (auto alternatives = random() % 16 == 0 ? 0 : 1 + random() % 3; alternatives > 0; --alternatives)
        graph.alternative(need, static_cast<Node>(random() % nodes), 0);
    }
  }
  return graph;
}

void expect_a_shortest_cycle(const WaitGraph& graph, const Oracle& oracle, const Knot& knot) {
  ASSERT_FALSE(knot.cycle.empty());
  for (std::size_t i = 0; i < knot.cycle.size(); ++i) {
    const auto& edge = graph.edges()[knot.cycle[i]];
    const auto& next = graph.edges()[knot.cycle[(i + 1) % knot.cycle.size()]];
    EXPECT_EQ(edge.to, next.from);
    EXPECT_TRUE(oracle.keeps(edge));
  }
  std::uint32_t shortest = none;
  for (const Node node : knot.nodes) shortest = std::min(shortest, oracle.reach[node][node]);
  EXPECT_EQ(knot.cycle.size(), shortest);
}

void expect_what_the_oracle_says(const WaitGraph& graph) {
  const Oracle oracle(graph);
  const WaitAnalysis found = analyse(graph);
  std::uint64_t victims = 0;
  for (Node node = 0; node < graph.nodes(); ++node) {
    ASSERT_EQ(found.goes_on[node] != 0, oracle.goes_on[node]) << node;
    ASSERT_EQ(found.knot[node] != none, oracle.is_cause(node)) << node;
    for (Node other = 0; other < graph.nodes(); ++other) {
      if (oracle.goes_on[node] || oracle.goes_on[other]) continue;
      ASSERT_EQ(found.component[node] == found.component[other], oracle.together(node, other)) << node << " " << other;
    }
    if (oracle.goes_on[node] || oracle.is_cause(node)) continue;
    ++victims;
    ASSERT_NE(found.toward[node], none) << node;  // every victim leads to a cause
    Node at = node;
    for (std::size_t steps = 0; found.knot[at] == none; ++steps) {
      ASSERT_LT(steps, graph.nodes());
      const auto& edge = graph.edges()[found.toward[at]];
      ASSERT_TRUE(edge.from == at && oracle.keeps(edge));
      at = edge.to;
    }
  }
  EXPECT_EQ(found.victims, victims);
  for (const Knot& knot : found.knots) {
    EXPECT_EQ(knot.is_cycle, oracle.reach[knot.nodes[0]][knot.nodes[0]] != none);
    if (knot.is_cycle) expect_a_shortest_cycle(graph, oracle, knot);
  }
}

TEST(WaitGraph, SmallRandomGraphsAreWhatBruteForceSays) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (std::uint64_t i = lab::seeds(20'000); i > 0; --i) {
    expect_what_the_oracle_says(random_graph(random));
    if (testing::Test::HasFatalFailure() || testing::Test::HasNonfatalFailure())
      FAIL() << "graph " << i << " from the end";
  }
}

}  // namespace
}  // namespace heddle::doctor
