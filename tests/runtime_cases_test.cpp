// SPDX-License-Identifier: Apache-2.0
//
// The gallery's faults of runtimes: with the fault put into this one, its program fails, and the failure is found by
// the same hunt that finds nothing without it.
#include <gtest/gtest.h>

#include <string>

#include "base/mutant.hpp"
#include "cli/case_run.hpp"
#include "lab/seeds.hpp"

namespace heddle {
namespace {

struct Known {
  const char* name;
  const char* fault;
};

class RuntimeCase : public testing::TestWithParam<Known> {};

TEST_P(RuntimeCase, IsFoundWithTheFaultPutInAndPassesWithoutIt) {
  const std::string name = GetParam().name;
  const std::vector<std::string> folders{HEDDLE_TEST_CASE_DIR};
  const cli::FoundProgram program = cli::find_program(name, folders);
  const cli::CaseFile about = cli::read_case(std::string(HEDDLE_TEST_SOURCE_DIR) + "/cases/" + name + "/case.json");
  ASSERT_EQ(about.kind, "runtime");
  cli::CaseConfig config;
  config.pass.runs = lab::seeds(200);
  EXPECT_TRUE(cli::run_case(about, program, config).is_as_expected());

  const base::mutants::Scope fault(GetParam().fault);
  config.pass.runs = 2'000;
  const cli::CaseRun broken = cli::run_case(about, program, config);
  ASSERT_FALSE(broken.differs.empty());
  EXPECT_NE(broken.differs.front().find("what is right fails at seed"), std::string::npos) << broken.differs.front();
  RecordProperty("found", broken.differs.front());
  RecordProperty("schedules", std::to_string(broken.passed + 1));
}

INSTANTIATE_TEST_SUITE_P(Cases, RuntimeCase,
                         testing::Values(Known{"halves_apart", "chip_halves_apart"},
                                         Known{"gates_fill_cores", "chip_gates_fill_cores"},
                                         Known{"lost_ready_task", "chip_lost_ready_task"},
                                         Known{"drain_aba", "chip_drain_aba"}),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace heddle
