// SPDX-License-Identifier: Apache-2.0
//
// Tasks with many conditions, on every backend: in whatever order they come true, and after a round that was given up
// with some of them true and others not.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "host/test_program.hpp"

namespace heddle::host {
namespace {

constexpr int conditions = 64;

template <std::size_t... I>
TaskHandle defer_all(Orchestrator& graph, const auto& row, std::int64_t value, std::index_sequence<I...>) {
  return graph.dummy("deferred", completes_when(row[static_cast<std::int64_t>(I)], Compare::ge, value)...);
}

class Deferred : public ::testing::TestWithParam<const char*> {};

void declare(Plan& plan) { plan.window("cells", conditions * sizeof(std::int64_t)); }

// The other rank tells the first `early` cells of an order before the task is submitted, and the rest after it.
TEST_P(Deferred, SixtyFourConditionsComeTrueEarlyAndLateInAnyOrder) {
  Device device = Device::open(GetParam(), {.ranks = 2, .threads = 2, .seed = 5});
  std::vector<int> order(conditions);
  std::iota(order.begin(), order.end(), 0);
  std::minstd_rand random(20261203);
  int early = 0;
  std::atomic<int> told{0}, seen{-1};
  const auto body = [&](Orchestrator& graph, const Io&) {
    const auto cells = graph.window("cells").signals<std::int64_t>();
    const std::int64_t round = graph.round() + 1;
    if (graph.rank() == 1) {
      const auto tell = [&order, &early, &told, theirs = cells.at(0), own = cells.mine()[0], round](Block& block) {
        // The rest only when the other rank's task waits: its cell of this rank says so.
        for (int i = 0; i < conditions; ++i) {
          if (i == early) block.wait(own, Compare::ge, round);
          ++told;
          block.notify(theirs[order[static_cast<std::size_t>(i)]], 1, Notify::add);
        }
      };
      graph.submit("tell", vector_core, tell);
      return;
    }
    const auto deferred = defer_all(graph, cells.mine(), round, std::make_index_sequence<conditions>{});
    graph.submit("armed", vector_core, [there = cells.at(1)[0]](Block& block) { block.notify(there, 1, Notify::add); });
    graph.submit("follower", vector_core, [&seen, &told](Block&) { seen = told.load(); }, after(deferred));
  };
  Session session = device.prepare(TestProgram{body, declare});
  for (const int first : {0, 1, 17, conditions - 1}) {
    std::shuffle(order.begin(), order.end(), random);
    early = first;
    told = 0;
    seen = -1;
    session.run();
    EXPECT_EQ(seen.load(), conditions) << first << " of them early";
  }
}

// Sixty-three of them came true in the round that failed: none of these counts for the next one.
TEST_P(Deferred, WhatARoundThatFailedHasLeftCountsForNothing) {
  Device device = Device::open(GetParam(), {.ranks = 2, .threads = 2, .seed = 6});
  std::atomic<int> told{0}, seen{-1};
  const auto body = [&](Orchestrator& graph, const Io&) {
    const auto cells = graph.window("cells").signals<std::int64_t>();
    const bool fails = graph.round() == 0;
    if (graph.rank() == 1) {
      graph.submit("tell", vector_core, [=, &told, theirs = cells.at(0), own = cells.mine()[0]](Block& block) {
        block.wait(own, Compare::ge, 1);
        for (int i = 0; i < conditions; ++i) {
          if (fails && i == conditions / 2) continue;
          ++told;
          block.notify(theirs[i], 1, Notify::add);
        }
      });
      return;
    }
    const auto deferred = defer_all(graph, cells.mine(), 1, std::make_index_sequence<conditions>{});
    graph.submit("armed", vector_core, [there = cells.at(1)[0]](Block& block) { block.notify(there, 1, Notify::add); });
    graph.submit("follower", vector_core, [&seen, &told](Block&) { seen = told.load(); }, after(deferred));
  };
  Session session = device.prepare(TestProgram{body, declare});
  for (int repeat = 0; repeat < 2; ++repeat) {
    const Error error = error_of([&] { session.run(); });
    EXPECT_EQ(error.code(), Code::signal_deadlock) << error.report();
    ASSERT_EQ(error.waits().size(), 1U) << error.report();
    EXPECT_EQ(error.waits()[0].what, WaitRecord::What::completion);
    EXPECT_EQ(error.waits()[0].cell, conditions / 2);
    EXPECT_EQ(seen.load(), -1);
    told = 0;
    session.recover();
    session.run();
    EXPECT_EQ(seen.load(), conditions);
    session = device.prepare(TestProgram{body, declare});
    told = 0;
    seen = -1;
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, Deferred, ::testing::Values("host", "lab:ideal", "lab:a2a3"),
                         [](const auto& parameter) {
                           std::string name = parameter.param;
                           std::replace(name.begin(), name.end(), ':', '_');
                           return name;
                         });

}  // namespace
}  // namespace heddle::host
