// SPDX-License-Identifier: Apache-2.0
//
// heddle ladder on programs whose fault is known: the layer that it needs is named, and what has nothing to do with it
// is excluded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/child.hpp"

namespace heddle::test {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

struct Known {
  std::string program;
  std::vector<std::string> options;
  std::string budget;  // schedules
  std::vector<std::string> involved, excluded;
};

class LadderOf : public testing::TestWithParam<Known> {};

TEST_P(LadderOf, NamesTheLayer) {
  const Known& known = GetParam();
  std::vector<std::string> arguments{"ladder", known.program, "--budget", known.budget, "--json"};
  arguments.insert(arguments.end(), known.options.begin(), known.options.end());
  const Outcome outcome = run_command(arguments);
  ASSERT_EQ(outcome.exit_code, 1) << outcome.err;
  const Json found = Json::parse(outcome.out);
  std::map<std::string, std::string> standings;
  for (const Json& rung : found.at("rungs")) {
    standings[rung.at("name")] = rung.at("standing");
    if (rung.at("standing") == "excluded" || rung.at("standing") == "involved") {
      EXPECT_GE(rung.at("confidence").get<double>(), 0.95) << rung;
    }
  }
  for (const std::string& name : known.involved)
    EXPECT_EQ(standings[name], "involved") << name << "\n" << found.dump(1);
  for (const std::string& name : known.excluded)
    EXPECT_EQ(standings[name], "excluded") << name << "\n" << found.dump(1);
  const std::string conclusion = found.at("conclusion");
  EXPECT_THAT(conclusion, HasSubstr("the failure depends on"));
  for (const Json& rung : found.at("rungs")) {
    if (rung.at("standing") != "involved") continue;
    EXPECT_THAT(conclusion, HasSubstr(rung.at("layer").get<std::string>()));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, LadderOf,
    testing::Values(Known{"moe_missing_edge",
                          {"--chip-set", "clusters=1"},
                          "60",
                          {"width x4", "one rank", "repaired=true"},
                          {"early dispatch off", "rings x4", "values off", "no scalar caches", "ordered notifies"}},
                    Known{"signal_overtakes_data",
                          {},
                          "60",
                          {"ordered notifies", "repaired=true"},
                          {"rings x4", "width halved", "early dispatch off", "one scheduler", "ideal chip"}},
                    Known{"half_line",
                          {},
                          "60",
                          {"no scalar caches", "repaired=true"},
                          {"rings x4", "ordered notifies", "early dispatch off"}},
                    Known{"stale_epoch",
                          {},
                          "60",
                          {"windows zeroed", "one round", "one rank", "repaired=true"},
                          {"rings x4", "early dispatch off", "one card"}},
                    Known{"trip_count_diverges",
                          {},
                          "60",
                          {"no scalar caches", "repaired=true"},
                          {"rings x4", "early dispatch off", "flags and tiles x4"}},
                    Known{"tp_isolation",
                          {"--ranks", "4", "--rounds", "1", "--values", "off", "--faults", "lost_notify:1", "--set",
                           "rows=8", "--set", "width=64"},
                          "24",
                          {"without lost_notify"},
                          {"early dispatch off", "ordered notifies", "one card", "width halved"}}),
    [](const auto& one) { return one.param.program; });

TEST(Ladder, OfAHealthyProgramThereIsNothingToExplain) {
  const Outcome outcome = run_command({"ladder", "healthy_barrier", "--budget", "40"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("no failure in 40 schedules: there is nothing to explain"));
  const Json json = Json::parse(run_command({"ladder", "healthy_barrier", "--budget", "8", "--json"}).out);
  EXPECT_EQ(json.at("passed"), true);
  EXPECT_EQ(json.at("verdict"), "PASSED");
}

TEST(Ladder, ShowsATableAndOneSentenceForPeople) {
  const Outcome outcome = run_command(
      {"ladder", "signal_overtakes_data", "--budget", "100", "--try", "elements=16", "--set", "repaired=false"});
  EXPECT_EQ(outcome.exit_code, 1);
  for (const char* text :
       {"STALE READ", "ordered notifies", "elements=16", "excluded, 99", "involved, 99",
        "not tried:", "schedulers step by step (the fidelity is program)", "gone with ordered notifies"})
    EXPECT_THAT(outcome.out, HasSubstr(text));
  EXPECT_EQ(outcome.err, "");
}

TEST(Ladder, ATerminalIsShownHowFarItIs) {
  ChildOptions options;
  options.terminal = true;
  const Outcome outcome = run_command({"ladder", "tp_isolation", "--ranks", "4", "--rounds", "2", "--values", "off",
                                       "--budget", "1s", "--faults", "lost_notify:1"},
                                      options);
  EXPECT_THAT(outcome.err, HasSubstr("tp_isolation  as it is  "));
}

TEST(Ladder, WrongUseIsOneLine) {
  const auto refused = [](std::vector<std::string> arguments, const std::string& what) {
    arguments.insert(arguments.begin(), "ladder");
    const Outcome outcome = run_command(arguments);
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_TRUE(is_one_line(outcome.err)) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(what));
  };
  refused({}, "say which program to ladder");
  refused({"half_line", "--on", "host"}, "simulated chip");
  refused({"half_line", "--on", "lab:host"}, "simulated chip");
  refused({"half_line", "--strategy", "dfs"}, "dfs has no seeds");
  refused({"half_line", "--try", "repaired"}, "--try name=value");
  refused({"half_line", "--try", "repared=true"}, "repaired");
  refused({"half_line", "--budget", "0"}, "--budget");
  refused({"half_line", "--chip-set", "coherent_scalars=2"}, "allowed are 0 to 1");
}

}  // namespace
}  // namespace heddle::test
