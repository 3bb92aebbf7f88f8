// SPDX-License-Identifier: Apache-2.0
//
// Tasks whose blocks start together, as a program sees them on a chip.
#include <gtest/gtest.h>

#include <cstdint>
#include <heddle/heddle.hpp>
#include <memory>
#include <string>

#include "base/mutant.hpp"
#include "lab/run.hpp"
#include "lab/seeds.hpp"
#include "lab/strategies/strategies.hpp"

namespace heddle {
namespace {

using lab::RunResult;
using lab::RunSpec;
using lab::Verdict;

// Two cohorts, each as wide as the chip, whose blocks wait for each other; between other tasks.
struct TwoCohorts {
  bool together = true;
  std::int64_t too_wide = 0;

  static void plan(Plan& plan) { plan.window("arrived", 2 * sizeof(std::int32_t)); }

  void rank(Orchestrator& graph, const Io&) const {
    const auto arrived = graph.window("arrived").signals<std::int32_t>().mine();
    const std::int64_t width = graph.width() + too_wide;
    const auto noise = [](Block& block) { block.spend(20'000); };
    for (int cohort = 0; cohort < 2; ++cohort) {
      graph.spmd("noise", vector_core, 7, noise);
      const auto all = static_cast<std::int32_t>(width * (graph.round() + 1));
      const auto cell = arrived[cohort];
      const auto meet = [=](Block& block) {
        block.notify(cell, 1, Notify::add);
        block.wait(cell, Compare::ge, all);
      };
      if (together) {
        graph.spmd("cohort", vector_core, width, meet, sync_start());
      } else {
        graph.spmd("cohort", vector_core, width, meet);
      }
    }
    graph.spmd("noise", cube_core, 3, noise);
  }
};

RunResult run(const TwoCohorts& cohorts, const std::string& chip, std::uint64_t seed, const std::string& strategy,
              lab::Fidelity fidelity = lab::Fidelity::program) {
  RunSpec spec;
  spec.chip = chip;
  spec.chip_set = {{"clusters", 4}};
  spec.ranks = 1;
  spec.rounds = 2;
  spec.fidelity = fidelity;
  const std::shared_ptr<ProgramBase> program = make_program(cohorts);
  return lab::run_once(program, spec, *lab::make_strategy(strategy), seed);
}

TEST(SyncStart, CohortsThatFillTheChipPassWithEverySeedAndStrategy) {
  for (const char* const strategy : {"random", "pct", "delay", "walk"})
    for (const char* const chip : {"a2a3", "a5", "ideal"})
      for (std::uint64_t seed = 1; seed <= lab::seeds(20); ++seed) {
        const RunResult result = run({}, chip, seed, strategy);
        ASSERT_EQ(result.verdict, Verdict::passed) << chip << " " << strategy << " " << seed << ": " << result.sentence;
      }
}

TEST(SyncStart, CohortsPassWhenEachAccessOfTheSchedulersIsAStep) {
  for (std::uint64_t seed = 1; seed <= lab::seeds(20); ++seed) {
    const RunResult result = run({}, "a5", seed, "random", lab::Fidelity::protocol);
    ASSERT_EQ(result.verdict, Verdict::passed) << "seed " << seed << ": " << result.sentence;
  }
}

// A drain that gives up on schedulers that have not answered leaves a cohort for which nothing finishes any more.
TEST(SyncStart, AnImpatientDrainIsFoundAndToldAsTheRuntimesOwn) {
  const base::mutants::Scope impatient("chip_drain_impatient");
  std::uint64_t found = 0;
  for (std::uint64_t seed = 1; seed <= 20 && found == 0; ++seed) {
    const RunResult result = run({}, "a2a3", seed, "walk");
    if (result.verdict == Verdict::unexplained) found = seed;
  }
  EXPECT_NE(found, 0U);
}

TEST(SyncStart, WithoutItTheCohortsTakeEachOthersCores) {
  int deadlocks = 0;
  for (std::uint64_t seed = 1; seed <= lab::seeds(20); ++seed) {
    TwoCohorts apart;
    apart.together = false;
    const RunResult result = run(apart, "a2a3", seed, "random");
    if (result.verdict == Verdict::passed) continue;
    ASSERT_EQ(result.verdict, Verdict::deadlock) << result.sentence;
    ++deadlocks;
  }
  EXPECT_GT(deadlocks, 0);
}

TEST(SyncStart, OneBlockMoreThanTheChipIsWideIsRefused) {
  TwoCohorts wide;
  wide.too_wide = 1;
  const RunResult result = run(wide, "a2a3", 1, "random");
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->code(), Code::sync_start_too_wide);
}

}  // namespace
}  // namespace heddle
