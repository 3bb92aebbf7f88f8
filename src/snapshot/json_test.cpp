// SPDX-License-Identifier: Apache-2.0
#include "snapshot/json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <heddle/error.hpp>
#include <random>

#include "lab/seeds.hpp"

namespace heddle::snapshot {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string with(const std::string& rest) {
  return R"({"format": "heddle-snapshot", "version": 1)" + (rest.empty() ? "" : ", " + rest) + "}";
}

std::string refusal(const std::string& text, const Limits& limits = {}) {
  try {
    (void)parse(text, limits);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid_argument);
    EXPECT_EQ(error.message().find('\n'), std::string::npos) << error.message();
    return error.message();
  }
  return "";
}

void add_rank(Snapshot& snapshot, int number, RankState state, std::int64_t round) {
  Rank& rank = snapshot.ranks.emplace_back();
  rank.rank = number;
  rank.state = state;
  rank.round = round;
}

TEST(SnapshotJson, NothingIsNeededButFormatAndVersion) {
  const Snapshot snapshot = parse(with(""));
  EXPECT_TRUE(snapshot.recorded.empty());
  EXPECT_FALSE(snapshot.has("tasks"));
}

TEST(SnapshotJson, WhatIsWrittenIsReadAgain) {
  Snapshot snapshot;
  snapshot.program = "a \"quoted\" name\n";
  snapshot.seed = UINT64_MAX;
  snapshot.taken = Taken::standstill;
  add_rank(snapshot, 0, RankState::running, 3);
  add_rank(snapshot, 1, RankState::ended, 3);
  Task task;
  task.rank = 0;
  task.task = 0;
  task.name = "push";
  task.producers.emplace();
  snapshot.tasks.push_back(task);
  task.task = 1;
  task.producers->push_back({0, 0});
  snapshot.tasks.push_back(task);
  Block block;
  block.rank = 0;
  block.task = 1;
  block.block = 0;
  block.state = BlockState::waiting;
  block.wait.emplace().window = "done";
  block.wait->needs = INT64_MIN;
  block.wait->compare = ">=";
  block.wait->rank = 0;
  snapshot.blocks.push_back(block);
  snapshot.recorded = {"faults"};
  const std::string text = to_json(snapshot);
  const Snapshot again = parse(text);
  EXPECT_EQ(to_json(again), text);
  EXPECT_EQ(again.program, snapshot.program);
  EXPECT_TRUE(again.has("faults"));
  EXPECT_FALSE(again.has("cells"));
  ASSERT_EQ(again.tasks.size(), 2U);
  EXPECT_EQ(again.tasks[1].producers, snapshot.tasks[1].producers);
  EXPECT_EQ(again.blocks[0].wait->needs, INT64_MIN);
}

