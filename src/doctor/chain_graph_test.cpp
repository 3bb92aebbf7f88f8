// SPDX-License-Identifier: Apache-2.0
#include "doctor/chain_graph.hpp"

#include <gtest/gtest.h>

namespace heddle::doctor {
namespace {

Party task(int number) {
  Party party;
  party.kind = Party::Kind::task;
  party.rank = 0;
  party.task = number;
  party.id = "r0.t" + std::to_string(number);
  return party;
}
Party block(int number, int block = 0) {
  Party party = task(number);
  party.kind = Party::Kind::block;
  party.block = block;
  party.id += ".b" + std::to_string(block);
  return party;
}
Party cell(int number) {
  Party party;
  party.kind = Party::Kind::cell;
  party.rank = 0;
  party.cell = number;
  party.id = "r0.w.done." + std::to_string(number);
  return party;
}

Report chain(std::vector<Step> steps, bool closes) {
  Report report;
  report.chain = std::move(steps);
  report.chain_closes = closes;
  return report;
}

TEST(ChainGraph, ATaskAndItsBlockAreOneNode) {
  const ChainGraph graph = chain_graph_of(chain({{block(0), EdgeKind::signal, cell(0), ""},
                                                 {cell(0), EdgeKind::signal, task(1), ""},
                                                 {task(1), EdgeKind::producer, task(0), ""},
                                                 {block(0), EdgeKind::signal, block(0), "so it comes back"}},
                                                true));
  ASSERT_EQ(graph.nodes.size(), 3U);
  EXPECT_EQ(graph.nodes[0].who.id, "r0.t0.b0");
  ASSERT_EQ(graph.edges.size(), 3U);
  EXPECT_EQ(graph.edges[2].to, 0U) << "it comes back by an edge of its own";
  EXPECT_EQ(graph.spine, (std::vector<std::uint32_t>{0, 1, 2}));
}

TEST(ChainGraph, ABlockThatIsReachedAsItsTaskIsNamedOnce) {
  const ChainGraph graph = chain_graph_of(
      chain({{task(2), EdgeKind::producer, task(1), ""}, {block(1), EdgeKind::signal, cell(3), ""}}, false));
  ASSERT_EQ(graph.nodes.size(), 3U);
  EXPECT_EQ(graph.nodes[1].who.kind, Party::Kind::block) << "the block says more";
  EXPECT_EQ(graph.by_id.at("r0.t1"), graph.by_id.at("r0.t1.b0"));
}

TEST(ChainGraph, TwoBlocksOfATaskAreTwo) {
  const ChainGraph graph = chain_graph_of(
      chain({{block(0, 0), EdgeKind::core, block(0, 1), ""}, {block(0, 1), EdgeKind::core, block(0, 0), ""}}, true));
  EXPECT_EQ(graph.nodes.size(), 2U);
  EXPECT_EQ(graph.edges.size(), 2U);
}

TEST(ChainGraph, WhatHasNoNameIsBetweenItsTwoSteps) {
  const ChainGraph graph = chain_graph_of(chain({{block(0, 0), EdgeKind::flag, {}, ""},
                                                 {{}, EdgeKind::flag, block(0, 1), ""},
                                                 {block(0, 1), EdgeKind::flag, {}, ""}},
                                                false));
  ASSERT_EQ(graph.nodes.size(), 4U);
  EXPECT_EQ(graph.nodes[1].name, "a flag of its cluster");
  EXPECT_FALSE(graph.nodes[1].is_end);
  EXPECT_EQ(graph.nodes[3].name, "nobody");
  EXPECT_TRUE(graph.nodes[3].is_end);
  EXPECT_EQ(graph.edges[0].to, graph.edges[1].from);
}

TEST(ChainGraph, AnEmptyChainIsAnEmptyGraph) {
  const ChainGraph graph = chain_graph_of({});
  EXPECT_TRUE(graph.nodes.empty());
  EXPECT_TRUE(graph.edges.empty());
}

}  // namespace
}  // namespace heddle::doctor
