// SPDX-License-Identifier: Apache-2.0
//
// Each timer in turn is the first to fire. What the report names is what runs or waits, whichever timer it was.
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>

#include "host/stuck_module.hpp"
#include "host/test_program.hpp"

namespace heddle::host {
namespace {

using std::chrono::milliseconds;
using State = WorkerRecord::State;

constexpr milliseconds late{30'000}, later{40'000}, grace{60'000};

// The orchestrator reads what a task makes that does not end.
void reads_what_never_ends(Orchestrator& graph, const Io&) {
  static int cell = 0;
  graph.submit("endless", vector_core, [](Block& block, View<int>) { module().calls(block); }, out(wrap(&cell, 1)));
  graph.read(wrap(&cell, 1));
}

TEST(TimeoutLadder, OperationFirstNamesTheKernelThoughAScalarWaitsForIt) {
  const Error error = failure_of({.config = {.timeouts = {.scheduler = milliseconds(20),
                                                          .operation = milliseconds(80),
                                                          .host_fence = late,
                                                          .tensor_access = late,
                                                          .grace = grace}}},
                                 reads_what_never_ends);
  expect_error(error, Code::core_stalled, {"80 ms", "stuck_in_calls"});
  EXPECT_EQ(error.task(), "endless");
  ASSERT_EQ(in_state(error, State::kernel).size(), 1U);
  expect_stands_in(in_state(error, State::kernel)[0], "stuck_in_calls");
}

TEST(TimeoutLadder, ScalarWaitFirstNamesTheKernelThatItWaitsFor) {
  const Error error = failure_of({.config = {.timeouts = {.scheduler = milliseconds(20),
                                                          .operation = late,
                                                          .host_fence = later,
                                                          .tensor_access = milliseconds(80),
                                                          .grace = grace}}},
                                 reads_what_never_ends);
  expect_error(error, Code::tensor_wait_timeout, {"80 ms", "task endless", "is stuck in rank 0", "stuck_in_calls"});
  const auto stuck = in_state(error, State::kernel);
  ASSERT_EQ(stuck.size(), 1U) << error.report();
  EXPECT_TRUE(stuck[0].stuck);
  expect_stands_in(stuck[0], "stuck_in_calls");
}

// Another rank is at work all the time, so nothing is proved.
TEST(TimeoutLadder, ScalarWaitFirstNamesWhatTheAwaitedTaskWaitsFor) {
  static int cell = 0;
  static std::atomic<bool> is_over{false};
  is_over = false;
  const Timeouts timeouts{.scheduler = milliseconds(20),
                          .operation = late,
                          .host_fence = later,
                          .tensor_access = milliseconds(80),
                          .grace = grace};
  const Error error =
      failure_of({.ranks = 2, .threads = 3, .config = {.timeouts = timeouts}}, [](Orchestrator& graph, const Io&) {
        const auto told = graph.window("told").signals<std::int64_t>();
        if (graph.rank() == 1) {
          graph.submit("at work", vector_core, [](Block&) {
            while (!is_over.load()) ::sched_yield();
          });
          return;
        }
        const auto never = told.mine()[0];
        graph.submit(
            "blocked", vector_core, [=](Block& block, View<int>) { block.wait(never, Compare::ge, 77); },
            out(wrap(&cell, 1)));
        graph.read(wrap(&cell, 1));
        is_over = true;
      });
  expect_error(error, Code::tensor_wait_timeout, {"task blocked", "waits for told[0] >= 77"});
  ASSERT_EQ(error.waits().size(), 1U) << error.report();
  EXPECT_EQ(error.waits()[0].task, "blocked");
}

TEST(TimeoutLadder, SchedulersOwnDiagnosisComesBeforeAnyTimer) {
  static int cell = 0;
  const Timeouts timeouts{.scheduler = milliseconds(1000),
                          .operation = milliseconds(2000),
                          .host_fence = milliseconds(2600),
                          .tensor_access = milliseconds(1001)};
  const Error error = failure_of({.config = {.timeouts = timeouts}}, [](Orchestrator& graph, const Io&) {
    const auto never = graph.window("told").signals<std::int64_t>().mine()[0];
    graph.submit(
        "blocked", vector_core, [=](Block& block, View<int>) { block.wait(never, Compare::ge, 77); },
        out(wrap(&cell, 1)));
    graph.read(wrap(&cell, 1));
  });
  expect_error(error, Code::signal_deadlock, {"task blocked", "told[0] >= 77"});
  EXPECT_EQ(error.waits().size(), 2U) << error.report();  // the block, and the access that waits for it
}

TEST(TimeoutLadder, HostFenceFirstNamesTheProgramThatRuns) {
  const Timeouts timeouts{
      .scheduler = milliseconds(1), .operation = milliseconds(2), .host_fence = milliseconds(1510), .grace = grace};
  const Error error = failure_of({.ranks = 2, .config = {.timeouts = timeouts}}, [](Orchestrator& graph, const Io&) {
    if (graph.rank() == 1) module().program(graph);
  });
  expect_error(error, Code::no_progress, {"1510 ms", "the program of rank 1", "stuck_in_program"});
  const auto running = in_state(error, State::program);
  ASSERT_EQ(running.size(), 1U) << error.report();
  EXPECT_TRUE(running[0].stuck);
  EXPECT_EQ(running[0].rank, 1);
  expect_stands_in(running[0], "stuck_in_program");
  EXPECT_EQ(in_state(error, State::idle).size(), 1U) << error.report();
}

// The grace period ends last of all, and is told as what runs too.
TEST(TimeoutLadder, GraceFirstNamesTheKernelThatDidNotReturn) {
  static bool go_on = true;
  static std::atomic<bool> begun{false}, returned{false};
  go_on = true;
  begun = false;
  returned = false;
  Device device = open_host();
  Session session = device.prepare(TestProgram{[](Orchestrator& graph, const Io&) {
                                                 graph.submit("never returns", vector_core, [](Block&) {
                                                   begun = true;
                                                   module().loop(&go_on);
                                                   returned = true;
                                                 });
                                                 while (!begun.load()) ::sched_yield();
                                                 graph.fail("gives up");
                                               },
                                               {}},
                                   {.timeouts = {.grace = milliseconds(50)}});
  const Error error = error_of([&] { session.run(); });
  EXPECT_EQ(error.code(), Code::user_error) << error.report();
  const auto stalled = std::find_if(error.attached().begin(), error.attached().end(),
                                    [](const Error& each) { return each.code() == Code::core_stalled; });
  ASSERT_NE(stalled, error.attached().end()) << error.report();
  expect_error(*stalled, Code::core_stalled, {"50 ms", "stuck_in_loop"});
  ASSERT_EQ(in_state(*stalled, State::kernel).size(), 1U);
  expect_stands_in(in_state(*stalled, State::kernel)[0], "stuck_in_loop");
  __atomic_store_n(&go_on, false, __ATOMIC_RELAXED);
  while (!returned.load()) ::sched_yield();
}

}  // namespace
}  // namespace heddle::host
