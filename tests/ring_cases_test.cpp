// SPDX-License-Identifier: Apache-2.0
//
// Programs that need more of a ring than it has, and programs that need all of it: what is reported, and what passes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <heddle/heddle.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cli/program_loader.hpp"
#include "cli/run_plan.hpp"

namespace heddle {
namespace {

using testing::HasSubstr;
using testing::Not;

template <class F>
struct Body {
  F body;
  void plan(Plan& plan) const { plan.window("gate", 64); }
  void rank(Orchestrator& graph, const Io&) const { body(graph); }
};

struct Outcome {
  std::optional<Error> error;
  RoundStatistics statistics;
  Code code() const { return error ? error->code() : Code::ok; }
  std::string message() const { return error ? error->message() : std::string(); }
};

// One round in a new session. A device that has seen a failure serves the next session.
class RingCases : public testing::Test {
 protected:
  template <class F>
  Outcome run(const SessionConfig& config, F body) {
    Session session = device_.prepare(Body<F>{body}, config);
    Outcome outcome;
    try {
      outcome.statistics = session.run();
    } catch (const Error& error) {
      outcome.error = error;
    }
    return outcome;
  }

  // A program of the gallery.
  Session prepare(const std::string& name, const cli::Settings& settings, const SessionConfig& config) {
    return device_.prepare(cli::create_program(cli::find_program(name, {HEDDLE_TEST_CASE_DIR}), settings), config);
  }
  static RoundStatistics checked_round(Session& session) {
    session.fill(0, 0);
    const RoundStatistics statistics = session.run();
    session.check(0, 0);
    return statistics;
  }

  // The program fails for lack of `setting`, names the least value, and that is the least: it passes, `less` under it
  // does not. Returns the first message.
  template <class T, class F>
  std::string expect_least(SessionConfig config, T RingConfig::* setting, const char* name, Code code, T less, F body) {
    const Outcome failed = run(config, body);
    EXPECT_EQ(failed.code(), code) << failed.message();
    const std::string message = failed.message();
    const std::string before = std::string(name) + " = ";
    const std::size_t at = message.find(before), end = message.find(" is the least");
    if (at == std::string::npos || end == std::string::npos) {
      ADD_FAILURE() << "no least " << name << " in: " << message;
      return message;
    }
    const T least = static_cast<T>(std::stoull(message.substr(at + before.size(), end)));
    config.ring.*setting = least;
    const Outcome enough = run(config, body);
    EXPECT_EQ(enough.code(), Code::ok) << name << " = " << least << ": " << enough.message();
    config.ring.*setting = least - less;
    const Outcome short_of = run(config, body);
    EXPECT_EQ(short_of.code(), code) << name << " = " << least - less << ": " << short_of.message();
    return message;
  }

