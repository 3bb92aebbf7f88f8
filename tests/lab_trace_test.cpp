// SPDX-License-Identifier: Apache-2.0
//
// Traces of runs on simulated chips: what a viewer is given, by the public API and by the command.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <heddle/heddle.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "host/test_program.hpp"
#include "tests/child.hpp"
#include "tests/trace_tracks.hpp"

namespace heddle::test {
namespace {

using Json = nlohmann::json;
using host::error_of;
using host::expect_error;
using host::TestProgram;
using testing::HasSubstr;

// Each rank puts a part of its input to the next one and tells it; who is told reads what has come.
TestProgram shift() {
  return {[](Orchestrator& graph, const Io& io) {
            const auto data = graph.window("data").tensor<std::int32_t>(48);
            const auto flag = graph.window("flag").signals<std::int64_t>();
            const int next = (graph.rank() + 1) % graph.ranks();
            graph.spmd(
                "sender", vector_core, 3,
                [there = data.at(next), signal = flag.at(next)[0]](Block& block, View<const std::int32_t> x) {
                  block.spend(1000);
                  block.put(there.rows(16 * block.index(), 16), x);
                  block.notify(signal, 1, Notify::add);
                },
                in(io.input<std::int32_t>("x")));
            const std::int64_t all = 3 * (graph.round() + 1);
            graph.submit(
                "waiter", vector_core,
                [own = flag.mine()[0], all](Block& block, View<std::int32_t>) { block.wait(own, Compare::ge, all); },
                out(data.mine()));
            graph.dummy("condition", completes_when(flag.mine()[0], Compare::ge, all));
          },
          [](Plan& plan) {
            plan.input<std::int32_t>("x", {16});
            plan.window("data", 192), plan.window("flag", 8);
          }};
}

Session session_of(int ranks, std::uint64_t seed, const TestProgram& program, const SessionConfig& config = {}) {
  return Device::open("lab:a2a3", {.ranks = ranks, .seed = seed}).prepare(program, config);
}

TEST(LabTrace, ShowsEveryBlockOnItsCoreInVirtualTime) {
  const TemporaryFolder folder;
  const std::string path = folder.file("trace.json");
  Session session = session_of(3, 7, shift());
  std::int64_t elapsed = 0;
  for (int round = 0; round < 2; ++round) elapsed += session.run().elapsed.count();
  session.write_trace(path);
  const Tracks tracks(path);
  tracks.expect_sound();
  EXPECT_EQ(tracks.json.at("otherData").at("time"), "virtual");
  EXPECT_EQ(tracks.json.at("otherData").at("records_dropped"), "0");

  std::map<std::string, int> blocks;
  for (const auto& [track, slices] : tracks.slices) {
    for (const Slice& slice : slices) {
      if (slice.event.at("cat") != "block") continue;
      ++blocks[slice.name()];
      const std::string of = "rank " + std::to_string(slice.event.at("args").at("rank").get<int>());
      EXPECT_EQ(track.rfind(of + " cluster ", 0), 0U) << track;
      EXPECT_THAT(track, HasSubstr(" vector "));
      EXPECT_LE(slice.end, elapsed);
      if (slice.name() == "sender") {
        EXPECT_GE(slice.end - slice.start, 1000) << "it spends so much";
      }
    }
  }
  EXPECT_EQ(blocks, (std::map<std::string, int>{{"sender", 18}, {"waiter", 6}}));
  EXPECT_EQ(tracks.all("put").size(), 18U);
  EXPECT_EQ(tracks.all("notify").size(), 18U);
  EXPECT_EQ(tracks.all("arrival").size(), 36U);
  EXPECT_EQ(tracks.all("condition").size(), 6U);
  EXPECT_EQ(tracks.all("put").front().event.at("args").at("bytes"), 64);
  EXPECT_EQ(tracks.slices.at("rounds").size(), 2U);
  for (int rank = 0; rank < 3; ++rank)
    EXPECT_EQ(tracks.moments.at("rank " + std::to_string(rank) + " orchestrator").size(), 6U);
  for (const Slice& wait : tracks.all("wait")) {
    EXPECT_EQ(wait.name(), "waiter waits");
    EXPECT_THAT(wait.event.at("args").at("cell").get<std::string>(), HasSubstr("flag[0] of rank "));
    EXPECT_THAT(wait.event.at("args").at("needs").get<std::string>(), HasSubstr(">= "));
  }
}

TEST(LabTrace, ArrowsLeadFromPutsAndNotifiesToWhereTheyArriveAndToTheWaitsThatTheyEnd) {
  const TemporaryFolder folder;
  Session session = session_of(2, 3, shift());
  session.run();
  session.write_trace(folder.file("trace.json"));
  const Tracks tracks(folder.file("trace.json"));
  tracks.expect_sound();
  std::map<std::string, int> to;
  for (const auto& [id, end] : tracks.ends) {
    const std::string& from = tracks.begins.at(id).track;
    EXPECT_THAT(from, HasSubstr(" cluster "));
    EXPECT_NE(from.substr(0, 6), end.track.substr(0, 6)) << "from one rank to the other";
    ++to[end.track.substr(7, end.track.find(' ', 7) - 7)];
  }
  EXPECT_EQ(to.at("network"), 12);
  EXPECT_EQ(to.at("conditions"), 2);
  EXPECT_EQ(to.at("cluster"), 2) << "a wait of each rank";
}

TEST(LabTrace, TheSameSeedMakesTheSameFile) {
  const TemporaryFolder folder;
  std::set<std::string> files;
  for (const std::uint64_t seed : {1U, 1U, 2U}) {
    Session session = session_of(4, seed, shift());
    session.run();
    session.write_trace(folder.file("trace.json"));
    files.insert(text_of(folder.file("trace.json")));
  }
  EXPECT_EQ(files.size(), 2U);
}

TEST(LabTrace, KeepsTheNewestRecordsAndCountsTheOthers) {
  const TemporaryFolder folder;
  Session session = session_of(2, 1, shift(), {.recorder_entries = 8});
  RoundStatistics last;
  for (int round = 0; round < 20; ++round) last = session.run();
  EXPECT_EQ(last.records - last.records_dropped, 2U * 8U);
  session.write_trace(folder.file("trace.json"));
  const Tracks tracks(folder.file("trace.json"));
  tracks.expect_sound();
  EXPECT_EQ(tracks.json.at("otherData").at("records_dropped"), std::to_string(last.records_dropped));
  EXPECT_EQ(tracks.slices.at("rounds").back().name(), "round 19");
  EXPECT_EQ(tracks.slices.at("rounds").size(), 8U);
}

TEST(LabTrace, ShowsWhoWaitsInADeadlock) {
  const TemporaryFolder folder;
  Session session =
      session_of(2, 1,
                 {[](Orchestrator& graph, const Io&) {
                    const auto own = graph.window("told").signals<std::int32_t>().mine()[3];
                    graph.submit("stuck", vector_core, [own](Block& block) { block.wait(own, Compare::eq, 9); });
                  },
                  [](Plan& plan) { plan.window("told", 64); }});
  expect_error(error_of([&] { session.run(); }), Code::signal_deadlock, {"told[3]"});
  session.write_trace(folder.file("trace.json"));
  const Tracks tracks(folder.file("trace.json"));
  tracks.expect_sound();
  const auto waits = tracks.all("wait");
  ASSERT_EQ(waits.size(), 2U);
  for (const Slice& wait : waits) {
    EXPECT_EQ(wait.event.at("args").at("unfinished"), true);
    EXPECT_EQ(wait.event.at("args").at("needs"), "== 9");
  }
  EXPECT_EQ(tracks.slices.at("rounds").front().event.at("args").at("unfinished"), true);
}

TEST(LabTrace, SaysWhyItsFileCannotBeWritten) {
  const TemporaryFolder folder;
  Session session = session_of(2, 1, shift());
  session.run();
  expect_error(error_of([&] { session.write_trace("/nowhere/at/all.json"); }), Code::invalid_argument,
               {"/nowhere/at/all.json", "No such file"});
  expect_error(error_of([&] { session.write_trace(folder.path()); }), Code::invalid_argument, {"Is a directory"});
  expect_error(error_of([&] { session.write_trace("/dev/full"); }), Code::user_error, {"/dev/full", "No space left"});
}

// ---- the command

TEST(LabTrace, TheCommandWritesIt) {
  const TemporaryFolder folder;
  std::vector<std::string> files;
  for (const char* name : {"first.json", "second.json"}) {
    const Outcome outcome =
        run_command({"run", "vector_add", "--on", "lab:a2a3", "--seed", "7", "--trace", folder.file(name)});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("trace in " + folder.file(name) + ": open it at https://ui.perfetto.dev"));
    files.push_back(text_of(folder.file(name)));
  }
  EXPECT_EQ(files[0], files[1]);
  const Tracks tracks(folder.file("first.json"));
  tracks.expect_sound();
  EXPECT_FALSE(tracks.all("block").empty());
}

TEST(LabTrace, TracingChangesNoHashAndCheckersMayWatchToo) {
  const TemporaryFolder folder;
  std::set<std::string> hashes;
  const std::vector<std::string> base{"run", "vector_add", "--on", "lab:a2a3", "--seed", "7", "--json"};
  for (const std::vector<std::string>& more : std::vector<std::vector<std::string>>{
           {}, {"--trace", folder.file("a.json")}, {"--trace", folder.file("b.json"), "--checkers", "all"}}) {
    auto arguments = base;
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = run_command(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    const Json json = Json::parse(outcome.out);
    hashes.insert(json.at("trace_hash"));
    EXPECT_EQ(json.at("trace").is_null(), more.empty());
  }
  EXPECT_EQ(hashes.size(), 1U);
  EXPECT_EQ(text_of(folder.file("a.json")), text_of(folder.file("b.json")));
}

TEST(LabTrace, OfARunThatFailsIsWrittenAsWell) {
  const TemporaryFolder folder;
  const Outcome outcome = run_command({"run", module_path("throws"), "--on", "lab:a2a3", "--trace",
                                       folder.file("out.json"), "--trace-records", "1024"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_FALSE(Tracks(folder.file("out.json")).all("block").empty());
}

TEST(LabTrace, ADiskThatIsFullFailsTheRun) {
  const Outcome outcome = run_command({"run", "vector_add", "--on", "lab:a2a3", "--trace", "/dev/full", "--json"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("--trace: cannot write \"/dev/full\": No space left on device"));
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json.at("passed"), false);
  EXPECT_EQ(json.at("verdict"), "FAILED");
  struct stat status{};
  ASSERT_EQ(::stat("/dev/full", &status), 0);
  EXPECT_TRUE(S_ISCHR(status.st_mode));
}

TEST(LabTrace, AReplayWritesTheRunOfItsFile) {
  const TemporaryFolder folder;
  const Outcome found =
      run_command({"hunt", module_path("deadlock"), "--budget", "1000", "--out", folder.file("f.heddle")});
  ASSERT_EQ(found.exit_code, 1) << found.err;
  const Outcome outcome = run_command({"replay", folder.file("f.heddle"), "--trace", folder.file("out.json")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("trace in "));
  const Tracks tracks(folder.file("out.json"));
  tracks.expect_sound();
  EXPECT_FALSE(tracks.all("wait").empty());

  const Outcome full = run_command({"replay", folder.file("f.heddle"), "--trace", "/dev/full"});
  EXPECT_EQ(full.exit_code, 1);
  EXPECT_THAT(full.err, HasSubstr("cannot write \"/dev/full\""));
  const Outcome nowhere = run_command({"replay", folder.file("f.heddle"), "--trace", "/nowhere/out.json"});
  EXPECT_EQ(nowhere.exit_code, 2);
  EXPECT_THAT(nowhere.err, HasSubstr("--trace"));
}

}  // namespace
}  // namespace heddle::test
