// SPDX-License-Identifier: Apache-2.0
//
// heddle repair: from a failure that was hunted to a change with which the same schedules pass.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lab/failure_file.hpp"
#include "tests/child.hpp"

namespace heddle::test {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

std::vector<std::string> in_cases(std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"--program-path", HEDDLE_TEST_CASE_DIR, "--json"});
  return arguments;
}

class Repair : public testing::Test {
 protected:
  // Hunts the case, and gives what is said of its failure.
  Json repaired(const std::string& name, std::vector<std::string> options, int exit_code = 0) {
    std::vector<std::string> hunt{"hunt", name, "--budget", "2000", "--out", folder_.path() + "/"};
    hunt.insert(hunt.end(), options.begin(), options.end());
    const Outcome hunted = run_command(in_cases(hunt));
    EXPECT_EQ(hunted.exit_code, 1) << hunted.err;
    file_ = Json::parse(hunted.out).at("file");
    const Outcome outcome = run_command(in_cases({"repair", file_, "--budget", "100"}));
    EXPECT_EQ(outcome.exit_code, exit_code) << outcome.err;
    Json json = Json::parse(outcome.out);
    EXPECT_EQ(json.at("same_failure"), true);
    EXPECT_EQ(json.at("complete"), true);
    EXPECT_EQ(json.at("schedules"), 100);
    EXPECT_GT(json.at("failures"), 0);
    return json;
  }
  static const Json* named(const Json& json, const std::string& change) {
    for (const Json& each : json.at("repairs"))
      if (each.at("change").get<std::string>().starts_with(change)) return &each;
    return nullptr;
  }

  TemporaryFolder folder_;
  std::string file_;
};

TEST_F(Repair, FindsTheEdgeThatIsMissing) {
  const Json json = repaired("moe_missing_edge", {"--chip-set", "clusters=1"});
  const Json* const edge = named(json, "edge combine_notify -> dispatch_meta");
  ASSERT_NE(edge, nullptr) << json;
  EXPECT_EQ(edge->at("proved"), true);
  EXPECT_EQ(edge->at("schedules"), 100);
  const Outcome text = run_command({"repair", file_, "--budget", "20", "--program-path", HEDDLE_TEST_CASE_DIR});
  EXPECT_THAT(text.out, HasSubstr("submit dispatch_meta with after(…) of the tasks combine_notify"));
}

TEST_F(Repair, FindsTheLeastTaskWindow) {
  const Json json = repaired("window_32", {"--task-window", "32"});
  const Json* const size = named(json, "--task-window ");
  ASSERT_NE(size, nullptr) << json;
  const int least = std::stoi(size->at("change").get<std::string>().substr(14));
  const auto run = [&](int window) {
    return run_command(in_cases({"run", "window_32", "--on", "lab:a2a3", "--task-window", std::to_string(window)}))
        .exit_code;
  };
  EXPECT_EQ(run(least), 0);
  EXPECT_EQ(run(least - 1), 1);
}

TEST_F(Repair, FindsTheNotifyThatOvertakes) {
  const Json json = repaired("signal_overtakes_data", {});
  ASSERT_NE(named(json, "released notifies"), nullptr) << json;
}

TEST_F(Repair, FindsNoneForRanksThatWaitForEachOther) {
  const Json json = repaired("circular_handshake", {}, 1);
  EXPECT_TRUE(json.at("repairs").empty()) << json;
  EXPECT_GT(json.at("tried"), 0);
}

TEST_F(Repair, TriesNothingWhenTheFailureIsGone) {
  repaired("window_32", {"--task-window", "32"});
  lab::Failure failure = lab::read_failure(file_);
  failure.settings.emplace_back("repaired", "true");
  lab::write_failure(file_, failure);
  const Outcome outcome = run_command(in_cases({"repair", file_}));
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("the failure was not shown again: the verdict is PASSED"));
  EXPECT_EQ(Json::parse(outcome.out).at("runs"), 1);
}

}  // namespace
}  // namespace heddle::test
