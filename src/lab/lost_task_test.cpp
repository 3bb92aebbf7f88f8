// SPDX-License-Identifier: Apache-2.0
//
// A ready task that a scheduler has lost: it is in no queue and on no core, and everybody waits for it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <heddle/heddle.hpp>
#include <string>
#include <vector>

#include "base/mutant.hpp"
#include "lab/run.hpp"
#include "lab/seeds.hpp"
#include "lab/strategies/strategies.hpp"

namespace heddle::lab {
namespace {

constexpr int busy_rank = 2;

// One rank has many small tasks, and one that needs them all and tells the others, which wait for it on a core.
struct Burst {
  static constexpr int parts = 7;
  static void plan(Plan& plan) { plan.window("told", sizeof(std::int32_t)); }
  static void rank(Orchestrator& graph, const Io&) {
    const auto told = graph.window("told").signals<std::int32_t>();
    const auto round = static_cast<std::int32_t>(graph.round() + 1);
    if (graph.rank() != busy_rank) {
      const auto own = told.mine()[0];
      graph.submit("listen", vector_core, [=](Block& block) { block.wait(own, Compare::ge, round); });
      return;
    }
    std::vector<TaskHandle> made;
    for (int i = 0; i < parts; ++i)
      made.push_back(graph.submit("part", vector_core, [](Block& block) { block.spend(3'000); }));
    const auto tell = [=, ranks = graph.ranks()](Block& block) {
      for (int peer = 0; peer < ranks; ++peer) block.notify(told.at(peer)[0], round, Notify::set);
    };
    graph.submit("tell", vector_core, tell, after(made));
  }
};

RunResult run(const std::string& strategy, std::uint64_t seed, Fidelity fidelity = Fidelity::program) {
  RunSpec spec;
  spec.chip = "a2a3";
  spec.chip_set = {{"clusters", 1}};
  spec.ranks = 4;
  spec.fidelity = fidelity;
  return run_once(make_program(Burst{}), spec, *make_strategy(strategy), seed);
}

void expect_names_the_rank_that_lost_it(const RunResult& result) {
  ASSERT_EQ(result.verdict, Verdict::unexplained) << result.sentence;
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->code(), Code::no_progress);
  EXPECT_EQ(result.error->rank(), busy_rank) << result.error->report();
  EXPECT_EQ(result.error->task(), "part") << result.error->report();
  EXPECT_NE(result.error->location().file, nullptr);
  EXPECT_NE(result.sentence.find("in no queue and on no core"), std::string::npos) << result.sentence;
  // The others are listed as what waits, and blamed for nothing.
  EXPECT_TRUE(std::all_of(result.error->waits().begin(), result.error->waits().end(), [](const WaitRecord& wait) {
    return wait.rank != busy_rank;
  })) << result.error->report();
  EXPECT_FALSE(result.error->waits().empty());
}

// The number of the first seed from `start` on with which the fault shows; 0: with none of the next 200.
std::uint64_t seeds_to_find(const std::string& strategy, std::uint64_t start) {
  for (std::uint64_t n = 1; n <= 200; ++n) {
    const RunResult result = run(strategy, start + n);
    if (result.verdict == Verdict::passed) continue;
    expect_names_the_rank_that_lost_it(result);
    return n;
  }
  return 0;
}

TEST(LostTask, IsFoundByItsAbsenceAndItsRankIsNamedWithEveryStrategy) {
  const std::uint64_t starts = seeds(4);
  for (const std::string strategy : {"random", "pct", "delay", "walk"}) {
    SCOPED_TRACE(strategy);
    for (std::uint64_t seed = 1; seed <= starts; ++seed)
      ASSERT_EQ(run(strategy, seed).verdict, Verdict::passed) << "without the fault, seed " << seed;
    const base::mutants::Scope fault("chip_lost_ready_task");
    for (std::uint64_t start = 1; start <= starts; ++start) {
      ASSERT_NE(seeds_to_find(strategy, start * 1'000), 0U) << "start seed " << start * 1'000;
      if (HasFatalFailure()) return;
    }
  }
}

TEST(LostTask, IsToldTheSameWhenEachAccessIsAStepOfItsOwn) {
  const base::mutants::Scope fault("chip_lost_ready_task");
  std::uint64_t found = 0;
  for (std::uint64_t seed = 1; seed <= 50 && found == 0; ++seed) {
    const RunResult result = run("random", seed, Fidelity::protocol);
    if (result.verdict == Verdict::passed) continue;
    expect_names_the_rank_that_lost_it(result);
    found = seed;
  }
  EXPECT_NE(found, 0U);
}

}  // namespace
}  // namespace heddle::lab
