// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <heddle/error.hpp>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/child.hpp"

namespace heddle::test {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const std::string test_modules = HEDDLE_TEST_MODULE_DIR;

Json find_named(const Json& list, const std::string& name) {
  for (const Json& item : list) {
    if (item.at("name") == name) return item;
  }
  return nullptr;
}

TEST(CommandList, NamesProgramsWithTheirParametersAndTheBackends) {
  const Outcome outcome = run_command({"list"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  for (const char* text : {"vector_add", "tp_isolation", "stencil", "count=", "backends", "host"})
    EXPECT_THAT(outcome.out, HasSubstr(text));
  EXPECT_THAT(outcome.out, Not(HasSubstr("\x1b")));
}

TEST(CommandList, JsonGivesTypesDefaultsChoicesAndVariants) {
  const Outcome outcome = run_command({"list", "--json", "--program-path", test_modules});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json json = Json::parse(outcome.out);
  const Json first = find_named(json.at("programs"), "first");
  ASSERT_FALSE(first.is_null());
  EXPECT_EQ(first.at("summary"), "shifts a vector");
  EXPECT_EQ(first.at("module"), std::filesystem::canonical(module_path("several")).string());
  EXPECT_EQ(first.at("ranks"), 4);
  EXPECT_EQ(first.at("rounds"), 3);
  EXPECT_EQ(first.at("group"), 2);
  const Json size = find_named(first.at("parameters"), "size");
  EXPECT_EQ(size.at("type"), "int");
  EXPECT_EQ(size.at("default"), "64");
  EXPECT_EQ(size.at("least"), 1);
  EXPECT_EQ(size.at("most"), 4096);
  const Json offset = find_named(first.at("parameters"), "offset");
  EXPECT_FALSE(offset.contains("least"));
  EXPECT_EQ(find_named(first.at("parameters"), "mode").at("choices"), Json({"plain", "wrong"}));
  EXPECT_EQ(find_named(first.at("variants"), "bad").at("settings").at("mode"), "wrong");
  EXPECT_FALSE(find_named(json.at("backends"), "host").is_null());
  EXPECT_FALSE(find_named(json.at("programs"), "vector_add").is_null());
}

TEST(CommandList, NamesEachModuleThatDoesNotLoadAndListsTheOthers) {
  const Outcome outcome = run_command({"list", "--program-path", test_modules});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("no_symbol.so"));
  EXPECT_THAT(outcome.err, HasSubstr("abi_other.so"));
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 2);
  EXPECT_THAT(outcome.out, HasSubstr("second"));
}

TEST(CommandList, SearchesTheFoldersOfTheEnvironment) {
  const Outcome outcome = run_command({"list"}, {.environment = {{"HEDDLE_PROGRAM_PATH", "/nowhere:" + test_modules}}});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("deadlock"));
}

