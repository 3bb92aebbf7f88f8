// SPDX-License-Identifier: Apache-2.0
//
// Small situations, as a runtime would record them, and what is concluded from each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <heddle/error.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "doctor/write.hpp"
#include "snapshot/json.hpp"

namespace heddle::doctor {
namespace {

using testing::HasSubstr;
using testing::Not;

snapshot::Snapshot of(const std::string& rest, const char* taken = "standstill") {
  return snapshot::parse(R"({"format": "heddle-snapshot", "version": 1, "taken": ")" + std::string(taken) + "\", " +
                         rest + "}");
}

constexpr const char* two_ranks = R"("ranks": [{"rank": 0, "state": "running", "round": 4, "waits_for": "end"},
                                               {"rank": 1, "state": "running", "round": 4, "waits_for": "end"}])";

std::string waiting(int rank, int task, int core, int cell, const char* window = "done") {
  const std::string r = std::to_string(rank);
  return R"({"rank": )" + r + R"(, "task": )" + std::to_string(task) + R"(, "block": 0, "state": "waiting", "core": )" +
         std::to_string(core) + R"(, "wait": {"window": ")" + window + R"(", "cell": )" + std::to_string(cell) +
         R"(, "compare": ">=", "needs": 1, "has": 0}})";
}

int code_of(const Report& report) { return report.concluded_code; }
std::string told(const Report& report, const snapshot::Snapshot& snapshot) { return to_text(report, snapshot); }

const WaitReport* wait_of(const Report& report, const std::string& name) {
  const auto found = std::find_if(report.waits.begin(), report.waits.end(),
                                  [&](const WaitReport& wait) { return wait.who.name == name; });
  return found == report.waits.end() ? nullptr : &*found;
}

// Each rank's task waits before it notifies the other's.
snapshot::Snapshot handshake() {
  return of(std::string(two_ranks) + R"(,
    "tasks": [{"rank": 0, "task": 0, "name": "open", "state": "running", "blocks": 1, "begun": 1, "ended": 0, "producers": []},
              {"rank": 0, "task": 1, "name": "use", "state": "submitted", "blocks": 1, "begun": 0, "ended": 0, "cubes": 0,
               "vectors": 1, "producers": [{"rank": 0, "task": 0}]},
              {"rank": 1, "task": 0, "name": "open", "state": "running", "blocks": 1, "begun": 1, "ended": 0, "producers": []}],
    "cores": [{"rank": 0, "core": 0, "kind": "vector", "cluster": 0, "state": "running", "running": {"task": 0, "block": 0}},
              {"rank": 1, "core": 0, "kind": "vector", "cluster": 0, "state": "running", "running": {"task": 0, "block": 0}}],
    "blocks": [)" +
            waiting(0, 0, 0, 0) + "," + waiting(1, 0, 0, 0) + R"(],
    "cells": [{"rank": 0, "window": "done", "cell": 0, "value": 0, "older": 0, "history": [], "notifiers": [{"rank": 1, "task": 0}]},
              {"rank": 1, "window": "done", "cell": 0, "value": 0, "older": 0, "history": [], "notifiers": [{"rank": 0, "task": 0}]}])");
}

TEST(Diagnose, TwoThatWaitForEachOther) {
  const auto snapshot = handshake();
  const Report report = diagnose(snapshot);
  EXPECT_EQ(report.verdict, "DEADLOCK (proved)");
  EXPECT_EQ(code_of(report), static_cast<int>(Code::signal_deadlock));
  EXPECT_TRUE(report.is_proved);
  EXPECT_TRUE(report.chain_closes);
  EXPECT_EQ(report.culprit.text, "open (rank 0, task 0) block 0");
  ASSERT_EQ(report.victims.size(), 1U);
  EXPECT_EQ(report.victims[0].text, "use (rank 0, task 1)");
  ASSERT_EQ(report.waits.size(), 2U);
  EXPECT_TRUE(report.waits[0].is_cause && report.waits[1].is_cause);
  ASSERT_EQ(report.waits[0].could.size(), 1U);
  EXPECT_EQ(report.waits[0].could[0].why, Why::waits_itself);
  ASSERT_EQ(report.chain.size(), 5U) << told(report, snapshot);
  EXPECT_EQ(report.chain[1].sentence, "open (rank 1, task 0) block 0 would notify it, and waits itself before it does");
  EXPECT_THAT(report.chain[4].sentence, HasSubstr("so it comes back to open (rank 0, task 0) block 0"));
  EXPECT_EQ(report.classes.size(), 2U) << "ranks 0, 1; their cores";
  EXPECT_EQ(report.classes[0].text, "ranks 0, 1");
}

