// SPDX-License-Identifier: Apache-2.0
//
// Wrong use of what runs in the laboratory: a line that says what to do, exit code 2, and nothing left behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lab/failure_file.hpp"
#include "tests/bad_input.hpp"
#include "tests/child.hpp"

namespace heddle::test {
namespace {

using testing::HasSubstr;

std::vector<BadInput> bad_inputs() {
  const auto with = [](std::vector<std::string> first, std::vector<std::string> more) {
    first.insert(first.end(), more.begin(), more.end());
    return first;
  };
  const auto run = [&](std::vector<std::string> more) { return with({"run", "vector_add"}, std::move(more)); };
  const auto lab = [&](std::vector<std::string> more) {
    return with({"run", "vector_add", "--on", "lab:a2a3"}, std::move(more));
  };
  const auto hunt = [&](std::vector<std::string> more) { return with({"hunt", "vector_add"}, std::move(more)); };
  return {
      {"UnknownChip", run({"--on", "lab:a2a4"}), {"lab:a2a4", "did you mean \"lab:a2a3\""}},
      {"SeedOnTheHost", run({"--seed", "3"}), {"--seed", "--on lab:a2a3"}},
      {"FaultsOnTheHost", run({"--faults", "lost_notify"}), {"--faults", "--on lab:a2a3"}},
      {"ChipSetOnTheHost", run({"--chip-set", "clusters=2"}), {"--chip-set", "--on lab:a2a3"}},
      {"ThreadsInTheLab", lab({"--threads", "2"}), {"--threads", "host"}},
      {"TraceOfTheSteppedHost", run({"--on", "lab:host", "--trace", "out.json"}), {"--trace", "--on lab:a2a3"}},
      {"TraceInNoFolder", lab({"--trace", "/nowhere/out.json"}), {"--trace", "No such file"}},
      {"SeveralStrategiesOfOneRun", lab({"--strategy", "random,pct"}), {"--strategy", "one strategy"}},
      {"SeedNoNumber", lab({"--seed", "seven"}), {"--seed", "whole number"}},
      {"SeedNegative", lab({"--seed", "-1"}), {"--seed", "whole number"}},
      {"ChipConstantUnknown", lab({"--chip-set", "clsters=2"}), {"clsters"}},
      {"ChipConstantWithoutValue", lab({"--chip-set", "clusters"}), {"--chip-set clusters=2"}},
      {"ChipConstantNegative", lab({"--chip-set", "clusters=-1"}), {"clusters", "whole number"}},
      {"ChipConstantZero", lab({"--chip-set", "clusters=0"}), {"clusters"}},
      {"FaultUnknown", lab({"--faults", "lost_notfy:1"}), {"lost_notfy", "did you mean \"lost_notify\""}},
      {"FaultTwice", lab({"--faults", "lost_notify:1,lost_notify:2"}), {"lost_notify", "twice"}},
      {"FaultNever", lab({"--faults", "lost_notify:0"}), {"lost_notify", "from 1 to 1000"}},
      {"FaultWithoutName", lab({"--faults", "lost_notify,"}), {"--faults", "commas"}},
      {"CheckerUnknown", lab({"--checkers", "race"}), {"race", "did you mean \"races\""}},
      {"CheckersAllAndSome", lab({"--checkers", "races,all"}), {"--checkers", "give all alone"}},
      {"StrategyUnknown", lab({"--strategy", "randm"}), {"randm", "did you mean \"random\""}},
      {"FidelityUnknown", lab({"--fidelity", "exact"}), {"--fidelity", "protocol or program"}},
      {"ValuesNeither", lab({"--values", "maybe"}), {"--values", "on or off"}},
      {"PatienceNoTime", lab({"--patience", "30"}), {"--patience", "60s"}},
      {"HuntWithoutProgram", {"hunt"}, {"say which program", "heddle hunt --help"}},
      {"HuntUnknownProgram", {"hunt", "vector_ad"}, {"vector_ad", "did you mean \"vector_add\""}},
      {"HuntOnTheHost", hunt({"--on", "host"}), {"--on host", "lab:a2a3"}},
      {"HuntOnNothing", hunt({"--on", "lab:a6"}), {"lab:a6", "did you mean"}},
      {"BudgetZero", hunt({"--budget", "0"}), {"--budget", "from 1"}},
      {"BudgetZeroSeconds", hunt({"--budget", "0s"}), {"--budget", "more than zero"}},
      {"BudgetNoTime", hunt({"--budget", "soon"}), {"--budget", "60s"}},
      {"BudgetTwoTimes", hunt({"--budget", "1s,2s"}), {"--budget", "one time"}},
      {"BudgetAbsurd", hunt({"--budget", "999999999999h"}), {"--budget", "a year"}},
      {"JobsZero", hunt({"--jobs", "0"}), {"--jobs", "from 1 to 1024"}},
      {"WidthZero", hunt({"--sweep-width", "1,0"}), {"--sweep-width", "from 1"}},
      {"DfsWithOthers", hunt({"--strategy", "random,dfs"}), {"dfs", "alone"}},
      {"HuntFidelityUnknown", hunt({"--fidelity", "exact"}), {"--fidelity", "program, protocol or both"}},
      {"OutInNoFolder", hunt({"--out", "/nowhere/out.heddle"}), {"--out", "/nowhere/out.heddle", "No such file"}},
      {"OutInNoFolderOfThatName", hunt({"--out", "/nowhere/"}), {"--out", "/nowhere", "No such file"}},
      {"ReplayWithoutFile", {"replay"}, {"say which file", "heddle replay --help"}},
      {"ReplayNoFile", {"replay", "/nowhere/a.heddle"}, {"/nowhere/a.heddle", "No such file"}},
      {"ReplayAFolder", {"replay", "/tmp"}, {"/tmp", "folder"}},
      {"ReplayOfSomethingElse", {"replay", module_path("several")}, {"line 1", "no failure file"}},
      {"ReplayWithoutEnd", {"replay", "/dev/zero"}, {"larger than"}},
      {"SizeWithoutProgram", {"size"}, {"say which program to size", "heddle size --help"}},
      {"SizeOnTheHost", {"size", "vector_add", "--on", "host"}, {"--on host", "lab:a2a3"}},
      {"SizeOfNoSchedules", {"size", "vector_add", "--schedules", "0"}, {"--schedules", "from 1"}},
      {"RepairWithoutFile", {"repair"}, {"say which file", "heddle repair --help"}},
      {"RepairBudgetZero", {"repair", "/nowhere/a.heddle", "--budget", "0"}, {"--budget", "from 1"}},
      {"ShrinkWithoutFile", {"shrink"}, {"say which file", "heddle shrink --help"}},
      {"ShrinkNoFile", {"shrink", "/nowhere/a.heddle"}, {"/nowhere/a.heddle", "No such file"}},
  };
}

class LabCommandRefuses : public testing::TestWithParam<BadInput> {};

TEST_P(LabCommandRefuses, InOneLineThatSaysWhatToDo) { expect_refused_in_one_line(GetParam()); }

INSTANTIATE_TEST_SUITE_P(BadInputs, LabCommandRefuses, testing::ValuesIn(bad_inputs()),
                         [](const auto& instance) { return instance.param.title; });

lab::Failure small_failure() {
  lab::Failure failure;
  failure.program = "vector_add";
  failure.verdict = lab::Verdict::deadlock;
  failure.code = static_cast<std::uint16_t>(Code::signal_deadlock);
  failure.sentence = "made up";
  return failure;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

/// What replay, shrink and repair say of a file with this text; none of them leaves anything behind.
void expect_refused(const std::string& text, const std::string& says) {
  for (const char* command : {"replay", "shrink", "repair"}) {
    const TemporaryFolder folder;
    const std::string path = folder.file("a.heddle");
    std::ofstream(path) << text;
    const Outcome outcome = run_command({command, path});
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_TRUE(is_one_line(outcome.err)) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(says));
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
  }
}

TEST(FailureFileIsRefused, OfAnotherVersion) {
  expect_refused(replaced(lab::to_text(small_failure()), "heddle-failure 1", "heddle-failure 9"),
                 "line 1: the file has version 9, and this heddle reads version 1");
}

TEST(FailureFileIsRefused, Edited) {
  expect_refused(replaced(lab::to_text(small_failure()), "seed 1", "seed 2"), "the file was edited");
}

TEST(FailureFileIsRefused, CutOff) {
  const std::string text = lab::to_text(small_failure());
  expect_refused(text.substr(0, text.size() / 2), "cut off");
}

TEST(FailureFileIsRefused, OfAProgramThatIsNotThere) {
  lab::Failure failure = small_failure();
  failure.program = "vector_ad";
  expect_refused(lab::to_text(failure), "did you mean \"vector_add\"");
  failure.module = "/nowhere/mine.so";
  expect_refused(lab::to_text(failure), "/nowhere/mine.so");
}

TEST(FailureFileIsRefused, WithAParameterThatTheProgramDoesNotHave) {
  lab::Failure failure = small_failure();
  failure.settings = {{"coun", "3"}};
  expect_refused(lab::to_text(failure), "did you mean \"count\"");
}

TEST(FailureFileIsRefused, WithAStrategyThatThereIsNot) {
  lab::Failure failure = small_failure();
  failure.schedule.strategy = "luck";
  expect_refused(lab::to_text(failure), "strategy \"luck\"");
}

TEST(FailureFileIsRefused, AsJsonWithOneObject) {
  const Outcome outcome = run_command({"replay", "/nowhere/a.heddle", "--json"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(nlohmann::json::parse(outcome.out).at("verdict"), "REFUSED");
}

}  // namespace
}  // namespace heddle::test