TEST(Command, SaysItsVersionAndHelpsWithExamples) {
  const Outcome version = run_command({"--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_THAT(version.out, StartsWith("heddle " HEDDLE_VERSION));
  const Outcome help = run_command({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.out, HasSubstr("heddle run vector_add"));
  const Outcome run_help = run_command({"run", "--help"});
  EXPECT_EQ(run_help.exit_code, 0);
  for (const char* option : {"--ranks", "--set", "--matrix", "--trace", "--json"})
    EXPECT_THAT(run_help.out, HasSubstr(option));
}

TEST(CommandRun, ShowsATableAndNothingElseWhenItPasses) {
  const Outcome outcome =
      run_command({"run", "vector_add", "--set", "count=1000", "--rounds", "3", "--ranks", "2", "--threads", "2"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
  EXPECT_THAT(outcome.out, HasSubstr("vector_add"));
  EXPECT_THAT(outcome.out, HasSubstr("PASSED"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("\x1b")));
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 2);
}

TEST(CommandRun, JsonHasEveryKeyAndCountsWhatRan) {
  const Outcome outcome = run_command({"run", "vector_add", "--set", "count=1000", "--set", "blocks=4", "--rounds", "3",
                                       "--ranks", "2", "--threads", "1", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json json = Json::parse(outcome.out);
  for (const char* key : {"passed",   "verdict", "code",    "name",      "message",  "rank",    "task",    "block",
                          "location", "hint",    "program", "variant",   "ranks",    "rounds",  "threads", "elapsed_ns",
                          "tasks",    "blocks",  "puts",    "put_bytes", "notifies", "attached"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  EXPECT_EQ(json.at("passed"), true);
  EXPECT_EQ(json.at("verdict"), "PASSED");
  EXPECT_EQ(json.at("code"), 0);
  EXPECT_EQ(json.at("name"), "ok");
  EXPECT_EQ(json.at("hint"), nullptr);
  EXPECT_EQ(json.at("ranks"), 2);
  EXPECT_EQ(json.at("rounds"), 3);
  EXPECT_EQ(json.at("threads"), 1);
  EXPECT_EQ(json.at("tasks"), 2 * 3);
  EXPECT_EQ(json.at("blocks"), 2 * 3 * 4);
  EXPECT_GT(json.at("elapsed_ns"), 0);
}

TEST(CommandRun, TakesAModuleByItsPathAndOneOfItsProgramsByName) {
  const Outcome only = run_command({"run", module_path("slow") + ":slow", "--set", "stubborn=maybe"});
  EXPECT_EQ(only.exit_code, 2);  // found, and its parameter refused
  EXPECT_THAT(only.err, HasSubstr("stubborn"));
  const Outcome second = run_command({"run", module_path("several") + ":second", "--json"});
  EXPECT_EQ(second.exit_code, 0) << second.err;
  EXPECT_EQ(Json::parse(second.out).at("program"), "second");
}

TEST(CommandRun, UsesTheProgramsOwnRanksAndRounds) {
  const Outcome outcome = run_command({"run", "first", "--program-path", test_modules, "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json.at("ranks"), 4);
  EXPECT_EQ(json.at("rounds"), 3);
}

TEST(CommandRun, MatrixRunsEveryRowAndFailsWhenOneFails) {
  const Outcome text = run_command({"run", "first", "--program-path", test_modules, "--matrix"});
  EXPECT_EQ(text.exit_code, 1);
  for (const char* part : {"good", "PASSED", "bad", "FAILED", "1 of 3"}) EXPECT_THAT(text.out, HasSubstr(part));
  EXPECT_THAT(text.err, HasSubstr("expected to be wrong"));

  const Outcome outcome = run_command({"run", "first", "--program-path", test_modules, "--matrix", "--json"});
  EXPECT_EQ(outcome.exit_code, 1);
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json.at("passed"), false);
  EXPECT_EQ(json.at("variant"), "bad");
  EXPECT_EQ(json.at("name"), "user_error");
  ASSERT_EQ(json.at("runs").size(), 2U);
  EXPECT_EQ(json.at("runs")[0].at("verdict"), "PASSED");
  EXPECT_EQ(json.at("runs")[1].at("verdict"), "FAILED");
}

TEST(CommandRun, OneVariantOfTheMatrixRunsAlone) {
  const Outcome outcome = run_command({"run", "first", "--program-path", test_modules, "--variant", "good", "--json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(Json::parse(outcome.out).at("variant"), "good");
}

TEST(CommandRun, WithoutCheckItDoesNotSayThatItPassed) {
  const Outcome outcome =
      run_command({"run", "first", "--program-path", test_modules, "--variant", "bad", "--no-check", "--json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(Json::parse(outcome.out).at("verdict"), "NOT CHECKED");
}

TEST(CommandRun, DeadlockListsEveryWait) {
  const Outcome text = run_command({"run", module_path("deadlock")});
  EXPECT_EQ(text.exit_code, 1);
  EXPECT_THAT(text.out, HasSubstr("DEADLOCK"));
  EXPECT_THAT(text.err, HasSubstr("signal_deadlock"));
  EXPECT_THAT(text.err, HasSubstr("deadlock.cpp"));

  const Outcome outcome = run_command({"run", module_path("deadlock"), "--json"});
  EXPECT_EQ(outcome.exit_code, 1);
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json.at("code"), static_cast<int>(Code::signal_deadlock));
  const Json& waits = json.at("waits");
  ASSERT_EQ(waits.size(), 4U);
  EXPECT_EQ(waits[0].at("what"), "signal");
  EXPECT_EQ(waits[0].at("rank"), 0);
  EXPECT_EQ(waits[0].at("task"), "wait_for_ever");
  EXPECT_EQ(waits[0].at("window"), "flags");
  EXPECT_EQ(waits[0].at("has"), 0);
  EXPECT_EQ(waits[0].at("needs"), 8);
  EXPECT_EQ(waits[0].at("compare"), "ge");
  EXPECT_EQ(waits[3].at("rank"), 1);
  EXPECT_EQ(waits[3].at("block"), 1);
  EXPECT_EQ(waits[3].at("cell"), 4);
}

TEST(CommandRun, KernelThatThrowsIsNamedWithRankTaskAndBlock) {
  const Outcome outcome = run_command({"run", module_path("throws"), "--json"});
  EXPECT_EQ(outcome.exit_code, 1);
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json.at("name"), "kernel_failed");
  EXPECT_EQ(json.at("rank"), 1);
  EXPECT_EQ(json.at("task"), "explode");
  EXPECT_EQ(json.at("block"), 2);
  EXPECT_THAT(json.at("location").get<std::string>(), HasSubstr("throws.cpp:"));
  EXPECT_THAT(json.at("message").get<std::string>(), HasSubstr("the kernel's own words"));
}

TEST(CommandTrace, FileHoldsTheRunAndIsTheOnlyOneThere) {
  const TemporaryFolder folder;
  const Outcome outcome = run_command({"run", "vector_add", "--set", "count=1000", "--trace", folder.file("out.json")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr(folder.file("out.json")));
  std::ifstream file(folder.file("out.json"));
  const Json json = Json::parse(file);
  EXPECT_FALSE(json.at("traceEvents").empty());
  using Iterator = std::filesystem::directory_iterator;
  EXPECT_EQ(std::distance(Iterator(folder.path()), Iterator()), 1);
}

TEST(CommandTrace, IsWrittenForARunThatFails) {
  const TemporaryFolder folder;
  const Outcome outcome = run_command({"run", module_path("throws"), "--trace", folder.file("out.json")});
  EXPECT_EQ(outcome.exit_code, 1);
  std::ifstream file(folder.file("out.json"));
  EXPECT_FALSE(Json::parse(file).at("traceEvents").empty());
}

TEST(CommandTrace, FullDiskIsALineAndExitCodeOne) {
  const Outcome outcome = run_command({"run", "vector_add", "--set", "count=1000", "--trace", "/dev/full"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_TRUE(is_one_line(outcome.err)) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("No space left on device"));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

TEST(Command, StandardOutputThatTakesNothingIsAnError) {
  const Outcome outcome = run_command({"list"}, {.stdout_file = "/dev/full"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("standard output"));
}

TEST(CommandTerminal, ShowsProgressAndColoursUnlessRefused) {
  const std::vector<std::string> arguments{"run", "vector_add", "--set", "count=1000", "--rounds", "20"};
  const Outcome coloured =
      run_command(arguments, {.environment = {{"TERM", "xterm"}, {"NO_COLOR", ""}}, .terminal = true});
  EXPECT_EQ(coloured.exit_code, 0);
  EXPECT_THAT(coloured.err, HasSubstr("vector_add  0/20 rounds"));
  EXPECT_THAT(coloured.err, HasSubstr("\x1b[1;32mPASSED"));
  const Outcome plain =
      run_command(arguments, {.environment = {{"TERM", "xterm"}, {"NO_COLOR", "1"}}, .terminal = true});
  EXPECT_THAT(plain.err, HasSubstr("vector_add  0/20 rounds"));
  EXPECT_THAT(plain.err, Not(HasSubstr("\x1b[1;32m")));
}

}  // namespace
}  // namespace heddle::test