TEST(Diagnose, AWaitThatHoldsTheCoreOfItsOwnSatisfier) {
  const auto snapshot = of(R"("ranks": [{"rank": 0, "state": "running", "waits_for": "end"}],
    "tasks": [{"rank": 0, "task": 0, "name": "consume", "state": "running", "blocks": 1, "begun": 1, "ended": 0, "producers": []},
              {"rank": 0, "task": 1, "name": "produce", "state": "ready", "blocks": 1, "begun": 0, "ended": 0, "cubes": 0,
               "vectors": 1, "producers": []}],
    "cores": [{"rank": 0, "core": 0, "kind": "cube", "cluster": 0, "state": "idle"},
              {"rank": 0, "core": 1, "kind": "vector", "cluster": 0, "state": "running", "running": {"task": 0, "block": 0}}],
    "blocks": [)" + waiting(0, 0, 1, 0) +
                           R"(],
    "cells": [{"rank": 0, "window": "done", "cell": 0, "notifiers": [{"rank": 0, "task": 1}]}])");
  const Report report = diagnose(snapshot);
  EXPECT_EQ(code_of(report), static_cast<int>(Code::core_deadlock)) << told(report, snapshot);
  EXPECT_EQ(report.culprit.name, "produce");
  ASSERT_FALSE(report.advice.empty());
  EXPECT_THAT(report.advice[0], HasSubstr("an edge produce -> consume on rank 0 would make this impossible"));
  EXPECT_EQ(wait_of(report, "consume")->could[0].why, Why::queued_behind);
}

// A task that was placed before it may begin takes the core of what it waits for.
TEST(Diagnose, AGateThatHoldsTheCoreOfItsOwnProducer) {
  const auto snapshot = of(R"("ranks": [{"rank": 0, "state": "running", "waits_for": "end"}],
    "tasks": [{"rank": 0, "task": 0, "name": "first", "state": "ready", "blocks": 1, "begun": 0, "ended": 0, "cubes": 0,
               "vectors": 1, "producers": []},
              {"rank": 0, "task": 1, "name": "second", "state": "submitted", "blocks": 1, "begun": 0, "ended": 0, "cubes": 0,
               "vectors": 1, "producers": [{"rank": 0, "task": 0}]}],
    "cores": [{"rank": 0, "core": 1, "name": "cluster 0 vector 0", "kind": "vector", "cluster": 0, "state": "gated",
               "running": {"task": 1, "block": 0}}],
    "blocks": [{"rank": 0, "task": 1, "block": 0, "state": "dispatched", "core": 1}], "cells": [])");
  const Report report = diagnose(snapshot);
  EXPECT_EQ(code_of(report), static_cast<int>(Code::core_deadlock)) << told(report, snapshot);
  EXPECT_EQ(report.culprit.name, "first");
  EXPECT_TRUE(report.chain_closes);
  EXPECT_THAT(report.chain[0].sentence, HasSubstr("is behind its gate on rank 0 cluster 0 vector 0"));
  ASSERT_FALSE(report.advice.empty());
  EXPECT_THAT(report.advice[0], HasSubstr("this is a fault of the runtime"));
}

