// SPDX-License-Identifier: Apache-2.0
//
// Programs on simulated chips whose control plane may be disturbed at every access: the results stay exact, a seed
// stays a run, and what is found is shown again.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/sanitizer.hpp"
#include "cli/program_loader.hpp"
#include "lab/run.hpp"
#include "lab/seeds.hpp"
#include "lab/strategies/strategies.hpp"
#include "tests/child.hpp"

namespace heddle {
namespace {

using lab::Fidelity;
using lab::RunResult;
using lab::RunSpec;
using lab::Verdict;
using Json = nlohmann::json;
using Settings = std::vector<std::pair<std::string, std::string>>;

std::shared_ptr<ProgramBase> program(const std::string& name, const std::string& folder, const Settings& settings) {
  auto made = cli::find_program(name, cli::program_folders({folder})).create();
  ParameterList list;
  made->parameters(list);
  for (const auto& [key, value] : settings) list.set(key, value);
  return made;
}

std::shared_ptr<ProgramBase> isolation(const std::string& variant) {
  return program("tp_isolation", HEDDLE_TEST_PROGRAM_DIR,
                 {{"variant", variant}, {"width", "8"}, {"skew_iterations", "10"}});
}

RunSpec spec_of(const std::string& chip, int ranks, std::int64_t rounds, Fidelity fidelity = Fidelity::protocol) {
  RunSpec spec;
  spec.chip = chip;
  spec.ranks = ranks;
  spec.rounds = rounds;
  spec.fidelity = fidelity;
  for (const auto& checker : lab::checker_names()) spec.checkers.push_back(checker.name);
  return spec;
}

RunResult run(const std::shared_ptr<ProgramBase>& made, const RunSpec& spec, std::uint64_t seed,
              const std::string& strategy = "random") {
  return lab::run_once(made, spec, *lab::make_strategy(strategy), seed);
}

TEST(ProtocolFidelity, ResultsAreExactOnEveryChipUnderEveryCheckerAndStrategy) {
  for (const char* variant : {"atomic_compact", "payload_compact", "payload_set", "split_phase"}) {
    const auto made = isolation(variant);
    for (const char* chip : {"a2a3", "a5", "ideal"}) {
      for (const char* strategy : {"random", "pct", "delay", "walk"}) {
        const std::uint64_t seeds = lab::seeds(5);
        for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
          const RunResult result = run(made, spec_of(chip, 4, 2), seed, strategy);
          ASSERT_EQ(result.verdict, Verdict::passed)
              << variant << " on " << chip << ", " << strategy << " seed " << seed << ": " << result.sentence;
          EXPECT_EQ(result.rounds_done, 2);
        }
      }
    }
  }
}

TEST(ProtocolFidelity, IsTheSameRunForTheSameSeedAndAnotherThanAtProgramFidelity) {
  const auto made = isolation("payload_compact");
  std::set<std::uint64_t> hashes;
  for (const char* strategy : {"random", "pct", "delay", "walk"}) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      const RunSpec spec = spec_of("a2a3", 4, 2);
      const RunResult once = run(made, spec, seed, strategy), again = run(made, spec, seed, strategy);
      EXPECT_EQ(once.trace_hash, again.trace_hash) << strategy << " seed " << seed;
      EXPECT_EQ(once.virtual_ns, again.virtual_ns) << strategy << " seed " << seed;
      const RunResult program = run(made, spec_of("a2a3", 4, 2, Fidelity::program), seed, strategy);
      EXPECT_NE(once.trace_hash, program.trace_hash) << strategy << " seed " << seed;
      EXPECT_EQ(once.program_hash, program.program_hash) << "the same tasks and edges";
      hashes.insert(once.trace_hash);
    }
  }
  EXPECT_EQ(hashes.size(), 12U) << "different seeds and strategies are different runs";
}

TEST(ProtocolFidelity, EveryShippedProgramIsExact) {
  for (const char* name : {"vector_add", "stencil", "tiled_matmul", "tiled_cholesky", "broadcast", "allgather",
                           "reduce_scatter", "allreduce", "all_to_all"}) {
    const auto made = program(name, HEDDLE_TEST_PROGRAM_DIR, {});
    const RunResult result = run(made, spec_of("a2a3", made->defaults().ranks, 1), 3);
    EXPECT_EQ(result.verdict, Verdict::passed) << name << ": " << result.sentence;
  }
}

struct FaultCase {
  const char* fault;
  Verdict verdict;
};

class OneFaultAtProtocolFidelity : public testing::TestWithParam<FaultCase> {};

TEST_P(OneFaultAtProtocolFidelity, GivesItsOwnVerdictWithEverySeed) {
  const auto made = isolation("payload_compact");
  RunSpec spec = spec_of("a2a3", 4, 2);
  spec.checkers.clear();
  spec.faults = {{GetParam().fault, 1}};
  const std::uint64_t seeds = lab::seeds(20);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    for (const char* strategy : {"random", "walk"}) {
      const RunResult result = run(made, spec, seed, strategy);
      if (result.faults.empty()) {
        EXPECT_EQ(result.verdict, Verdict::passed) << strategy << " seed " << seed << ": " << result.sentence;
      } else {
        EXPECT_EQ(result.verdict, GetParam().verdict) << strategy << " seed " << seed << ": " << result.sentence;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, OneFaultAtProtocolFidelity,
                         testing::Values(FaultCase{"lost_notify", Verdict::deadlock},
                                         FaultCase{"stalled_core", Verdict::core_stalled},
                                         FaultCase{"unacknowledged_dispatch", Verdict::no_progress},
                                         FaultCase{"throwing_kernel", Verdict::failed},
                                         FaultCase{"dying_rank", Verdict::failed},
                                         FaultCase{"late_rank", Verdict::slow}),
                         [](const auto& one) { return std::string(one.param.fault); });

// As a user goes: hunt, replay, shrink, replay of the small one.
TEST(ProtocolFidelity, ACaseIsFoundShownAgainByTheSameTraceAndMadeSmallByTheCommand) {
  const test::TemporaryFolder folder;
  const std::vector<std::string> path{"--program-path", HEDDLE_TEST_CASE_DIR, "--json"};
  const auto command = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), path.begin(), path.end());
    return test::run_command(arguments);
  };
  const test::Outcome hunted =
      command({"hunt", "moe_missing_edge", "--on", "lab:a2a3", "--chip-set", "clusters=1", "--ranks", "4", "--fidelity",
               "protocol", "--budget", "2000", "--out", folder.path() + "/"});
  ASSERT_EQ(hunted.exit_code, 1) << hunted.err;
  const Json found = Json::parse(hunted.out);
  EXPECT_EQ(found.at("name"), "core_deadlock");
  EXPECT_EQ(found.at("repeatable"), true);
  const std::string file = found.at("file");
  const test::Outcome shown = command({"replay", file});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_EQ(Json::parse(shown.out).at("same_trace"), true);
  EXPECT_EQ(Json::parse(shown.out).at("trace_hash"), found.at("trace_hash"));
  const test::Outcome shrunk = command({"shrink", file, "--budget", "400"});
  ASSERT_EQ(shrunk.exit_code, 0) << shrunk.err;
  const std::string small = Json::parse(shrunk.out).at("file");
  const test::Outcome again = command({"replay", small});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(Json::parse(again.out).at("same_trace"), true);
}

}  // namespace
}  // namespace heddle
