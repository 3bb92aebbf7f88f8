// SPDX-License-Identifier: Apache-2.0
//
// heddle explain by the command: on a snapshot that a run has written, on a failure file, and on files that it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/child.hpp"

namespace heddle::test {
namespace {

using Json = nlohmann::json;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

Json json_of(const Outcome& outcome) { return Json::parse(outcome.out); }
void write(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }
std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> in_cases(std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"--program-path", HEDDLE_TEST_CASE_DIR});
  return arguments;
}

TEST(Explain, ASnapshotOfARunThatFailed) {
  const TemporaryFolder folder;
  const std::string file = folder.file("stuck.json");
  const Outcome run = run_command(in_cases({"run", "circular_handshake", "--on", "lab:a2a3", "--snapshot", file}));
  EXPECT_EQ(run.exit_code, 1) << run.err;
  EXPECT_THAT(run.out, HasSubstr("snapshot in " + file + ": heddle explain " + file));
  const Outcome text = run_command({"explain", file});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_EQ(text.err, "");
  EXPECT_THAT(text.out, StartsWith("DEADLOCK (proved)  signal_deadlock (20)\n"));
  EXPECT_THAT(text.out, HasSubstr("culprit   open_right (rank 0"));
  EXPECT_THAT(text.out, HasSubstr("comes back to open_right"));
  EXPECT_THAT(text.out, HasSubstr("to see it again: heddle run circular_handshake --on lab:a2a3"));
  const Json json = json_of(run_command({"explain", file, "--json"}));
  EXPECT_EQ(json.at("code"), 20);
  EXPECT_EQ(json.at("proved"), true);
  EXPECT_EQ(json.at("chain_closes"), true);
  EXPECT_EQ(json.at("waits").size(), 4U);
}

TEST(Explain, ARunThatPassesWritesNoSnapshot) {
  const TemporaryFolder folder;
  const std::string file = folder.file("none.json");
  const Outcome run = run_command({"run", "vector_add", "--on", "lab:a2a3", "--snapshot", file, "--json"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(json_of(run).at("snapshot"), nullptr);
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST(Explain, ASnapshotChangesNoHash) {
  const TemporaryFolder folder;
  for (const char* fidelity : {"program", "protocol"}) {
    for (const char* name : {"circular_handshake", "stale_epoch", "wait_before_own_send"}) {
      const std::vector<std::string> plain = in_cases({"run", name, "--on", "lab:a2a3", "--seed", "3", "--fidelity",
                                                       fidelity, "--faults", "lost_notify:1", "--json"});
      std::vector<std::string> watched = plain;
      watched.insert(watched.end(), {"--snapshot", folder.file("x.json")});
      EXPECT_EQ(json_of(run_command(plain)).at("trace_hash"), json_of(run_command(watched)).at("trace_hash")) << name;
    }
  }
}

TEST(Explain, AFailureFileIsRunAgain) {
  const TemporaryFolder folder;
  const Outcome hunt = run_command(in_cases(
      {"hunt", "wait_holds_core", "--chip-set", "clusters=1", "--budget", "2000", "--out", folder.path(), "--json"}));
  ASSERT_EQ(hunt.exit_code, 1) << hunt.err;
  const std::string file = json_of(hunt).at("file");
  const std::string snapshot = folder.file("again.json");
  const Outcome text = run_command(in_cases({"explain", file, "--snapshot", snapshot}));
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, StartsWith("DEADLOCK (proved)  core_deadlock (21)\n"));
  EXPECT_THAT(text.out, HasSubstr("an edge produce -> consume on rank 0 would make this impossible"));
  EXPECT_EQ(run_command({"explain", snapshot}).out, text.out);
  // The same by replay.
  const std::string other = folder.file("replayed.json");
  EXPECT_EQ(run_command(in_cases({"replay", file, "--snapshot", other})).exit_code, 0);
  EXPECT_EQ(content_of(other), content_of(snapshot));
}

TEST(Explain, WritesAPage) {
  const TemporaryFolder folder;
  const std::string file = std::string(HEDDLE_TEST_SOURCE_DIR) + "/tests/data/tp_notify_hang.snapshot.json";
  const std::string page = folder.file("report.html");
  const Outcome text = run_command({"explain", file, "--html", page});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, StartsWith("UNDECIDED\n"));
  EXPECT_THAT(text.out, EndsWith("page in " + page + ": open it in a browser\n"));
  EXPECT_THAT(content_of(page), StartsWith("<!DOCTYPE html>\n"));
  EXPECT_THAT(content_of(page), EndsWith("</html>\n"));
  EXPECT_EQ(json_of(run_command({"explain", file, "--html", page, "--json"})).at("html"), page);
}

TEST(Explain, APageThatCannotBeWrittenIsTold) {
  const TemporaryFolder folder;
  write(folder.file("x.json"), R"({"format": "heddle-snapshot", "version": 1})");
  const Outcome nowhere = run_command({"explain", folder.file("x.json"), "--html", folder.file("none/x.html")});
  EXPECT_EQ(nowhere.exit_code, 2);
  EXPECT_THAT(nowhere.err, HasSubstr("--html: cannot write"));
  EXPECT_EQ(nowhere.out, "");
  const Outcome itself = run_command({"explain", folder.file("x.json"), "--html", folder.file("./x.json")});
  EXPECT_EQ(itself.exit_code, 2);
  EXPECT_THAT(itself.err, HasSubstr("is the file to explain"));
  EXPECT_THAT(content_of(folder.file("x.json")), StartsWith("{\"format\"")) << "it is left as it was";
  EXPECT_THAT(run_command({"explain", folder.file("x.json"), "--html", "/dev/full"}).err, HasSubstr("No space left"));
}

TEST(Explain, AForeignDumpIsExplainedAsFarAsItGoes) {
  const std::string file = std::string(HEDDLE_TEST_SOURCE_DIR) + "/tests/data/tp_notify_hang.snapshot.json";
  const Outcome text = run_command({"explain", file});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, StartsWith("UNDECIDED\n"));
  EXPECT_THAT(text.out, HasSubstr("! cells/history: "));
}

