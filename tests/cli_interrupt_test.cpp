// SPDX-License-Identifier: Apache-2.0
//
// Signals in the middle of a round. The module's kernel says when it runs: nothing here waits on a clock.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/child.hpp"

namespace heddle::test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

class CommandInterrupted : public testing::TestWithParam<int> {};

TEST_P(CommandInterrupted, StopsTheRoundSaysWhichAndLeavesNothingBehind) {
  const TemporaryFolder folder;
  Child child({"run", module_path("slow"), "--ranks", "2", "--rounds", "5", "--trace", folder.file("out.json")});
  ASSERT_TRUE(child.wait_for("slow: running\n"));
  child.send(GetParam());
  const Outcome outcome = child.finish();
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, EndsWith("heddle: interrupted in round 0, after 0 of 5 rounds\n"));
  EXPECT_THAT(outcome.out, HasSubstr("INTERRUPTED"));
  EXPECT_TRUE(folder.is_empty());
}

INSTANTIATE_TEST_SUITE_P(Signals, CommandInterrupted, testing::Values(SIGINT, SIGTERM, SIGHUP),
                         [](const auto& instance) {
                           return instance.param == SIGINT    ? "SIGINT"
                                  : instance.param == SIGTERM ? "SIGTERM"
                                                              : "SIGHUP";
                         });

TEST(CommandInterruptedTwice, EndsAtOnceThoughAKernelNeverReturns) {
  const TemporaryFolder folder;
  Child child({"run", module_path("slow"), "--set", "stubborn=true", "--trace", folder.file("out.json")});
  ASSERT_TRUE(child.wait_for("slow: running\n"));
  child.send(SIGINT);
  ASSERT_TRUE(child.wait_for("slow: cancelled\n"));
  child.send(SIGTERM);
  EXPECT_EQ(child.finish().exit_code, 1);
  EXPECT_TRUE(folder.is_empty());
}

TEST(CommandInterruptedAsJson, SaysSoInTheVerdict) {
  Child child({"run", module_path("slow"), "--json"});
  ASSERT_TRUE(child.wait_for("slow: running\n"));
  child.send(SIGINT);
  const Outcome outcome = child.finish();
  EXPECT_EQ(outcome.exit_code, 1);
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json.at("passed"), false);
  EXPECT_EQ(json.at("verdict"), "INTERRUPTED");
  EXPECT_EQ(json.at("threads").is_number(), true);
}

}  // namespace
}  // namespace heddle::test
