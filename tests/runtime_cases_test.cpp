// SPDX-License-Identifier: Apache-2.0
//
// The gallery's faults of runtimes: with the fault put into this one, its program fails, and the failure is found by
// the same hunt that finds nothing without it, and told as what it is.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "cli/case_run.hpp"
#include "lab/lab_environment.hpp"
#include "lab/mutant_search.hpp"
#include "lab/seeds.hpp"

namespace heddle {
namespace {

constexpr std::uint64_t hunted = 2'000;  // schedules at most for a fault to be found

struct Known {
  const char* name;
  const char* fault;
  const char* verdict;
  const char* told;  // part of the sentence
};

// A hunt for the fault with one strategy, or with all of the case's: the verdict is empty when nothing was found.
cli::CaseRun hunt(cli::CaseFile about, const cli::FoundProgram& program, std::uint64_t seed,
                  const std::string& strategy = "") {
  if (!strategy.empty()) about.strategies = {strategy};
  cli::CaseConfig config;
  config.seed = seed;
  config.pass.runs = hunted;
  return cli::run_case(about, program, config);
}

// A row of docs/mutants.md for each strategy, when it is asked for.
void print_rows(const Known& known, const cli::CaseFile& about, const cli::FoundProgram& program) {
  const std::uint64_t starts = lab::mutant_starts();
  if (starts == 0) return;
  for (const std::string& strategy : about.strategies) {
    lab::MutantEffort effort;
    std::uint64_t missed = 0;
    std::string verdict;
    for (std::uint64_t start = 0; start < starts; ++start) {
      const auto began = std::chrono::steady_clock::now();
      const cli::CaseRun run = hunt(about, program, start * lab::between_mutant_starts + 1, strategy);
      missed += run.differs.empty() ? 1 : 0;
      if (!run.differs.empty()) verdict = run.verdict;
      effort.add(run.differs.empty() ? hunted : run.passed + 1, began);
    }
    const std::string how = verdict.empty() ? "never in " + std::to_string(hunted) : std::to_string(effort.tries());
    const std::string of = missed != 0 && !verdict.empty() ? ", not from " + std::to_string(missed) + " starts" : "";
    std::printf("| `%s` | `%s` | `%s` | %s | %s%s | %s |\n", known.fault, known.name, strategy.c_str(),
                verdict.empty() ? "-" : ("`" + verdict + "`").c_str(), how.c_str(), of.c_str(), effort.ms().c_str());
    std::fflush(stdout);
  }
}

class RuntimeCase : public testing::TestWithParam<Known> {};

TEST_P(RuntimeCase, IsFoundWithTheFaultPutInAndPassesWithoutIt) {
  const Known& known = GetParam();
  const cli::FoundProgram program = cli::find_program(known.name, {HEDDLE_TEST_CASE_DIR});
  const cli::CaseFile about =
      cli::read_case(std::string(HEDDLE_TEST_SOURCE_DIR) + "/cases/" + known.name + "/case.json");
  ASSERT_EQ(about.kind, "runtime");
  cli::CaseConfig config;
  config.pass.runs = lab::seeds(200);
  EXPECT_TRUE(cli::run_case(about, program, config).is_as_expected());

  const base::mutants::Scope fault(known.fault);
  const cli::CaseRun broken = hunt(about, program, config.seed);
  ASSERT_FALSE(broken.differs.empty());
  EXPECT_EQ(broken.verdict, known.verdict) << broken.sentence;
  EXPECT_NE(broken.sentence.find(known.told), std::string::npos) << broken.sentence;
  EXPECT_NE(broken.differs.front().find("what is right fails at seed"), std::string::npos) << broken.differs.front();
  print_rows(known, about, program);
}

// Where each access of the control plane is a step of its own.
TEST_P(RuntimeCase, IsToldTheSameAtProtocolFidelity) {
  const Known& known = GetParam();
  const cli::FoundProgram program = cli::find_program(known.name, {HEDDLE_TEST_CASE_DIR});
  cli::CaseFile about = cli::read_case(std::string(HEDDLE_TEST_SOURCE_DIR) + "/cases/" + known.name + "/case.json");
  about.spec.fidelity = lab::Fidelity::protocol;
  const base::mutants::Scope fault(known.fault);
  const cli::CaseRun broken = hunt(about, program, 1);
  ASSERT_FALSE(broken.differs.empty());
  EXPECT_EQ(broken.verdict, known.verdict) << broken.sentence;
  EXPECT_NE(broken.sentence.find(known.told), std::string::npos) << broken.sentence;
}

constexpr const char* unexplained = "NOT EXPLAINED BY THE PROGRAM";

INSTANTIATE_TEST_SUITE_P(
    Cases, RuntimeCase,
    testing::Values(Known{"halves_apart", "chip_halves_apart", "DEADLOCK (proved)", "half"},
                    Known{"gates_fill_cores", "chip_gates_fill_cores", "DEADLOCK (proved)", "behind a gate"},
                    Known{"lost_ready_task", "chip_lost_ready_task", unexplained, "it was lost"},
                    Known{"drain_aba", "chip_drain_aba", "DEADLOCK (proved)", "held by a block that waits"},
                    Known{"drain_no_exit", "chip_drain_no_exit", unexplained, "kept back by the drain for cohort"},
                    Known{"queue_full_spins", "chip_queue_full_spins", "LIVELOCK (proved)",
                          "asks for ever for room in the queue of candidates"},
                    Known{"overtaken_gang", "chip_overtaken_gang", "STARVED (proved)", "task cohort of rank 0"},
                    Known{"parked_ring", "ring_parked", "DEADLOCK (proved)", "heap_ring_deadlock"},
                    Known{"disjoint_views", "region_bounding_box", "DEADLOCK (proved)", "signal_deadlock"}),
    [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace heddle