TEST(Explain, AFileThatIsCutOffIsExplainedWithANote) {
  const TemporaryFolder folder;
  const std::string file = folder.file("stuck.json");
  (void)run_command(in_cases({"run", "circular_handshake", "--on", "lab:a2a3", "--snapshot", file}));
  const std::string whole = content_of(file);
  write(file, whole.substr(0, whole.size() / 2));
  const Outcome text = run_command({"explain", file});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("the file is cut off at byte"));
}

struct Refused {
  const char* text;
  const char* message;
};

TEST(Explain, RefusesInOneLine) {
  const TemporaryFolder folder;
  const std::string file = folder.file("bad.json");
  const Refused all[] = {
      {"", "the file is empty"},
      {"{}", "this is no snapshot"},
      {R"({"format": "heddle-snapshot", "version": 9})", "/version: the file has version 9"},
      {R"({"format": "heddle-snapshot", "version": 1, "tasks": [{"rank": 0, "task": "x"}]})",
       "/tasks/0/task: a whole number"},
      {"heddle-failure 1\nend\n", "line 2: the file is cut off"},
  };
  for (const Refused& each : all) {
    write(file, each.text);
    const Outcome outcome = run_command({"explain", file});
    EXPECT_EQ(outcome.exit_code, 2) << each.text;
    EXPECT_THAT(outcome.err, HasSubstr(each.message)) << each.text;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(json_of(run_command({"explain", file, "--json"})).at("verdict"), "REFUSED");
  }
}

TEST(Explain, WrongUseIsTold) {
  const TemporaryFolder folder;
  EXPECT_THAT(run_command({"explain"}).err, HasSubstr("say which file to explain"));
  EXPECT_THAT(run_command({"explain", folder.file("none")}).err, HasSubstr("No such file"));
  write(folder.file("x.json"), R"({"format": "heddle-snapshot", "version": 1})");
  EXPECT_THAT(run_command({"explain", folder.file("x.json"), "--snapshot", folder.file("y.json")}).err,
              HasSubstr("--snapshot: the file is no failure file"));
  EXPECT_THAT(run_command({"run", "vector_add", "--on", "lab:host", "--snapshot", folder.file("y.json")}).err,
              HasSubstr("--snapshot: lab:host has no chips to look at"));
}

}  // namespace
}  // namespace heddle::test