TEST(Diagnose, AnotherCoreOfTheKindIsEnough) {
  const auto snapshot = of(R"("ranks": [{"rank": 0, "state": "running", "waits_for": "end"}],
    "tasks": [{"rank": 0, "task": 0, "name": "consume", "state": "running", "blocks": 1, "begun": 1, "ended": 0, "producers": []},
              {"rank": 0, "task": 1, "name": "produce", "state": "ready", "blocks": 1, "begun": 0, "ended": 0, "cubes": 0,
               "vectors": 1, "producers": []}],
    "cores": [{"rank": 0, "core": 0, "kind": "vector", "cluster": 0, "state": "idle"},
              {"rank": 0, "core": 1, "kind": "vector", "cluster": 0, "state": "running", "running": {"task": 0, "block": 0}}],
    "blocks": [)" + waiting(0, 0, 1, 0) +
                               R"(],
    "cells": [{"rank": 0, "window": "done", "cell": 0, "notifiers": [{"rank": 0, "task": 1}]}])",
                           "request");
  const Report report = diagnose(snapshot);
  EXPECT_FALSE(report.is_proved) << told(report, snapshot);
  EXPECT_TRUE(report.chain.empty());
  EXPECT_EQ(wait_of(report, "consume")->could[0].why, Why::can_still);
}

// Nothing moved, no core was held by a wait, and a task was ready: the runtime's own fault.
TEST(Diagnose, AReadyTaskThatNobodyHandsOutIsNotTheProgramsFault) {
  const auto snapshot = of(R"("ranks": [{"rank": 0, "state": "running", "waits_for": "end"}],
    "tasks": [{"rank": 0, "task": 0, "name": "lonely", "state": "ready", "blocks": 1, "begun": 0, "ended": 0, "cubes": 0,
               "vectors": 1, "producers": []}],
    "blocks": [], "cells": [],
    "cores": [{"rank": 0, "core": 0, "kind": "vector", "cluster": 0, "state": "idle"}])");
  const Report report = diagnose(snapshot);
  EXPECT_EQ(report.verdict, "NOT EXPLAINED BY THE PROGRAM");
  EXPECT_EQ(code_of(report), static_cast<int>(Code::no_progress));
  EXPECT_EQ(report.culprit.name, "lonely");
  const auto dispatch = std::find_if(report.hypotheses.begin(), report.hypotheses.end(), [](const Hypothesis& each) {
    return each.name.find("a ready task that is not handed out") != std::string::npos;
  });
  ASSERT_NE(dispatch, report.hypotheses.end());
  EXPECT_EQ(dispatch->outcome, Hypothesis::Outcome::confirmed);
}

// A wait for a cell whose one notifier is task 1 of rank 0; `state` and `history` of it.
Report with_notifier(const std::string& task, const std::string& cell, const char* taken = "standstill",
                     const char* ranks = two_ranks) {
  return diagnose(of(std::string(ranks) + R"(,
    "tasks": [{"rank": 0, "task": 0, "name": "read", "state": "running", "blocks": 1, "begun": 1, "ended": 0, "producers": []},
              {"rank": 0, "task": 2, "name": "before", "state": "running", "blocks": 1, "begun": 1, "ended": 0},
              {"rank": 1, "task": 1, "name": "send", )" +
                         task + R"(}],
    "blocks": [)" + waiting(0, 0, 0, 0) +
                         R"(], "cores": [{"rank": 0, "core": 0, "kind": "vector", "cluster": 0,
      "state": "running", "running": {"task": 0, "block": 0}}],
    "cells": [{"rank": 0, "window": "done", "cell": 0, "value": 0, )" +
                         cell + "}]",
                     taken));
}
constexpr const char* its_own = R"("notifiers": [{"rank": 1, "task": 1}], "older": 0)";
constexpr const char* over = R"("state": "complete", "blocks": 1, "begun": 1, "ended": 1)";

Why why_not(const Report& report) {
  const WaitReport* const wait = wait_of(report, "read");
  if (wait == nullptr || wait->could.empty()) return Why::unknown;
  return wait->could.front().why;
}

