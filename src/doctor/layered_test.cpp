// SPDX-License-Identifier: Apache-2.0
#include "doctor/layered.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace heddle::doctor {
namespace {

TEST(Layered, TheSpineIsOneColumnInItsOrder) {
  const Layers layers = layered(3, {{2, 0}, {0, 1}}, {2, 0, 1});
  EXPECT_EQ(layers.layer, (std::vector<std::uint32_t>{1, 2, 0}));
  EXPECT_EQ(layers.column, (std::vector<std::uint32_t>{0, 0, 0}));
  EXPECT_EQ(layers.layers, 3U);
  EXPECT_EQ(layers.columns, 1U);
}

TEST(Layered, TheEdgeThatClosesACycleLeadsBack) {
  const Layers layers = layered(3, {{0, 1}, {1, 2}, {2, 0}}, {0, 1, 2});
  EXPECT_EQ(layers.back, (std::vector<std::uint8_t>{0, 0, 1}));
}

TEST(Layered, WhoLeadsToTheSpineStandsJustAboveWhatItLeadsTo) {
  // 3 and 4 wait for the last of the spine, 5 for 4.
  const Layers layers = layered(6, {{0, 1}, {1, 2}, {3, 2}, {4, 2}, {5, 4}}, {0, 1, 2});
  EXPECT_EQ(layers.layer[3], 1U);
  EXPECT_EQ(layers.layer[4], 1U);
  EXPECT_EQ(layers.layer[5], 0U);
  EXPECT_NE(layers.column[3], layers.column[4]);
}

TEST(Layered, WhatTheSpineLeadsToStandsBelow) {
  const Layers layers = layered(4, {{0, 1}, {1, 2}, {0, 3}}, {0, 1, 2});
  EXPECT_EQ(layers.layer[3], 1U);
  EXPECT_EQ(layers.column[3], 1U);
}

TEST(Layered, NothingAtAll) {
  const Layers layers = layered(0, {}, {});
  EXPECT_EQ(layers.layers, 0U);
}

TEST(Layered, NoTwoStandInOnePlaceAndOnlyBackEdgesLeadUp) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto below = [&](std::uint32_t end) { return static_cast<std::uint32_t>(random() % end); };
  for (int round = 0; round < 200; ++round) {
    const std::uint32_t nodes = 1 + below(30);
    std::vector<LayeredEdge> edges(below(60));
    for (LayeredEdge& edge : edges) edge = {below(nodes), below(nodes)};
    std::vector<std::uint32_t> spine(below(nodes));
    for (std::uint32_t i = 0; i < spine.size(); ++i) spine[i] = i;
    const Layers layers = layered(nodes, edges, spine);
    std::set<std::pair<std::uint32_t, std::uint32_t>> places;
    for (std::uint32_t i = 0; i < nodes; ++i) {
      EXPECT_TRUE(places.emplace(layers.layer[i], layers.column[i]).second);
      EXPECT_LT(layers.layer[i], layers.layers);
      EXPECT_LT(layers.column[i], layers.columns);
    }
    for (std::size_t i = 0; i < edges.size(); ++i)
      EXPECT_EQ(layers.back[i] == 0, layers.layer[edges[i].from] < layers.layer[edges[i].to]);
  }
}

}  // namespace
}  // namespace heddle::doctor
