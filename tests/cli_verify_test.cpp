// SPDX-License-Identifier: Apache-2.0
//
// heddle run --records and heddle verify, as a user goes from one to the other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/bad_input.hpp"
#include "tests/child.hpp"

namespace heddle::test {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

class Verify : public testing::Test {
 protected:
  std::vector<std::string> recorded(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{"run", "stencil", "--on", "lab:a2a3", "--ranks", "2", "--records", file_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = run_command(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return lines();
  }
  std::vector<std::string> lines() const {
    std::ifstream in(file_);
    std::vector<std::string> all;
    for (std::string line; std::getline(in, line);) all.push_back(line);
    return all;
  }
  void write(const std::vector<std::string>& all) const {
    std::ofstream out(file_, std::ios::trunc);
    for (const std::string& line : all) out << line << "\n";
  }

  TemporaryFolder folder_;
  std::string file_ = folder_.file("stencil.jsonl");
};

TEST_F(Verify, ProvesWhatARunHasWritten) {
  const auto written = recorded();
  const Json first = Json::parse(written.front()), second = Json::parse(written[1]);
  EXPECT_EQ(first.at("program"), "stencil");
  EXPECT_EQ(second.at("what"), "hand_over");
  for (const char* key : {"time", "task", "block", "core", "token"}) EXPECT_TRUE(second.contains(key)) << key;
  const Outcome outcome = run_command({"verify", file_});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  for (const char* text : {"stencil on lab:a2a3, 2 ranks", "once", "paired", "continuous", "frozen", "holds"})
    EXPECT_THAT(outcome.out, HasSubstr(text));
  const Json json = Json::parse(run_command({"verify", file_, "--json"}).out);
  EXPECT_EQ(json.at("passed"), true);
  EXPECT_EQ(json.at("hand_overs").get<std::size_t>() * 3, written.size() - 2);
  EXPECT_EQ(json.at("rules").at("once"), true);
  EXPECT_TRUE(json.at("broken").empty());
}

TEST_F(Verify, TheRunSaysWhereItsRecordsAre) {
  const Outcome outcome = run_command({"run", "vector_add", "--on", "lab:ideal", "--records", file_});
  EXPECT_THAT(outcome.out, HasSubstr("heddle verify " + file_));
  const Json json =
      Json::parse(run_command({"run", "vector_add", "--on", "lab:ideal", "--records", file_, "--json"}).out);
  EXPECT_EQ(json.at("records"), file_);
}

TEST_F(Verify, ABlockThatIsHandedOverTwiceIsNamedWithItsLine) {
  auto all = recorded();
  auto again = Json::parse(all[1]);
  again["token"] = 1'000'000;
  all.insert(all.end() - 1, again.dump());
  write(all);
  const Outcome outcome = run_command({"verify", file_});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("line " + std::to_string(all.size() - 1) + ": once: "));
  EXPECT_THAT(outcome.err, HasSubstr("is handed over a second time"));
  EXPECT_THAT(outcome.err, HasSubstr("edited after it was written"));
  EXPECT_THAT(outcome.out, HasSubstr("broken"));
  const Json json = Json::parse(run_command({"verify", file_, "--json"}).out);
  EXPECT_EQ(json.at("passed"), false);
  EXPECT_EQ(json.at("rules").at("once"), false);
  EXPECT_EQ(json.at("broken").at(0).at("line"), all.size() - 1);
}

TEST_F(Verify, AnEditThatBreaksNoRuleIsRefusedAllTheSame) {
  auto all = recorded();
  auto later = Json::parse(all[1]);
  later["time"] = later.at("time").get<std::uint64_t>() + 1;
  all[1] = later.dump();
  write(all);
  expect_refused_in_one_line({"edited", {"verify", file_}, {file_, "edited after it was written"}});
}

TEST_F(Verify, OfARunThatFailedHoldsToo) {
  const Outcome run = run_command({"run", module_path("deadlock"), "--on", "lab:a2a3", "--records", file_, "--json"});
  const Outcome outcome = run_command({"verify", file_, "--json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(Json::parse(outcome.out).at("freezes") > 0, run.exit_code != 0);
}

TEST_F(Verify, AReplayWritesThemToo) {
  const Outcome hunt = run_command(
      {"hunt", module_path("deadlock"), "--budget", "1000", "--out", folder_.file("failure.heddle"), "--json"});
  ASSERT_EQ(hunt.exit_code, 1) << hunt.err;
  const Outcome replay = run_command({"replay", folder_.file("failure.heddle"), "--records", file_});
  EXPECT_EQ(replay.exit_code, 0) << replay.err;
  EXPECT_THAT(replay.out, HasSubstr("heddle verify " + file_));
  EXPECT_EQ(run_command({"verify", file_}).exit_code, 0);
}

TEST_F(Verify, WhatCannotBeDoneIsRefusedInOneLine) {
  const auto refused = [](const std::vector<std::string>& arguments, const std::vector<std::string>& says) {
    expect_refused_in_one_line({"", arguments, says});
  };
  refused({"verify"}, {"say which file to verify", "--records"});
  refused({"verify", file_}, {file_, "No such file"});
  refused({"run", "vector_add", "--records", file_}, {"--records", "host", "--on lab:a2a3"});
  refused({"run", "vector_add", "--on", "lab:host", "--records", file_}, {"--records", "lab:host", "--on lab:a2a3"});
  refused({"run", "vector_add", "--on", "lab:a2a3", "--records", folder_.path()}, {"--records", "it is a folder"});
  refused({"run", "vector_add", "--on", "lab:a2a3", "--records", ""}, {"--records", "name is empty"});
  auto all = recorded();
  all.pop_back();
  write(all);
  refused({"verify", file_}, {"line " + std::to_string(all.size() + 1), "cut off"});
}

}  // namespace
}  // namespace heddle::test
