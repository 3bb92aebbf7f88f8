// SPDX-License-Identifier: Apache-2.0
//
// The shipped programs on simulated chips: exact results, the same run twice, and faults that are told apart.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/sanitizer.hpp"
#include "cli/program_loader.hpp"
#include "lab/run.hpp"
#include "lab/seeds.hpp"
#include "lab/strategies/strategies.hpp"

namespace heddle {
namespace {

using lab::RunResult;
using lab::RunSpec;
using lab::Verdict;
using Settings = std::vector<std::pair<std::string, std::string>>;

std::shared_ptr<ProgramBase> program(const std::string& name, const Settings& settings = {}) {
  auto made = cli::find_program(name, cli::program_folders({HEDDLE_TEST_PROGRAM_DIR})).create();
  ParameterList list;
  made->parameters(list);
  for (const auto& [key, value] : settings) list.set(key, value);
  return made;
}

std::vector<std::string> all_checkers() {
  std::vector<std::string> names;
  for (const auto& checker : lab::checker_names()) names.push_back(checker.name);
  return names;
}

RunResult run(const std::shared_ptr<ProgramBase>& made, const RunSpec& spec, std::uint64_t seed,
              const std::string& strategy = "random") {
  return lab::run_once(made, spec, *lab::make_strategy(strategy), seed);
}

RunSpec spec_of(const std::string& chip, int ranks, std::int64_t rounds) {
  RunSpec spec;
  spec.chip = chip;
  spec.ranks = ranks;
  spec.rounds = rounds;
  return spec;
}

constexpr int few = HEDDLE_TSAN ? 1 : HEDDLE_ASAN ? 2 : 10;

class IsolationInTheLab : public testing::TestWithParam<const char*> {
 protected:
  std::shared_ptr<ProgramBase> isolation(const Settings& more = {}) const {
    Settings settings{{"variant", GetParam()}, {"width", "64"}, {"skew_iterations", "1000"}};
    settings.insert(settings.end(), more.begin(), more.end());
    return program("tp_isolation", settings);
  }
};

TEST_P(IsolationInTheLab, IsExactOnEveryChipWithEverySeedUnderEveryChecker) {
  const auto made = isolation();
  for (const char* chip : {"a2a3", "a5", "ideal"}) {
    RunSpec spec = spec_of(chip, 16, 2);
    spec.checkers = all_checkers();
    for (std::uint64_t seed = 1; seed <= (std::string(chip) == "a2a3" ? few : 1); ++seed) {
      const RunResult result = run(made, spec, seed);
      ASSERT_EQ(result.verdict, Verdict::passed) << chip << " seed " << seed << ": " << result.sentence;
      EXPECT_EQ(result.rounds_done, 2);
    }
  }
}

TEST_P(IsolationInTheLab, IsTheSameRunForTheSameSeed) {
  const auto made = isolation();
  const RunSpec spec = spec_of("a2a3", 4, 2);
  std::set<std::uint64_t> hashes;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const RunResult once = run(made, spec, seed), again = run(made, spec, seed);
    EXPECT_EQ(once.trace_hash, again.trace_hash) << seed;
    EXPECT_EQ(once.virtual_ns, again.virtual_ns) << seed;
    hashes.insert(once.trace_hash);
  }
  EXPECT_EQ(hashes.size(), 5U) << "different seeds are different runs";
}

INSTANTIATE_TEST_SUITE_P(Variants, IsolationInTheLab,
                         testing::Values("atomic_compact", "atomic_padded", "atomic_set", "payload_compact",
                                         "payload_padded", "payload_set", "split_phase"),
                         [](const auto& variant) { return std::string(variant.param); });

struct FaultCase {
  const char* fault;
  Verdict verdict;
  Code code;
};

class OneFault : public testing::TestWithParam<FaultCase> {};

TEST_P(OneFault, GivesItsOwnVerdictWithEverySeedAndNamesWhereItWasPut) {
  const auto made =
      program("tp_isolation", {{"variant", "payload_compact"}, {"width", "8"}, {"skew_iterations", "10"}});
  RunSpec spec = spec_of("a2a3", 16, 2);
  spec.faults = {{GetParam().fault, 1}};
  const std::uint64_t seeds = lab::seeds(100);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const RunResult result = run(made, spec, seed);
    ASSERT_EQ(result.verdict, GetParam().verdict) << "seed " << seed << ": " << result.sentence;
    ASSERT_EQ(result.faults.size(), 1U) << "seed " << seed;
    if (GetParam().code != Code::ok) {
      ASSERT_EQ(result.error->code(), GetParam().code) << "seed " << seed << ": " << result.sentence;
    }
    // The sentence of the fault says where it was put: the verdict, its chain or its waits name that place.
    std::string told = result.sentence;
    for (const std::string& step : result.chain) told += "\n" + step;
    if (result.error) told += "\n" + result.error->report();
    const std::string& where = result.faults.front();
    const std::size_t rank = where.find("rank ");
    ASSERT_NE(rank, std::string::npos) << where;
    const std::string named = where.substr(rank, where.find_first_not_of("0123456789", rank + 5) - rank);
    EXPECT_NE(told.find(named), std::string::npos) << "seed " << seed << ": " << where << "\nis not in\n" << told;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, OneFault,
                         testing::Values(FaultCase{"lost_notify", Verdict::deadlock, Code::signal_deadlock},
                                         FaultCase{"stalled_core", Verdict::core_stalled, Code::core_stalled},
                                         FaultCase{"unacknowledged_dispatch", Verdict::no_progress, Code::no_progress},
                                         FaultCase{"late_rank", Verdict::slow, Code::ok}),
                         [](const auto& one) { return std::string(one.param.fault); });

TEST(Lab, EveryShippedProgramIsExactOnAChip) {
  for (const char* name : {"vector_add", "stencil", "tiled_matmul", "tiled_cholesky", "broadcast", "allgather",
                           "reduce_scatter", "allreduce", "all_to_all"}) {
    const auto made = program(name);
    RunSpec spec = spec_of("a2a3", made->defaults().ranks, 1);
    spec.checkers = all_checkers();
    const RunResult result = run(made, spec, 3);
    EXPECT_EQ(result.verdict, Verdict::passed) << name << ": " << result.sentence;
  }
}

TEST(Lab, TheHostBackendItselfRunsStepByStep) {
  const auto made = program("tp_isolation", {{"width", "8"}, {"rows", "8"}, {"skew_iterations", "10"}});
  const RunSpec spec = spec_of("host", 4, 1);
  for (std::uint64_t seed = 1; seed <= (HEDDLE_TSAN ? 1 : 3); ++seed) {
    const RunResult once = run(made, spec, seed);
    EXPECT_EQ(once.verdict, Verdict::passed) << seed << ": " << once.sentence;
    EXPECT_EQ(once.trace_hash, run(made, spec, seed).trace_hash);
  }
}

TEST(Lab, RefusesWhatItDoesNotHave) {
  const auto made = program("vector_add");
  const auto refused = [&](const std::function<void(RunSpec&)>& change) {
    RunSpec spec = spec_of("a2a3", 1, 1);
    change(spec);
    try {
      (void)run(made, spec, 1);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::invalid_argument);
      return std::string(error.message());
    }
    return std::string("accepted");
  };
  EXPECT_NE(refused([](RunSpec& spec) { spec.chip = "a9"; }).find("a9"), std::string::npos);
  EXPECT_NE(refused([](RunSpec& spec) { spec.chip_set["clusters"] = 0; }).find("clusters"), std::string::npos);
  EXPECT_NE(refused([](RunSpec& spec) { spec.chip_set["wheels"] = 4; }).find("wheels"), std::string::npos);
  EXPECT_NE(refused([](RunSpec& spec) { spec.faults["flood"] = 1; }).find("flood"), std::string::npos);
  EXPECT_NE(refused([](RunSpec& spec) { spec.checkers = {"spelling"}; }).find("spelling"), std::string::npos);
  EXPECT_NE(refused([](RunSpec& spec) { spec.ranks = 0; }).find("ranks"), std::string::npos);
  EXPECT_NE(refused([](RunSpec& spec) { spec.rounds = 0; }).find("rounds"), std::string::npos);
  EXPECT_EQ(refused([](RunSpec&) {}), "accepted");
}

}  // namespace
}  // namespace heddle