TEST(Diagnose, WhyNobodySatisfiedAWait) {
  const std::string own = its_own;
  EXPECT_EQ(why_not(with_notifier(R"("state": "not_submitted")", own)), Why::never_submitted);
  EXPECT_EQ(why_not(with_notifier(R"("state": "submitted", "producers": [])", own)), Why::queued_behind);
  EXPECT_EQ(why_not(with_notifier(over, own)), Why::ran_not_enough);
  EXPECT_EQ(why_not(with_notifier(over, R"("notifiers": [{"rank": 1, "task": 1}])")), Why::unknown);
  EXPECT_EQ(
      why_not(with_notifier(over, own + R"(, "history": [{"rank": 1, "task": 1, "round": 4, "value": 1, "op": "add",
                                                  "issued": 5}])")),
      Why::not_visible);
  EXPECT_EQ(
      why_not(with_notifier(over, own + R"(, "history": [{"rank": 1, "task": 1, "round": 4, "value": 1, "op": "add",
                                                  "issued": 5, "lost": true}])")),
      Why::not_visible);
  EXPECT_EQ(
      why_not(with_notifier(over, own + R"(, "history": [{"rank": 1, "task": 1, "round": 4, "value": 1, "op": "add",
        "issued": 5, "arrived": 6}, {"kind": "store", "rank": 0, "task": 2, "name": "before", "round": 4, "value": 0,
        "issued": 7, "arrived": 7}])")),
      Why::cleared);
  EXPECT_EQ(why_not(with_notifier(over, R"("notifiers": [], "older": 0, "history": [{"rank": 1, "task": 1, "round": 3,
        "name": "send", "value": 1, "op": "set", "issued": 5, "arrived": 6}])")),
            Why::ran_earlier);
  EXPECT_EQ(why_not(with_notifier(R"("state": "running", "blocks": 1, "begun": 0)", own, "standstill",
                                  R"("ranks": [{"rank": 0, "state": "running"}, {"rank": 1, "state": "dead"}])")),
            Why::died);
}

TEST(Diagnose, ACellThatNoTaskNotifiesIsAProof) {
  const Report report = with_notifier(over, R"("notifiers": [], "older": 0)", "request");
  EXPECT_EQ(report.verdict, "DEADLOCK (proved)");
  EXPECT_EQ(code_of(report), static_cast<int>(Code::signal_deadlock));
  EXPECT_EQ(report.culprit.name, "read");
  EXPECT_THAT(report.chain.back().sentence, HasSubstr("no task of this round notifies cell 0 of \"done\" on rank 0"));
}

TEST(Diagnose, WhoNotifiesUnknownIsNotProvedUnlessNothingMoves) {
  EXPECT_EQ(with_notifier(over, R"("older": 0)", "request").verdict, "UNDECIDED");
  EXPECT_EQ(with_notifier(over, R"("older": 0)").verdict, "DEADLOCK (proved)");
}

TEST(Diagnose, ARankThatFailedIsTheCause) {
  const Report report = with_notifier(
      R"("state": "submitted", "producers": [])", its_own, "standstill",
      R"("ranks": [{"rank": 0, "state": "running", "waits_for": "end"}, {"rank": 1, "state": "failed"}])");
  EXPECT_EQ(report.verdict, "FAILED");
  EXPECT_EQ(report.culprit.text, "the program of rank 1");
  EXPECT_FALSE(report.chain.empty());
}

