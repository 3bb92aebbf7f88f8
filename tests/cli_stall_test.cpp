// SPDX-License-Identifier: Apache-2.0
//
// A kernel that runs for too long, as the command tells it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <heddle/error.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/child.hpp"

namespace heddle::test {
namespace {

using Json = nlohmann::json;
using testing::EndsWith;
using testing::HasSubstr;

TEST(CommandRun, KernelThatRunsTooLongIsNamedWithItsLineAndTheOthersAreIdle) {
  const Outcome outcome = run_command({"run", module_path("stuck"), "--ranks", "1", "--threads", "3", "--json",
                                       "--scheduler-timeout", "50", "--operation-timeout", "200"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("stuck_in_calls"));
  EXPECT_THAT(outcome.err, HasSubstr("idle in the dispatcher"));
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json.at("code"), static_cast<int>(Code::core_stalled));
  EXPECT_EQ(json.at("verdict"), "CORE STALLED");
  const Json& workers = json.at("workers");
  ASSERT_EQ(workers.size(), 3U);
  int stuck = 0;
  for (const Json& worker : workers) {
    if (worker.at("state") == "idle") continue;
    ++stuck;
    EXPECT_EQ(worker.at("state"), "kernel");
    EXPECT_EQ(worker.at("stuck"), true);
    EXPECT_EQ(worker.at("rank"), 0);
    EXPECT_EQ(worker.at("task"), "lingers");
    EXPECT_EQ(worker.at("block"), 1);
    EXPECT_EQ(worker.at("function"), "stuck_in_calls");
    EXPECT_THAT(worker.at("at").get<std::string>(), HasSubstr("tests/modules/stuck.cpp:"));
    EXPECT_THAT(worker.at("submitted").get<std::string>(), HasSubstr("stuck.cpp:"));
    EXPECT_THAT(worker.at("instruction").get<std::string>(), EndsWith(" in stuck.so"));
    EXPECT_FALSE(worker.at("stack").empty());
  }
  EXPECT_EQ(stuck, 1);
}

TEST(CommandRun, TimeoutsOutOfOrderAreNamedWithTheirValuesOnTheHostAndOnAChip) {
  for (const char* const backend : {"host", "lab:a2a3", "lab:host"}) {
    const Outcome outcome = run_command({"run", module_path("stuck"), "--on", backend, "--tensor-timeout", "20"});
    EXPECT_EQ(outcome.exit_code, 2) << backend;
    EXPECT_THAT(outcome.err, HasSubstr("scheduler (10000 ms) must be less than tensor_access (20 ms)")) << backend;
  }
}

}  // namespace
}  // namespace heddle::test
