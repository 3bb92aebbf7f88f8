// SPDX-License-Identifier: Apache-2.0
//
// Dispatch records of runs: they prove what they should of every chip, fidelity and strategy, and change nothing.
#include <gtest/gtest.h>

#include <cstdint>
#include <heddle/heddle.hpp>
#include <memory>
#include <stdexcept>
#include <string>

#include "base/sanitizer.hpp"
#include "lab/dispatch_log.hpp"
#include "lab/run.hpp"
#include "lab/seeds.hpp"
#include "lab/strategies/strategies.hpp"

namespace heddle {
namespace {

using lab::DispatchEnd;
using lab::DispatchLog;
using lab::RunResult;
using lab::RunSpec;

// Single, mixed and synchronous tasks in a chain, some of them placed early, with waits for the next rank; one block
// may throw.
struct Layers {
  int failing_rank = -1;

  static void plan(Plan& plan) { plan.window("told", sizeof(std::int32_t)); }

  void rank(Orchestrator& graph, const Io&) const {
    const auto told = graph.window("told").signals<std::int32_t>();
    const auto next = told.at((graph.rank() + 1) % graph.ranks())[0];
    const auto own = told.mine()[0];
    const auto work = [](Block& block) { block.spend(500); };
    for (int layer = 0; layer < 3; ++layer) {
      const auto wide = graph.spmd("wide", vector_core, 11, work, allow_early());
      const auto mixed = graph.spmd("mixed", mixed_cores, 3, work, after(wide), allow_early());
      const auto pairs = graph.spmd("pairs", mixed_pair, 4, work, after(wide));
      const auto gang = graph.spmd("gang", cube_core, 2, work, after(mixed), sync_start());
      const auto then = graph.spmd("then", cube_core, 5, work, after(mixed), allow_early());
      graph.spmd("last", vector_core, 4, work, after(then));
      const bool fails = graph.rank() == failing_rank && layer == 1;
      graph.submit(
          "tell", vector_core,
          [next, fails](Block& block) {
            if (fails) throw std::runtime_error("chosen");
            block.notify(next, 1, Notify::add);
          },
          after(gang));
      const std::int32_t wanted = static_cast<std::int32_t>(3 * graph.round() + layer + 1);
      graph.dummy("heard", completes_when(own, Compare::ge, wanted), after(pairs));
    }
  }
};

RunResult run(const Layers& layers, const RunSpec& spec, const std::string& strategy, std::uint64_t seed,
              DispatchLog* log) {
  const std::shared_ptr<ProgramBase> program = make_program(layers);
  return lab::run_once(program, spec, *lab::make_strategy(strategy), seed, false, {.records = log});
}

RunSpec spec_of(const char* chip, lab::Fidelity fidelity = lab::Fidelity::program) {
  RunSpec spec;
  spec.chip = chip;
  spec.chip_set = {{"clusters", 5}, {"early_dispatch", 1}};
  spec.ranks = 2;
  spec.rounds = 2;
  spec.fidelity = fidelity;
  return spec;
}

std::string faults_of(const lab::DispatchProof& proof) {
  std::string text;
  for (const lab::DispatchFault& fault : proof.faults) text += fault.what + "\n";
  return text;
}

TEST(DispatchRecords, ProveARunWithEveryChipFidelityAndStrategy) {
  for (const lab::Fidelity fidelity : {lab::Fidelity::program, lab::Fidelity::protocol})
    for (const char* chip : {"ideal", "a2a3", "a5"})
      for (const char* strategy : {"random", "pct", "delay", "walk"})
        for (std::uint64_t seed = 1; seed <= lab::seeds(5); ++seed) {
          SCOPED_TRACE(std::string(chip) + " " + strategy + " seed " + std::to_string(seed));
          DispatchLog log;
          const RunResult result = run({}, spec_of(chip, fidelity), strategy, seed, &log);
          ASSERT_TRUE(result.passed()) << result.sentence;
          const lab::DispatchProof proof = prove(log, 3, DispatchEnd::passed);
          ASSERT_TRUE(proof.holds()) << faults_of(proof);
          // 3 layers, 2 ranks, 2 rounds; of each layer 11 + 3 * 3 + 4 * 2 + 2 + 5 + 4 + 1 parts.
          EXPECT_EQ(proof.hand_overs, 12U * 40U);
          EXPECT_EQ(proof.begins, 12U * 40U);
          EXPECT_EQ(proof.finishes, 12U * 40U);
          EXPECT_EQ(proof.freezes, 0U);
        }
}

TEST(DispatchRecords, ChangeNothing) {
  DispatchLog log;
  const RunSpec spec = spec_of("a2a3");
  EXPECT_EQ(run({}, spec, "random", 3, &log).trace_hash, run({}, spec, "random", 3, nullptr).trace_hash);
  EXPECT_EQ(run({1}, spec, "random", 3, &log).trace_hash, run({1}, spec, "random", 3, nullptr).trace_hash);
}

TEST(DispatchRecords, OfARunThatFailedProveThatNothingBeganAfterTheFreeze) {
  std::uint64_t skipped = 0;
  for (const lab::Fidelity fidelity : {lab::Fidelity::program, lab::Fidelity::protocol})
    for (std::uint64_t seed = 1; seed <= lab::seeds(40); ++seed) {
      DispatchLog log;
      const RunResult result = run({1}, spec_of("a2a3", fidelity), seed % 2 == 0 ? "random" : "walk", seed, &log);
      ASSERT_FALSE(result.passed());
      const lab::DispatchProof proof = prove(log, 3, DispatchEnd::stopped);
      ASSERT_TRUE(proof.holds()) << "seed " << seed << "\n" << faults_of(proof);
      EXPECT_EQ(proof.freezes, 2U) << "the rank that failed, and the one that waits for it";
      skipped += proof.hand_overs - proof.begins;
    }
  if (!HEDDLE_TSAN && !HEDDLE_ASAN) {  // which try fewer seeds
    EXPECT_GT(skipped, 0U) << "some blocks were handed over and then not begun: else this test is about nothing";
  }
}

}  // namespace
}  // namespace heddle