TEST(Diagnose, CoresThatDoNothing) {
  const auto with_core = [](const char* block) {
    return diagnose(of(R"("ranks": [{"rank": 0, "state": "running", "waits_for": "end"}],
      "tasks": [{"rank": 0, "task": 0, "name": "stuck", "state": "running", "blocks": 1, "begun": 1, "ended": 0, "producers": []}],
      "blocks": [{"rank": 0, "task": 0, "block": 0, "core": 3, "state": ")" +
                       std::string(block) + R"("}], "cells": [],
      "cores": [{"rank": 0, "core": 3, "name": "cluster 1 cube", "kind": "cube", "cluster": 1, "state": "dead",
                 "running": {"task": 0, "block": 0}}])"));
  };
  const Report given = with_core("dispatched");
  EXPECT_EQ(given.verdict, "NO PROGRESS (proved)");
  EXPECT_EQ(code_of(given), static_cast<int>(Code::no_progress));
  EXPECT_EQ(given.culprit.text, "rank 0 cluster 1 cube");
  const Report runs = with_core("running");
  EXPECT_EQ(runs.verdict, "CORE STALLED");
  EXPECT_EQ(code_of(runs), static_cast<int>(Code::core_stalled));
}

TEST(Diagnose, RingsThatAreTooSmall) {
  const auto ring = [](const char* resource, const char* more) {
    return diagnose(of(R"("ranks": [{"rank": 0, "state": "running", "waits_for": "ring", "ring": 1, "resource": ")" +
                       std::string(resource) + R"(", "for_task": "next", "source": {"file": "a.cpp", "line": 7})" +
                       more +
                       R"(}], "tasks": [], "rings": [{"rank": 0, "ring": 1, "tasks": {"size": 4, "held": 4}}])"));
  };
  const Report scope = ring("task_window", R"(, "held_by_scope": true)");
  EXPECT_EQ(code_of(scope), static_cast<int>(Code::scope_deadlock));
  EXPECT_EQ(scope.culprit.source.text(), "a.cpp:7");
  EXPECT_THAT(scope.chain[0].sentence,
              HasSubstr("waits for room in the task window of ring 1, to submit next (a.cpp:7)"));
  EXPECT_EQ(code_of(ring("heap", R"(, "held_by_scope": true)")), static_cast<int>(Code::heap_ring_deadlock));
  EXPECT_EQ(code_of(ring("dep_pool", R"(, "held_by_scope": true)")), static_cast<int>(Code::dep_pool_overflow));
  // Not known what holds it: not proved.
  EXPECT_FALSE(ring("heap", "").is_proved);
}

TEST(Diagnose, ARingHeldByATaskThatWaitsForWhatComesNext) {
  const auto snapshot =
      of(R"("ranks": [{"rank": 0, "state": "running", "waits_for": "ring", "ring": 0, "resource": "task_window",
      "holder": 0, "for_task": "send"}],
    "tasks": [{"rank": 0, "task": 0, "name": "wait", "state": "running", "blocks": 1, "begun": 1, "ended": 0, "producers": []},
              {"rank": 0, "task": 1, "name": "send", "state": "not_submitted"}],
    "blocks": [)" +
         waiting(0, 0, -1, 0) + R"(],
    "cells": [{"rank": 0, "window": "done", "cell": 0, "notifiers": [{"rank": 0, "task": 1}]}])");
  const Report report = diagnose(snapshot);
  EXPECT_EQ(code_of(report), static_cast<int>(Code::flow_control_deadlock)) << told(report, snapshot);
  EXPECT_TRUE(report.chain_closes);
  EXPECT_EQ(wait_of(report, "wait")->could[0].why, Why::never_submitted);
}

TEST(Diagnose, WhatTheRuntimeSaidStandsAndADifferenceIsTold) {
  auto snapshot = handshake();
  snapshot.outcome.emplace();
  snapshot.outcome->verdict = "CORE STALLED";
  snapshot.outcome->code = static_cast<int>(Code::core_stalled);
  snapshot.outcome->message = "a core does not go on";
  const Report report = diagnose(snapshot);
  EXPECT_TRUE(report.is_recorded);
  EXPECT_EQ(report.verdict, "CORE STALLED");
  EXPECT_EQ(report.code, static_cast<int>(Code::core_stalled));
  EXPECT_THAT(report.disagreement, HasSubstr("the snapshot alone says signal_deadlock"));
  // What a checker has found came before, and is no difference.
  snapshot.outcome->code = static_cast<int>(Code::race);
  EXPECT_EQ(diagnose(snapshot).disagreement, "");
}

TEST(Diagnose, NothingRecordedIsNothingConcluded) {
  const Report report = diagnose(snapshot::parse(R"({"format": "heddle-snapshot", "version": 1})"));
  EXPECT_EQ(report.verdict, "NOTHING WAITS");
  EXPECT_FALSE(report.is_proved);
  EXPECT_EQ(report.missing.size(), 4U);
}

