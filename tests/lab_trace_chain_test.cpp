// SPDX-License-Identifier: Apache-2.0
//
// The chain of waits in the trace of a run that failed: arrows along it, from what waits to what it waits for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/child.hpp"
#include "tests/trace_tracks.hpp"

namespace heddle::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string cases = HEDDLE_TEST_CASE_DIR;

// "track -> track: name", in the order of the chain.
std::vector<std::string> chain_of(const Tracks& tracks) {
  std::vector<std::string> arrows;
  for (const auto& [id, from] : tracks.begins) {
    if (from.event.at("cat") != "chain") continue;
    const Arrow& to = tracks.ends.at(id);
    EXPECT_EQ(from.event.at("name"), to.event.at("name"));
    EXPECT_EQ(from.event.at("args"), to.event.at("args"));
    arrows.push_back(from.track + " -> " + to.track + ": " + from.event.at("name").get<std::string>());
  }
  return arrows;
}

class TraceOfACase {
 public:
  explicit TraceOfACase(const std::string& name, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{"run",      name,         "--program-path", cases,     "--on",
                                       "lab:a2a3", "--chip-set", "clusters=1",     "--trace", file()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    outcome = run_command(arguments);
  }
  std::string file() const { return folder_.file("trace.json"); }
  Tracks tracks() const { return Tracks(file()); }
  Outcome outcome;

 private:
  TemporaryFolder folder_;
};

TEST(LabTraceChain, LeadsFromTheWaitOverTheCellToWhoeverHoldsTheCore) {
  const TraceOfACase trace("wait_holds_core");
  ASSERT_EQ(trace.outcome.exit_code, 1) << trace.outcome.err;
  const Tracks tracks = trace.tracks();
  tracks.expect_sound();
  const std::string of = "chain of waits: ", core = "rank 0 cluster 0 vector 0",
                    cell = of + "cell 0 of \"ready\" on rank 0", produce = of + "produce (rank 0, task 1) block 0";
  EXPECT_THAT(chain_of(tracks), ElementsAre(core + " -> " + cell + ": waits for signal",
                                            cell + " -> " + produce + ": which would be changed by",
                                            produce + " -> " + core + ": waits for a core, held by"));
  // The first arrow leaves the wait, and each says its sentence.
  const Arrow& first = std::find_if(tracks.begins.begin(), tracks.begins.end(), [](const auto& each) {
                         return each.second.event.at("cat") == "chain";
                       })->second;
  EXPECT_THAT(first.event.at("args").at("sentence").get<std::string>(),
              HasSubstr("consume (rank 0, task 0) block 0 waits"));
  const auto& slices = tracks.slices.at(core);
  EXPECT_EQ(slices.back().event.at("cat"), "wait");
  EXPECT_LT(slices.back().start, first.time);
  EXPECT_GT(slices.back().end, first.time);
}

TEST(LabTraceChain, ClosesWhereTheChainDoes) {
  const TraceOfACase trace("circular_handshake");
  const std::vector<std::string> arrows = chain_of(trace.tracks());
  ASSERT_EQ(arrows.size(), 12U) << "of each rank a wait, a cell, and a task that comes after the next rank's wait";
  const std::string first = arrows.front().substr(0, arrows.front().find(" -> "));
  EXPECT_EQ(first, "rank 0 cluster 0 vector 0");
  EXPECT_THAT(arrows.back(), HasSubstr(" -> " + first + ": "));
}

TEST(LabTraceChain, OfHalvesLeadsFromOneHalfsCoreOverTheFlagToTheOthers) {
  const TraceOfACase trace("flags_unbalanced");
  const Tracks tracks = trace.tracks();
  tracks.expect_sound();
  const std::string flag = "chain of waits: a flag of its cluster", cube = "rank 0 cluster 0 cube",
                    vector = "rank 0 cluster 0 vector 0";
  EXPECT_THAT(
      chain_of(tracks),
      ElementsAre(cube + " -> " + flag + ": waits for flag", flag + " -> " + vector + ": which would be set by",
                  vector + " -> " + flag + ": waits for flag", flag + " -> " + cube + ": which would be set by"));
}

TEST(LabTraceChain, EndsWithNobodyWhereNobodyIsLeft) {
  const TraceOfACase trace("trip_count_diverges");
  const std::vector<std::string> arrows = chain_of(trace.tracks());
  ASSERT_FALSE(arrows.empty());
  EXPECT_THAT(arrows.back(), HasSubstr(" -> chain of waits: nobody: "));
}

TEST(LabTraceChain, IsNotThereWhenTheRunPasses) {
  const TraceOfACase trace("circular_handshake", {"--set", "repaired=true"});
  EXPECT_EQ(trace.outcome.exit_code, 0) << trace.outcome.err;
  EXPECT_THAT(chain_of(trace.tracks()), testing::IsEmpty());
}

TEST(LabTraceChain, AReplayShowsTheSame) {
  const TemporaryFolder folder;
  const Outcome hunt = run_command({"hunt", "wait_holds_core", "--program-path", cases, "--chip-set", "clusters=1",
                                    "--budget", "2000", "--out", folder.file("f.heddle")});
  ASSERT_EQ(hunt.exit_code, 1) << hunt.err;
  const Outcome replay = run_command(
      {"replay", folder.file("f.heddle"), "--program-path", cases, "--trace", folder.file("trace.json"), "--json"});
  ASSERT_EQ(replay.exit_code, 0) << replay.err;
  const Tracks tracks(folder.file("trace.json"));
  tracks.expect_sound();
  EXPECT_EQ(chain_of(tracks).size(), 3U);
}

TEST(LabTraceChain, ChangesNoHash) {
  const std::vector<std::string> plain{"run",        "circular_handshake", "--program-path", cases, "--on",  "lab:a2a3",
                                       "--chip-set", "clusters=1",         "--seed",         "5",   "--json"};
  const TraceOfACase traced("circular_handshake", {"--seed", "5", "--json"});
  EXPECT_EQ(nlohmann::json::parse(traced.outcome.out).at("trace_hash"),
            nlohmann::json::parse(run_command(plain).out).at("trace_hash"));
}

}  // namespace
}  // namespace heddle::test