TEST(SnapshotJson, NamesThatAreNoUtf8AreReplaced) {
  Snapshot snapshot;
  snapshot.program = "\xff\xfe";
  EXPECT_EQ(parse(to_json(snapshot)).program, "\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(SnapshotJson, FieldsThatAreNotKnownAreLeft) {
  const Snapshot snapshot = parse(with(R"("later": {"deep": [1, {"a": null}]}, "more": [[1], 2.5],
      "ranks": [{"rank": 0, "colour": ["red"], "state": "dead"}])"));
  ASSERT_EQ(snapshot.ranks.size(), 1U);
  EXPECT_EQ(snapshot.ranks[0].state, RankState::dead);
}

TEST(SnapshotJson, ComparisonsMayBeWords) {
  const Snapshot snapshot =
      parse(with(R"("blocks": [{"rank": 0, "task": 0, "wait": {"window": "w", "cell": 1, "compare": "ge"}}])"));
  EXPECT_EQ(snapshot.blocks[0].wait->compare, ">=");
  EXPECT_EQ(snapshot.blocks[0].wait->rank, 0);
}

struct Bad {
  const char* text;
  const char* message;
};

TEST(SnapshotJson, EveryRefusalSaysWhere) {
  const Bad bad[] = {
      {R"("ranks": {})", "/ranks: an array is expected, and this is an object"},
      {R"("ranks": 3)", "/ranks: an array is expected, and this is 3"},
      {R"("ranks": [7])", "/ranks/0: an object is expected, and this is 7"},
      {R"("ranks": [{"state": "dead"}])", "/ranks/0/rank: it is missing: whose record is this?"},
      {R"("ranks": [{"rank": "one"}])",
       "/ranks/0/rank: a whole number from -1 to 2147483647 is expected, and this is \"one\""},
      {R"("ranks": [{"rank": 1.5}])", "/ranks/0/rank: a whole number from -1 to 2147483647 is expected"},
      {R"("ranks": [{"rank": 4294967296}])", "/ranks/0/rank: a whole number"},
      {R"("ranks": [{"rank": 0, "state": "asleep"}])",
       "/ranks/0/state: one of unknown, running, ended, failed, dead is expected, and this is \"asleep\""},
      {R"("ranks": [{"rank": 0}, {"rank": 0}])", "/ranks/1: the same as /ranks/0"},
      {R"("ranks": [{"rank": 0}], "ranks": [])", "/ranks: it stands in the file twice"},
      {R"("ranks": [{"rank": 0}], "tasks": [{"rank": 1, "task": 0}])", "/tasks/0/rank: there is no rank 1 in /ranks"},
      {R"("tasks": [{"rank": 0}])", "/tasks/0/task: it is missing"},
      {R"("tasks": [{"rank": 0, "task": 1}, {"rank": 0, "task": 1}])", "/tasks/1: the same as /tasks/0"},
      {R"("tasks": [{"rank": 0, "task": 1, "producers": [{"rank": 0, "task": 9}]}])",
       "/tasks/0/producers/0: there is no task 9 of rank 0 in /tasks"},
      {R"("tasks": [{"rank": 0, "task": 1, "producers": [{"rank": 0}]}])",
       "/tasks/0/producers/0: a rank and a task are expected"},
      {R"("tasks": [{"rank": 0, "task": 1, "producers": [{"rank": 0, "task": 2}]},
                    {"rank": 0, "task": 2, "producers": [{"rank": 0, "task": 1}]}])",
       "/tasks/0/producers: these tasks are producers of each other"},
      {R"("tasks": [{"rank": 0, "task": 1, "producers": [{"rank": 0, "task": 1}]}])",
       "/tasks/0/producers: these tasks"},
      {R"("tasks": [], "blocks": [{"rank": 0, "task": 5}])", "/blocks/0/task: there is no task 5"},
      {R"("cores": [], "blocks": [{"rank": 0, "task": 5, "core": 2}])", "/blocks/0/core: there is no core 2"},
      {R"("blocks": [{"rank": 0, "wait": {"compare": "about"}}])",
       "/blocks/0/wait/compare: \"about\" is no comparison"},
      {R"("tasks": [], "cores": [{"rank": 0, "core": 1, "running": {"task": 3}}])",
       "/cores/0/running/task: there is no"},
      {R"("tasks": [], "queues": [{"rank": 0, "entries": [{"task": 3}]}])", "/queues/0/entries/0/task: there is no"},
      {R"("cells": [{"rank": 0, "window": "w", "cell": 0}, {"rank": 0, "window": "w", "cell": 0}])",
       "/cells/1: the same as /cells/0"},
      {R"("seed": -1)", "/seed: a whole number from 0 on is expected, and this is -1"},
      {R"("notes": [1])", "/notes/0: a string is expected, and this is 1"},
      {R"("outcome": [])", "/outcome: an object is expected, and this is an array"},
  };
  for (const Bad& each : bad) EXPECT_THAT(refusal(with(each.text)), StartsWith(each.message)) << each.text;
}