  Device device_ = Device::open("host", {.ranks = 1, .threads = 2});
};

SessionConfig ring(std::uint32_t task_window, std::uint64_t heap_bytes = 1U << 20U, std::uint32_t dep_pool = 4096) {
  SessionConfig config;
  config.ring = {task_window, heap_bytes, dep_pool};
  return config;
}

std::string here(std::uint32_t line) { return "tests/ring_cases_test.cpp:" + std::to_string(line); }

void nothing(Block&) {}

TEST_F(RingCases, FortyTasksInOneScopeNeedAWindowOfForty) {
  std::uint32_t line = 0;
  const auto body = [&line](Orchestrator& graph) {
    line = __LINE__ + 1;
    const Scope scope = graph.scope();
    for (int i = 0; i < 40; ++i) graph.submit("forty", vector_core, nothing);
  };
  const std::string message =
      expect_least(ring(32), &RingConfig::task_window, "task_window", Code::scope_deadlock, 1U, body);
  EXPECT_THAT(message, HasSubstr("task_window = 40 "));
  EXPECT_THAT(message, HasSubstr("32 tasks held by the open scope at " + here(line)));
}

// 1.2 GB through a heap of 256 MiB, 696 MB of it held at once: here in KiB for each MiB.
TEST_F(RingCases, AHeapThatAScopeHoldsIsReportedWithTheLeastThatServes) {
  std::uint32_t line = 0;
  static constexpr std::int64_t each = 4096, held = 166, rest = 120;
  const auto body = [&line](Orchestrator& graph) {
    const auto fill = [](Block&, const View<std::uint8_t, 1>& out) { out(0) = 1; };
    {
      line = __LINE__ + 1;
      const Scope scope = graph.scope();
      for (std::int64_t i = 0; i < held; ++i) graph.submit("held", vector_core, fill, new_tensor<std::uint8_t>(each));
    }
    const Scope scope = graph.scope();
    for (std::int64_t i = 0; i < rest; ++i) graph.submit("rest", vector_core, fill, new_tensor<std::uint8_t>(each));
  };
  const std::string message = expect_least(ring(1024, 256U << 10U), &RingConfig::heap_bytes, "heap_bytes",
                                           Code::heap_ring_deadlock, std::uint64_t{1024}, body);
  EXPECT_THAT(message, HasSubstr("heap_bytes = " + std::to_string(held * each) + " "));
  EXPECT_THAT(message, HasSubstr("262144 bytes in 64 tasks held by the open scope at " + here(line)));
}

TEST_F(RingCases, OneOutputLargerThanTheHeapIsRefusedAtOnce) {
  const auto body = [](Orchestrator& graph) {
    graph.submit("large", vector_core, [](Block&, const View<std::uint8_t, 1>&) {}, new_tensor<std::uint8_t>(32768));
  };
  const std::string message = expect_least(ring(4, 1024), &RingConfig::heap_bytes, "heap_bytes",
                                           Code::heap_ring_deadlock, std::uint64_t{1024}, body);
  EXPECT_THAT(message, HasSubstr("32768 bytes asked for at once, more than the heap of ring 0 (1024 bytes)"));
}

TEST_F(RingCases, TheLeastHeapCountsPredicatesAndLargeClosures) {
  struct Large {
    std::uint64_t words[100]{};
    void operator()(Block&, const View<std::uint8_t, 1>& out) const { out(0) = static_cast<std::uint8_t>(words[0]); }
  };
  static std::int32_t flag = 1;
  const auto body = [](Orchestrator& graph) {
    const Scope scope = graph.scope();
    for (int i = 0; i < 8; ++i) {
      graph.submit("large closure", vector_core, Large{}, new_tensor<std::uint8_t>(2000));
      graph.submit("predicated", vector_core, nothing, when(wrap(&flag, 1), Compare::eq, 1));
      graph.submit("both", vector_core, Large{}, new_tensor<std::uint8_t>(1), when(wrap(&flag, 1), Compare::eq, 0));
    }
  };
  expect_least(ring(1024, 8192), &RingConfig::heap_bytes, "heap_bytes", Code::heap_ring_deadlock, std::uint64_t{1024},
               body);
}

TEST_F(RingCases, NestedScopesThatShareARingAreSizedTogether) {
  const auto body = [](Orchestrator& graph) {
    std::vector<Scope> scopes;
    for (int depth = 0; depth < 8; ++depth) {
      scopes.push_back(graph.scope());
      for (int i = 0; i < 3; ++i) graph.submit("nested", vector_core, nothing);
    }
    while (!scopes.empty()) scopes.pop_back();
    for (int i = 0; i < 5; ++i) {  // later scopes need less, and start where the earlier ones have ended
      const Scope scope = graph.scope();
      graph.submit("later", vector_core, nothing);
    }
  };
  // Depths 3 to 8 share the last ring: 18 tasks.
  const std::string message =
      expect_least(ring(4), &RingConfig::task_window, "task_window", Code::flow_control_deadlock, 1U, body);
  EXPECT_THAT(message, HasSubstr("task_window = 18 "));
}

TEST_F(RingCases, WhatAProgramReadsBeforeItsEndMakesTheLeastALowerBound) {
  static std::int64_t cell = 0;
  const auto body = [](Orchestrator& graph) {
    const Scope scope = graph.scope();
    for (int i = 0; i < 6; ++i) graph.submit("few", vector_core, nothing);
    const std::int64_t more = graph.read(wrap(&cell, 1));
    for (std::int64_t i = 0; i < more; ++i) graph.submit("more", vector_core, nothing);
  };
  const Outcome outcome = run(ring(4), body);
  EXPECT_EQ(outcome.code(), Code::scope_deadlock);
  EXPECT_THAT(outcome.message(), HasSubstr("task_window = 6 is needed to get past this point"));
  EXPECT_THAT(outcome.message(), Not(HasSubstr("is the least")));
  EXPECT_EQ(run(ring(6), body).code(), Code::ok);
}

TEST_F(RingCases, ADependencyPoolThatOneTaskExceedsIsNamedWithItsNeed) {
  const auto body = [](Orchestrator& graph) {
    std::vector<TaskHandle> producers;
    for (int i = 0; i < 128; ++i) producers.push_back(graph.submit("producer", vector_core, nothing));
    graph.submit("consumer", vector_core, nothing, after(std::span<const TaskHandle>(producers)));
  };
  const Outcome outcome = run(ring(1024, 1024, 4), body);
  EXPECT_EQ(outcome.code(), Code::dep_pool_overflow);
  EXPECT_THAT(outcome.message(),
              HasSubstr("one task has 128 producers, more than the dependency pool of ring 0 (4 entries)"));
  EXPECT_THAT(outcome.message(), HasSubstr("dep_pool = 128 is needed"));
  EXPECT_EQ(run(ring(1024, 1024, 127), body).code(), Code::dep_pool_overflow);
  EXPECT_EQ(run(ring(1024, 1024, 128), body).code(), Code::ok);
}

TEST_F(RingCases, ADependencyPoolThatAScopeHoldsIsNamedWithItsHolder) {
  std::uint32_t line = 0;
  const auto body = [&line](Orchestrator& graph) {
    line = __LINE__ + 1;
    const Scope scope = graph.scope();
    const auto a = graph.submit("a", vector_core, nothing), b = graph.submit("b", vector_core, nothing),
               c = graph.submit("c", vector_core, nothing);
    graph.submit("first", vector_core, nothing, after(a, b, c));
    graph.submit("second", vector_core, nothing, after(a, b, c));
  };
  const Outcome outcome = run(ring(1024, 1024, 4), body);
  EXPECT_EQ(outcome.code(), Code::dep_pool_overflow);
  EXPECT_THAT(outcome.message(), HasSubstr("3 held by the open scope at " + here(line)));
  EXPECT_THAT(outcome.message(), HasSubstr("dep_pool = 6 is needed"));
  EXPECT_EQ(run(ring(1024, 1024, 5), body).code(), Code::dep_pool_overflow);
  EXPECT_EQ(run(ring(1024, 1024, 6), body).code(), Code::ok);
}

TEST_F(RingCases, MoreThanHalfAMillionTasksPassThroughAWindowOfSixteenThousand) {
  Session session = prepare("many_through_few", {{"steps", "513"}, {"in_step", "1024"}}, ring(16384));
  EXPECT_EQ(checked_round(session).tasks, 525'312U);
}

// A kernel that outlasts the scheduler's patience many times over, behind which everything waits, is slow and no more.
TEST_F(RingCases, ASlowTaskThatHoldsAFullRingRaisesNoAlarm) {
  SessionConfig config = ring(4);
  config.timeouts.scheduler = std::chrono::milliseconds(20);
  int after_it = 0;
  const auto body = [&after_it](Orchestrator& graph) {
    {
      const Scope scope = graph.scope();
      graph.submit("slow", vector_core, [](Block&) { std::this_thread::sleep_for(std::chrono::milliseconds(400)); });
    }
    for (int i = 0; i < 32; ++i) {
      const Scope scope = graph.scope();
      graph.submit(
          "quick", vector_core, [](Block&, const View<int, 1>& count) { ++count(0); }, inout(wrap(&after_it, 1)));
    }
  };
  const Outcome outcome = run(config, body);
  EXPECT_EQ(outcome.code(), Code::ok) << outcome.message();
  EXPECT_EQ(after_it, 32);
}

// Rounds end with empty rings that stand wherever the last task left them: window, heap and pool are whole all the
// same.
TEST_F(RingCases, AnEmptyRingServesItsWholeCapacityWhereverItIsParked) {
  static constexpr std::uint64_t heap = 8 * 1024;
  Session session = prepare("parked_ring", {}, ring(7, heap, 5));
  for (int round = 0; round < 4 * 7 * 8; ++round) ASSERT_NO_THROW(session.run()) << "round " << round;
  // The same capacity after tasks of the same round, through scopes that have ended.
  for (std::int64_t kib = 1; kib <= 8; ++kib) {
    const Outcome outcome = run(ring(8, heap), [kib](Orchestrator& graph) {
      for (const std::int64_t bytes : {1024 * kib, std::int64_t{heap}, std::int64_t{heap}}) {
        const Scope scope = graph.scope();
        graph.submit(
            "one", vector_core, [](Block&, const View<std::uint8_t, 1>& out) { out(out.shape(0) - 1) = 1; },
            new_tensor<std::uint8_t>(bytes));
      }
    });
    EXPECT_EQ(outcome.code(), Code::ok) << outcome.message();
  }
}

// Each write ends when all 256 have begun: an edge among them would be a deadlock.
TEST_F(RingCases, DisjointViewsAreWrittenTogetherAndReadWhole) {
  Session session = prepare("disjoint_views", {}, ring(1024));
  EXPECT_EQ(checked_round(session).edges, 16U * 16U * 8U);
}

TEST_F(RingCases, AHundredProducersEachPrecedeSixtyFourConsumers) {
  static constexpr std::int64_t producers = 100, consumers = 64;
  std::vector<std::uint64_t> cells(producers, 0), sums(consumers, 0);
  const auto body = [&](Orchestrator& graph) {
    const auto gate = graph.window("gate").signals<std::int64_t>().mine()[0];
    const auto all = wrap(cells.data(), producers);
    const auto produce = [gate](Block& block, const View<std::uint64_t, 1>& out, std::uint64_t value) {
      block.wait(gate, Compare::eq, 1);
      out(0) = value;
    };
    for (std::int64_t i = 0; i < producers; ++i)
      graph.submit("produce", vector_core, produce, out(all.rows(i, 1)), static_cast<std::uint64_t>(i + 1));
    const auto consume = [](Block&, const View<const std::uint64_t, 1>& from, const View<std::uint64_t, 1>& sum) {
      sum(0) = 0;
      for (const std::uint64_t value : from.span()) sum(0) += value;
    };
    for (auto& sum : sums) graph.submit("consume", vector_core, consume, in(all), out(wrap(&sum, 1)));
    graph.submit("release", vector_core, [gate](Block& block) { block.notify(gate, 1, Notify::set); });
  };
  const Outcome outcome = run(ring(1024, 1U << 20U, producers * consumers), body);
  EXPECT_EQ(outcome.code(), Code::ok) << outcome.message();
  EXPECT_EQ(outcome.statistics.edges, static_cast<std::uint64_t>(producers * consumers));
  EXPECT_EQ(sums, std::vector<std::uint64_t>(consumers, producers * (producers + 1) / 2));
}

}  // namespace
}  // namespace heddle
