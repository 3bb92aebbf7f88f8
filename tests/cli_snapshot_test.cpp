// SPDX-License-Identifier: Apache-2.0
//
// Snapshots of runs on the host by the command: of a failure, by a signal, and asked for by another process. What they
// are explained as is what the laboratory's snapshot of the same program is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/child.hpp"

namespace heddle::test {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

Json explained(const std::string& file) { return Json::parse(run_command({"explain", file, "--json"}).out); }

std::vector<std::string> failing(const std::string& program, const std::string& backend, const std::string& file,
                                 const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments{"run",        program, "--on",           backend,
                                     "--snapshot", file,    "--program-path", HEDDLE_TEST_CASE_DIR};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

// Tasks and cells, whichever of a task's blocks closes the circle.
std::string id_of(const Json& step, const char* end) {
  const std::string id = step.contains(end) ? step.at(end).value("id", "") : "";
  const std::size_t block = id.find(".b");
  return id.substr(0, block);
}
std::vector<std::string> chain_of(const Json& report) {
  std::vector<std::string> steps;
  for (const Json& step : report.at("chain"))
    steps.push_back(id_of(step, "from") + " " + step.at("kind").get<std::string>() + " " + id_of(step, "to"));
  return steps;
}

class HostAndLab : public testing::TestWithParam<const char*> {};

TEST_P(HostAndLab, AgreeOnTheVerdictTheChainAndTheCulprit) {
  const TemporaryFolder folder;
  const std::string program = GetParam();
  std::vector<std::string> more;
  if (program == "heap_too_small") more = {"--heap-bytes", "262144"};
  const Outcome on_host = run_command(failing(program, "host", folder.file("host.json"), more));
  EXPECT_EQ(on_host.exit_code, 1) << on_host.err;
  EXPECT_THAT(on_host.out, HasSubstr("snapshot in " + folder.file("host.json")));
  const Outcome in_lab = run_command(failing(program, "lab:a2a3", folder.file("lab.json"), more));
  EXPECT_EQ(in_lab.exit_code, 1) << in_lab.err;
  const Json host = explained(folder.file("host.json")), lab = explained(folder.file("lab.json"));
  for (const char* field : {"verdict", "code", "name", "proved", "chain_closes"})
    EXPECT_EQ(host.at(field), lab.at(field)) << field;
  EXPECT_EQ(host.at("culprit").at("id"), lab.at("culprit").at("id"));
  EXPECT_EQ(host.value("disagreement", ""), lab.value("disagreement", ""));
  EXPECT_EQ(chain_of(host), chain_of(lab)) << on_host.err;
  EXPECT_EQ(host.at("proved"), true);
  if (!host.at("chain").empty()) {
    EXPECT_THAT(on_host.err, HasSubstr("the chain of waits\n"));
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, HostAndLab,
                         testing::Values("circular_handshake", "wait_before_own_send", "heap_too_small"),
                         [](const auto& instance) { return std::string(instance.param); });

TEST(HostSnapshots, OfANotifyThatTheProgramLacksSayThatNobodySendsIt) {
  const TemporaryFolder folder;
  const std::string file = folder.file("stuck.json");
  EXPECT_EQ(run_command(failing(module_path("deadlock"), "host", file)).exit_code, 1);
  const Json report = explained(file);
  EXPECT_EQ(report.at("name"), "signal_deadlock");
  EXPECT_EQ(report.at("waits").size(), 4U);
  EXPECT_EQ(report.at("hypotheses").at(0).at("name"), "a notify that the program lacks");
  EXPECT_EQ(report.at("hypotheses").at(0).at("outcome"), "confirmed");
}

TEST(HostSnapshots, OfAStuckKernelNameItsLine) {
  const TemporaryFolder folder;
  const std::string file = folder.file("stuck.json");
  const Outcome run = run_command(
      failing(module_path("stuck"), "host", file,
              {"--ranks", "2", "--threads", "2", "--scheduler-timeout", "100", "--operation-timeout", "300"}));
  EXPECT_EQ(run.exit_code, 1) << run.err;
  const Json report = explained(file);
  EXPECT_EQ(report.at("verdict"), "CORE STALLED");
  EXPECT_EQ(report.at("name"), "core_stalled");
  EXPECT_THAT(report.at("culprit").at("source").get<std::string>(), HasSubstr("stuck.cpp:"));
}

TEST(HostSnapshots, AreNotWrittenOfARunThatPasses) {
  const TemporaryFolder folder;
  const Outcome run = run_command({"run", "vector_add", "--snapshot", folder.file("none.json"), "--json"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(Json::parse(run.out).at("snapshot"), nullptr);
  EXPECT_TRUE(folder.is_empty());
}

TEST(HostSnapshots, ASignalAsksForOneAndTheRunGoesOn) {
  const TemporaryFolder folder;
  Child child({"run", module_path("slow"), "--ranks", "2"}, {.folder = folder.path()});
  ASSERT_TRUE(child.wait_for("slow: running\nslow: running\n"));
  child.send(SIGUSR1);
  ASSERT_TRUE(child.wait_for("tells who waits for whom\n"));
  const std::string name = "slow-" + child.pid() + ".snapshot.json";
  child.send(SIGUSR1);
  ASSERT_TRUE(child.wait_for("slow-" + child.pid() + "-2.snapshot.json"));
  child.send(SIGINT);
  const Outcome outcome = child.finish();
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("heddle: snapshot in " + name + ": heddle explain " + name));
  EXPECT_THAT(outcome.out, HasSubstr("INTERRUPTED"));
  const Json report = explained(folder.file(name));
  EXPECT_EQ(report.at("proved"), false);
  EXPECT_EQ(report.at("verdict"), "NOTHING WAITS");
  EXPECT_THAT(run_command({"explain", folder.file(name)}).out, HasSubstr("linger"));
}

TEST(AskedSnapshot, ComesFromAnotherProcess) {
  const TemporaryFolder folder;
  Child child({"run", module_path("slow"), "--ranks", "2"});
  ASSERT_TRUE(child.wait_for("slow: running\nslow: running\n"));
  const Outcome asked = run_command({"snapshot", child.pid(), "--out", folder.path() + "/"});
  EXPECT_EQ(asked.exit_code, 0) << asked.err;
  const std::string file = folder.file("heddle-" + child.pid() + ".snapshot.json");
  EXPECT_EQ(asked.out, "snapshot in " + file + ": heddle explain " + file + " tells who waits for whom\n");
  const Outcome as_json = run_command({"snapshot", child.pid(), "--out", folder.file("other.json"), "--json"});
  EXPECT_EQ(Json::parse(as_json.out).at("snapshot"), folder.file("other.json"));
  child.send(SIGINT);
  EXPECT_EQ(child.finish().exit_code, 1);
  const Outcome text = run_command({"explain", file});
  EXPECT_THAT(text.out, HasSubstr("to see it again: heddle run"));
  EXPECT_EQ(explained(file).at("proved"), false);
  std::ifstream content(file);
  const Json blocks = Json::parse(content).at("blocks");
  ASSERT_EQ(blocks.size(), 2U);
  EXPECT_EQ(blocks[0].at("state"), "running");
  EXPECT_THAT(blocks[0].at("source").at("file").get<std::string>(), HasSubstr("slow.cpp"));
}

TEST(AskedSnapshot, SaysWhyAProcessCannotBeAsked) {
  const TemporaryFolder folder;
  const auto refused = [&](const std::vector<std::string>& more, const std::string& part, int code = 2) {
    std::vector<std::string> arguments{"snapshot", "--out", folder.file("x.json")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = run_command(arguments);
    EXPECT_EQ(outcome.exit_code, code) << outcome.err;
    EXPECT_THAT(outcome.err, StartsWith("heddle: "));
    EXPECT_THAT(outcome.err, HasSubstr(part));
    EXPECT_TRUE(is_one_line(outcome.err)) << outcome.err;
  };
  refused({}, "say which process to ask");
  refused({"x"}, "give a whole number");
  refused({"0"}, "give a whole number");
  refused({"2147483647"}, "there is no process 2147483647");
  refused({std::to_string(::getpid())}, "and no heddle");
  refused({"2147483647", "--patience", "soon"}, "--patience \"soon\"");
  // One in the laboratory answers nothing, and is not ended by the question.
  Child child({"run", module_path("blocks"), "--on", "lab:a2a3", "--patience", "0s"});
  while (std::filesystem::exists("/proc/" + child.pid()) &&
         std::filesystem::read_symlink("/proc/" + child.pid() + "/exe") != HEDDLE_TEST_COMMAND) {
  }
  refused({child.pid()}, "cannot be asked");
  EXPECT_TRUE(folder.is_empty());
}

TEST(AskedSnapshot, IsNotWaitedForForGood) {
  const TemporaryFolder folder;
  Child child({"run", module_path("slow")});
  ASSERT_TRUE(child.wait_for("slow: running\n"));
  child.send(SIGSTOP);
  const Outcome outcome = run_command({"snapshot", child.pid(), "--out", folder.file("x.json"), "--patience", "200ms"});
  child.send(SIGCONT);
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("has not answered within 200ms"));
  EXPECT_TRUE(is_one_line(outcome.err)) << outcome.err;
  EXPECT_TRUE(folder.is_empty());
}

}  // namespace
}  // namespace heddle::test