TEST(SnapshotJson, WhatIsNoSnapshotIsRefused) {
  for (const char* text : {"[]", "3", "{}", "\"x\"", "heddle-failure 1\n", R"({"format": "other", "version": 1})",
                           R"({"ranks": []})", R"({"format": "heddle-snapshot"})", "\xff"})
    EXPECT_THAT(refusal(text), HasSubstr("this is no snapshot")) << text;
  EXPECT_EQ(refusal(""), "the file is empty");
}

TEST(SnapshotJson, ALaterVersionIsRefusedWithBothNumbers) {
  EXPECT_EQ(refusal(R"({"format": "heddle-snapshot", "version": 2, "anything": "else"})"),
            "/version: the file has version 2, and this heddle reads version 1; a newer one reads it");
  EXPECT_THAT(refusal(R"({"format": "heddle-snapshot", "version": "1"})"), StartsWith("/version"));
}

TEST(SnapshotJson, ASyntaxErrorSaysAtWhichByte) {
  EXPECT_THAT(refusal(with(R"("ranks": [{"rank": 0} {"rank": 1}])")), HasSubstr("in /ranks: no JSON: "));
}

TEST(SnapshotJson, OfAFileThatIsCutOffTheRestIsRead) {
  Snapshot snapshot;
  add_rank(snapshot, 0, RankState::running, 0);
  for (int i = 0; i < 3; ++i) {
    Task task;
    task.rank = 0;
    task.task = i;
    if (i > 0) task.producers.emplace(1, TaskRef{0, i - 1});
    snapshot.tasks.push_back(task);
  }
  snapshot.ranks[0].holder = 2;
  snapshot.recorded = {"blocks"};
  const std::string text = to_json(snapshot);
  const std::size_t head = text.find("\"version\": 1") + 12;
  for (std::size_t length = 1; length + 2 < text.size(); ++length) {
    if (length < head) {
      EXPECT_NE(refusal(text.substr(0, length)), "") << length;
      continue;
    }
    const Snapshot partial = parse(text.substr(0, length));
    ASSERT_FALSE(partial.notes.empty()) << length;
    EXPECT_THAT(partial.notes[0], HasSubstr("is cut off at byte " + std::to_string(length))) << length;
    EXPECT_LE(partial.tasks.size(), 3U);
  }
}

