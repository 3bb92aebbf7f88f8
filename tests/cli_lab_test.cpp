// SPDX-License-Identifier: Apache-2.0
//
// The laboratory by the command: run, hunt, replay and shrink, as a user goes from one to the next.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lab/failure_file.hpp"
#include "tests/child.hpp"

namespace heddle::test {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

Json json_of(const Outcome& outcome) { return Json::parse(outcome.out); }

TEST(LabRun, TheSameSeedGivesTheSameTrace) {
  const std::vector<std::string> arguments{"run", "vector_add", "--on", "lab:a2a3", "--seed", "7", "--json"};
  const Outcome first = run_command(arguments), second = run_command(arguments);
  EXPECT_EQ(first.exit_code, 0) << first.err;
  const Json json = json_of(first);
  EXPECT_EQ(json.at("passed"), true);
  EXPECT_EQ(json.at("verdict"), "PASSED");
  EXPECT_EQ(json.at("code"), 0);
  EXPECT_EQ(json.at("name"), "ok");
  EXPECT_EQ(json.at("seed"), 7);
  EXPECT_GT(json.at("events"), 0);
  EXPECT_GT(json.at("virtual_ns"), 0);
  EXPECT_EQ(json.at("trace_hash"), json_of(second).at("trace_hash"));
}

TEST(LabRun, ShowsSeedAndHashInItsTable) {
  const Outcome outcome = run_command({"run", "vector_add", "--on", "lab:a2a3", "--seed", "12345"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("trace hash"));
  EXPECT_THAT(outcome.out, HasSubstr("12345"));
}

TEST(LabList, ShowsWhatTheLaboratoryHas) {
  const Outcome outcome = run_command({"list"});
  for (const char* name : {"lab:a2a3", "lab:a5", "pct", "lost_notify", "races"})
    EXPECT_THAT(outcome.out, HasSubstr(name));
  const Json json = json_of(run_command({"list", "--json"}));
  for (const char* key : {"strategies", "faults", "checkers"}) EXPECT_FALSE(json.at(key).empty()) << key;
}

TEST(LabHunt, RunsItsBudgetAndFindsNothing) {
  const TemporaryFolder folder;
  const Outcome outcome = run_command({"hunt", "vector_add", "--budget", "20", "--out", folder.path(), "--json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json json = json_of(outcome);
  EXPECT_EQ(json.at("passed"), true);
  EXPECT_EQ(json.at("schedules"), 20);
  EXPECT_EQ(json.at("failures"), 0);
  EXPECT_EQ(json.at("file"), nullptr);
  EXPECT_TRUE(folder.is_empty());
}

class LabFailure : public testing::Test {
 protected:
  void SetUp() override {
    const Outcome outcome =
        run_command({"hunt", module_path("deadlock"), "--budget", "1000", "--out", folder_.path() + "/", "--json"});
    ASSERT_EQ(outcome.exit_code, 1) << outcome.err;
    found_ = json_of(outcome);
    file_ = found_.at("file");
  }
  TemporaryFolder folder_;
  Json found_;
  std::string file_;
};

TEST_F(LabFailure, IsNamedByTheProgramAndTheSeed) {
  EXPECT_EQ(found_.at("name"), "signal_deadlock");
  EXPECT_EQ(found_.at("repeatable"), true);
  EXPECT_EQ(file_, folder_.file("deadlock-" + found_.at("seed").dump() + ".heddle"));
}

TEST_F(LabFailure, IsShownAgainByTheSameTrace) {
  const Outcome outcome = run_command({"replay", file_, "--json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json json = json_of(outcome);
  EXPECT_EQ(json.at("same_failure"), true);
  EXPECT_EQ(json.at("same_trace"), true);
  EXPECT_EQ(json.at("trace_hash"), found_.at("trace_hash"));
  EXPECT_THAT(run_command({"replay", file_}).out, HasSubstr("the same failure, by the same trace"));
}

TEST_F(LabFailure, IsMadeSmallerAndIsStillShown) {
  const Outcome outcome = run_command({"shrink", file_, "--json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json json = json_of(outcome);
  EXPECT_EQ(json.at("name"), "signal_deadlock");
  EXPECT_EQ(json.at("minimal"), true);
  EXPECT_LE(json.at("after").at("choices"), json.at("before").at("choices"));
  const std::string small = json.at("file");
  EXPECT_THAT(small, testing::EndsWith("-small.heddle"));
  EXPECT_EQ(run_command({"replay", small}).exit_code, 0);
}

TEST_F(LabFailure, ByAnotherTraceIsNotTheSame) {
  lab::Failure failure = lab::read_failure(file_);
  failure.trace_hash ^= 1U;
  failure.program_hash ^= 1U;
  lab::write_failure(file_, failure);
  const Outcome outcome = run_command({"replay", file_});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("the program has changed"));
  EXPECT_THAT(outcome.err, HasSubstr("the trace hash is"));
}

TEST_F(LabFailure, ThatAnotherProgramDoesNotHaveIsNotShown) {
  lab::Failure failure = lab::read_failure(file_);
  failure.program = "vector_add";
  failure.module.clear();
  failure.spec.ranks = 1;
  lab::write_failure(file_, failure);
  const Outcome outcome = run_command({"replay", file_});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("the verdict is PASSED, the file has DEADLOCK (proved)"));
  EXPECT_EQ(run_command({"shrink", file_}).exit_code, 1);
  EXPECT_FALSE(std::filesystem::exists(folder_.file("deadlock-" + found_.at("seed").dump() + "-small.heddle")));
}

TEST(LabHunt, NamesTheKernelThatBlocksTheThread) {
  const TemporaryFolder folder;
  for (const std::vector<std::string>& first :
       {std::vector<std::string>{"hunt", module_path("blocks"), "--out", folder.path()},
        std::vector<std::string>{"run", module_path("blocks"), "--on", "lab:a2a3"}}) {
    std::vector<std::string> arguments = first;
    arguments.insert(arguments.end(), {"--patience", "200ms"});
    const Outcome outcome = run_command(arguments);
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_TRUE(is_one_line(outcome.err)) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("the kernel of task \"sleeper\", rank 0"));
  }
  EXPECT_TRUE(folder.is_empty());
}

TEST(LabHunt, EndsInOrderWhenItIsInterrupted) {
  const TemporaryFolder folder;
  ChildOptions options;
  options.terminal = true;
  Child child({"hunt", "vector_add", "--budget", "1h", "--out", folder.path()}, options);
  ASSERT_TRUE(child.wait_for(" schedules"));
  child.send(SIGINT);
  const Outcome outcome = child.finish();
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("interrupted, nothing found until then"));
}

}  // namespace
}  // namespace heddle::test