TEST(Diagnose, ACellThatItsHistoryDoesNotMakeIsOdd) {
  const auto odd = [](int value) {
    return diagnose(
               of(R"("ranks": [{"rank": 0}], "cells": [{"rank": 0, "window": "w", "cell": 2, "older": 0, "value": )" +
                  std::to_string(value) + R"(, "history": [{"value": 3, "op": "add", "arrived": 4},
                       {"value": 5, "op": "set", "arrived": 2}, {"value": 9, "op": "add"}]}])"))
        .anomalies;
  };
  EXPECT_TRUE(odd(8).empty());
  ASSERT_EQ(odd(11).size(), 1U);
  EXPECT_EQ(odd(11)[0].sentence, "cell 2 of \"w\" on rank 0 is 11, and what arrived makes it 8");
}

// The first field report, as far as it was recorded.
TEST(Diagnose, TheFieldReportDoesNotDecide) {
  const auto snapshot =
      snapshot::read(std::string(HEDDLE_TEST_SOURCE_DIR) + "/tests/data/tp_notify_hang.snapshot.json");
  const Report report = diagnose(snapshot);
  EXPECT_EQ(report.verdict, "UNDECIDED");
  EXPECT_EQ(report.code, -1);
  EXPECT_EQ(report.culprit.kind, Party::Kind::none);
  for (const char* what : {"cores", "tasks/state", "blocks/state", "cells/value", "cells/history"}) {
    const auto found = std::find_if(report.missing.begin(), report.missing.end(),
                                    [&](const Missing& each) { return each.what == what; });
    ASSERT_NE(found, report.missing.end()) << what;
    EXPECT_TRUE(found->decides) << what;
  }
  for (const Hypothesis& each : report.hypotheses) {
    const bool is_known =
        each.name.find("lacks") != std::string::npos || each.name.find("rank that") != std::string::npos;
    EXPECT_EQ(each.outcome, is_known ? Hypothesis::Outcome::excluded : Hypothesis::Outcome::open) << each.name;
  }
  const std::string text = told(report, snapshot);
  EXPECT_THAT(text, HasSubstr("ranks 4-15: ended"));
  EXPECT_THAT(text, HasSubstr("! cores: "));
}

TEST(Diagnose, TextKeepsToItsColumnsAndIsPlain) {
  auto snapshot = handshake();
  snapshot.tasks[0].name = "evil\x1b[31m\n";
  const Report report = diagnose(snapshot);
  std::istringstream lines(told(report, snapshot));
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; }), 80) << line;
    EXPECT_EQ(line.find('\x1b'), std::string::npos) << line;
  }
  TextOptions colour;
  colour.colour = true;
  EXPECT_THAT(to_text(report, snapshot, colour), HasSubstr("\x1b[1;31mDEADLOCK"));
  EXPECT_THAT(to_text(report, snapshot, colour), Not(HasSubstr("evil\x1b")));
}

TEST(Diagnose, JsonHoldsWhatTheTextTells) {
  const auto snapshot = handshake();
  const Report report = diagnose(snapshot);
  const auto json = to_json(report);
  EXPECT_EQ(json.at("verdict"), "DEADLOCK (proved)");
  EXPECT_EQ(json.at("name"), "signal_deadlock");
  EXPECT_EQ(json.at("chain").size(), report.chain.size());
  EXPECT_EQ(json.at("chain")[0].at("from").at("id"), "r0.t0.b0");
  EXPECT_EQ(json.at("chain")[0].at("to").at("kind"), "cell");
  EXPECT_EQ(json.at("waits")[0].at("could_satisfy")[0].at("why_not"), "waits itself");
  EXPECT_EQ(json.at("victims")[0].at("text"), "use (rank 0, task 1)");
}

// A long round in which everything waits for one thing: no quadratic cost, and lists that end.
TEST(Diagnose, ALargeSnapshotStaysWithinBounds) {
  snapshot::Snapshot snapshot = handshake();
  for (int i = 2; i < 100'000; ++i) {
    snapshot::Task task = snapshot.tasks[1];
    task.task = i;
    task.producers->assign(1, {0, i - 1});
    snapshot.tasks.push_back(task);
  }
  const Report report = diagnose(snapshot);
  EXPECT_EQ(report.victims.size(), 2'000U);
  EXPECT_THAT(report.notes.back(), HasSubstr("97999 more victims"));
  EXPECT_LT(told(report, snapshot).size(), 20'000U);
}

}  // namespace
}  // namespace heddle::doctor