TEST(SnapshotJson, LimitsHold) {
  Limits small;
  small.bytes = 1'000;
  EXPECT_THAT(refusal(with("\"program\": \"" + std::string(2'000, 'x') + "\""), small),
              HasSubstr("larger than 1000 bytes"));
  EXPECT_THAT(refusal(with("\"x\": " + std::string(100, '[') + std::string(100, ']'))),
              HasSubstr("/x: deeper than 16"));
  Limits few;
  few.records = 2;
  EXPECT_THAT(refusal(with(R"("faults": [{}, {}, {}])"), few), StartsWith("/faults/2: more than 2 records"));
  few = {};
  few.values_of_one = 5;
  EXPECT_THAT(refusal(with(R"("x": [1, 2, 3, 4, 5, 6])"), few), StartsWith("/x: more than 5 values"));
  few = {};
  few.values = 5;
  EXPECT_THAT(refusal(with(R"("x": [1, 2, 3, 4, 5, 6])"), few), StartsWith("/x: more than 5 values"));
}

TEST(SnapshotJson, OfALongTextTheBeginningIsRead) {
  const std::string long_name = std::string(text_bytes_most - 2, 'x') + "öööö";
  const Snapshot read = parse(with("\"program\": \"" + long_name + "\", \"notes\": [\"" + long_name + "\"]"));
  EXPECT_LE(read.program.size(), text_bytes_most);
  EXPECT_EQ(read.program, long_name.substr(0, text_bytes_most - 3) + "…");
  EXPECT_EQ(read.notes.front(), read.program);
  const std::string text = to_json(read);
  EXPECT_EQ(to_json(parse(text)), text);
  const std::string short_enough(text_bytes_most, 'x');
  EXPECT_EQ(parse(with("\"program\": \"" + short_enough + "\"")).program, short_enough);
}

TEST(SnapshotJson, ARefusalIsOneShortLineWhateverTheFileSays) {
  const std::string lengthy(5'000, 'x');
  for (const std::string& text :
       {with("\"" + lengthy + "\": [" + std::string(100, '[')), with("\"a\\nb\": 1, \"a\\nb\": 2"),
        with("\"" + lengthy + "\": 1, \"" + lengthy + "\": 2"), with("\"tasks\": [\"" + lengthy + "\"\"\"]"),
        with("\"taken\": \"" + lengthy + "\""),
        with(R"("tasks": [{"rank": 0, "task": 0, "conditions": [{"compare": ")" + lengthy + "\"}]}]")}) {
    const std::string message = refusal(text);
    EXPECT_NE(message, "") << text.substr(0, 100);
    EXPECT_LT(message.size(), 300U) << message;
  }
}

class SnapshotFile : public testing::Test {
 protected:
  ~SnapshotFile() override { std::remove(path_.c_str()); }
  std::string path_ = testing::TempDir() + "heddle-snapshot-" + std::to_string(::getpid()) + ".json";
};

// A file of a gigabyte, most of which is a hole: it is refused by its size, and no more than that is looked at.
TEST_F(SnapshotFile, OfAGigabyteIsRefusedInLittleMemory) {
  std::ofstream(path_) << with("\"tasks\": []");
  std::filesystem::resize_file(path_, std::size_t{1} << 30U);
  const auto read_it = [&] {
    const auto kilobytes = [] {
      rusage used{};
      ::getrusage(RUSAGE_SELF, &used);
      return used.ru_maxrss;
    };
    const auto before = kilobytes();
    try {
      (void)read(path_);
      std::_Exit(3);
    } catch (const Error& error) {
      const bool is_told = error.message().find("the file is larger than 268435456 bytes") != std::string::npos;
      std::_Exit(!is_told ? 4 : kilobytes() - before > 32 << 10 ? 5 : 0);
    }
  };
  EXPECT_EXIT(read_it(), testing::ExitedWithCode(0), "");
}

TEST(SnapshotJson, WhatHasNoEndIsReadUpToTheLimit) {
  Limits small;
  small.bytes = 1'000;
  try {
    (void)read("/dev/zero", small);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("\"/dev/zero\": the file is larger than 1000 bytes"));
  }
}

TEST(SnapshotJson, AFileThatIsNotThereIsNamed) {
  try {
    (void)read("/nowhere/at all.json");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "cannot read \"/nowhere/at all.json\": No such file or directory");
  }
  EXPECT_THROW((void)read("/"), Error);
}

// Whatever is changed in a file, it is read or refused.
TEST(SnapshotJson, ChangedBytesAreReadOrRefused) {
  const std::string good = with(R"("taken": "standstill", "ranks": [{"rank": 0, "state": "running"}],
      "tasks": [{"rank": 0, "task": 0, "name": "a", "state": "running", "blocks": 1},
                {"rank": 0, "task": 1, "producers": [{"rank": 0, "task": 0}]}],
      "blocks": [{"rank": 0, "task": 0, "block": 0, "state": "waiting",
                  "wait": {"window": "w", "cell": 0, "compare": ">=", "needs": 1, "has": 0}}],
      "cells": [{"rank": 0, "window": "w", "cell": 0, "value": 0, "history": [], "older": 0, "notifiers": []}])");
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const std::string pieces[] = {"{", "}", "[", "]", ",", "-1", "1e9", "null", "\"", "\\u0000", "9223372036854775807"};
  for (std::uint64_t i = lab::seeds(3'000); i > 0; --i) {
    std::string text = good;
    for (auto changes = 1 + random() % 3; changes > 0; --changes) {
      const auto at = static_cast<std::size_t>(random() % text.size());
      if (random() % 2 == 0)
        text[at] = static_cast<char>(random() % 256);
      else
        text.insert(at, pieces[random() % std::size(pieces)]);
    }
    try {
      (void)parse(text);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::invalid_argument) << text;
    }
  }
}

}  // namespace
}  // namespace heddle::snapshot
