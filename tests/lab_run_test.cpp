// SPDX-License-Identifier: Apache-2.0
//
// The shipped programs on simulated chips: exact results, the same run twice, and faults that are told apart.
#include <gtest/gtest.h>

#include <atomic>
#include <cctype>
#include <cstdint>
#include <functional>
#include <heddle/session.hpp>
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

// Whether the text has "rank 1", and not only "rank 12".
bool names(const std::string& text, const std::string& rank) {
  for (std::size_t at = text.find(rank); at != std::string::npos; at = text.find(rank, at + 1)) {
    const std::size_t end = at + rank.size();
    if (end == text.size() || std::isdigit(static_cast<unsigned char>(text[end])) == 0) return true;
  }
  return false;
}

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
    EXPECT_TRUE(names(told, named)) << "seed " << seed << ": " << where << "\nis not in\n" << told;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, OneFault,
                         testing::Values(FaultCase{"lost_notify", Verdict::deadlock, Code::signal_deadlock},
                                         FaultCase{"stalled_core", Verdict::core_stalled, Code::core_stalled},
                                         FaultCase{"unacknowledged_dispatch", Verdict::no_progress, Code::no_progress},
                                         FaultCase{"late_rank", Verdict::slow, Code::ok}),
                         [](const auto& one) { return std::string(one.param.fault); });

// Each core of each block writes its kind and part into a place of its own.
struct MixedBlocks {
  static constexpr std::int64_t blocks = 40;
  static void plan(Plan& plan) { plan.output<std::int32_t>("who", {blocks, 3}); }
  static void rank(Orchestrator& graph, const Io& io) {
    graph.spmd(
        "mixed", mixed_cores, blocks,
        [](Block& block, View<std::int32_t, 2> who) {
          const bool on_cube = block.core() == Core::cube;
          who(block.index(), on_cube ? 0 : 1 + block.part()) = on_cube ? 1 : 2 + block.part();
        },
        out(io.output<std::int32_t, 2>("who")));
  }
  static void check(const HostIo& io) {
    const auto who = io.tensor<std::int32_t>("who");
    for (std::size_t i = 0; i < who.size(); ++i)
      io.expect(who[i] == static_cast<std::int32_t>(i % 3 + 1), "a core of a block has not run, or ran as another");
  }
};

TEST(Lab, AMixedBlockRunsOnceOnEachOfItsCoresAsItDoesOnTheHost) {
  auto session = Device::open("host", {.threads = 2}).prepare(MixedBlocks{});
  EXPECT_EQ(session.run().blocks, 3U * MixedBlocks::blocks);
  EXPECT_NO_THROW(session.check(0));
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const RunResult result = run(make_program(MixedBlocks{}), spec_of("a2a3", 1, 1), seed);
    EXPECT_EQ(result.verdict, Verdict::passed) << result.sentence;
    EXPECT_EQ(result.blocks, 3U * MixedBlocks::blocks);
  }
}

TEST(Lab, WithoutValuesKernelsSkipTheirArithmeticAndEverythingElseStays) {
  const auto made = program("tp_isolation", {{"width", "64"}, {"skew_iterations", "1000"}});
  RunSpec spec = spec_of("a2a3", 16, 2);
  const RunResult with = run(made, spec, 5);
  spec.values = false;
  const RunResult without = run(made, spec, 5);
  EXPECT_EQ(without.verdict, Verdict::passed) << without.sentence;
  EXPECT_EQ(without.trace_hash, with.trace_hash) << "the same puts, notifies, waits and costs";
  // On a kernel that would be noticed: it says that it computed.
  struct Says {
    std::atomic<int>* computed;
    void rank(Orchestrator& graph, const Io&) const {
      graph.submit("say", vector_core, [computed = computed](Block& block) { *computed += block.values() ? 1 : 0; });
    }
  };
  std::atomic<int> computed{0};
  spec.ranks = 1;
  EXPECT_EQ(run(make_program(Says{&computed}), spec, 1).verdict, Verdict::passed);
  EXPECT_EQ(computed, 0);
}

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
