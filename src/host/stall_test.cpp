// SPDX-License-Identifier: Apache-2.0
//
// Kernels and programs that do not come to their end: what a timer finds, and that nobody else suffers for good.
#include <sched.h>

#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "host/test_program.hpp"

namespace heddle::host {
namespace {

using std::chrono::milliseconds;

TEST(Stall, ScalarReadThatWaitsLongerThanItMay) {
  int cell = 0;
  std::uint32_t line = 0;
  const Error error = failure_of({.config = {.timeouts = {.scheduler = milliseconds(10),
                                                          .tensor_access = milliseconds(20),
                                                          .grace = milliseconds(60'000)}}},
                                 [&](Orchestrator& graph, const Io&) {
                                   graph.submit(
                                       "endless", vector_core,
                                       [](Block& block, View<int>) {
                                         while (!block.cancelled()) ::sched_yield();
                                       },
                                       out(wrap(&cell, 1)));
                                   line = __LINE__ + 1;
                                   graph.read(wrap(&cell, 1));
                                 });
  expect_error(error, Code::tensor_wait_timeout, {"20 ms", "endless"});
  EXPECT_EQ(error.rank(), 0);
  expect_at(error, __FILE__, line);
}

TEST(Stall, BlockThatRunsTooLongAndThenReturns) {
  std::uint32_t line = 0;
  // Long enough for the blocks of the mended program on a machine that is busy with other things.
  const Timeouts short_ones{
      .scheduler = milliseconds(500), .operation = milliseconds(1000), .grace = milliseconds(60'000)};
  const Error error = failure_of({.ranks = 2, .config = {.timeouts = short_ones}}, [&](Orchestrator& graph, const Io&) {
    if (graph.rank() == 0) return;
    line = __LINE__ + 1;
    graph.spmd("slow", vector_core, 2, [](Block& block) {
      while (block.index() == 1 && !block.cancelled()) ::sched_yield();
    });
  });
  expect_error(error, Code::core_stalled, {"1000 ms"});
  expect_at(error, __FILE__, line);
  EXPECT_EQ(error.task(), "slow");
  EXPECT_EQ(error.block(), 1);
  EXPECT_EQ(error.rank(), 1);
}

TEST(Stall, KernelThatNeverReturnsPoisonsItsSessionAndNoOther) {
  static std::atomic<bool> let_go{false};
  static std::atomic<int> returned{0};
  Device device = open_host(2, 2);
  Mendable mendable([](Orchestrator& graph, const Io&) {
    if (graph.rank() != 0) return;
    graph.submit("never returns", vector_core, [](Block&) {
      while (!let_go.load()) ::sched_yield();
      ++returned;
    });
  });
  SessionConfig config{
      .timeouts = {.scheduler = milliseconds(10), .operation = milliseconds(30), .grace = milliseconds(30)}};
  {
    Session session = device.prepare(mendable.program(), config);
    const Error error = error_of([&] { session.run(); });
    expect_error(error, Code::core_stalled, {"30 ms"});
    EXPECT_EQ(error.task(), "never returns");
    EXPECT_EQ(error.rank(), 0);
    expect_error(error_of([&] { session.run(); }), Code::invalid_argument, {"never returned", "prepare a new session"});
    expect_error(error_of([&] { session.recover(); }), Code::invalid_argument, {"never returned"});
    EXPECT_FALSE(session.finished(0));
  }
  mendable.mend();
  Session other = device.prepare(mendable.program());
  for (int round = 0; round < 3; ++round) other.run();
  Mendable::expect_work(other);
  let_go = true;  // the thread ends on its own; the process could have ended without
  while (returned.load() != 1) ::sched_yield();
}

TEST(Stall, OtherSessionsOfAPoisonedDeviceSayWhatToDo) {
  static std::atomic<bool> let_go{false};
  Device device = open_host(1, 2);
  Mendable good([](Orchestrator&, const Io&) {});
  good.mend();
  Session bystander = device.prepare(good.program());
  bystander.run();
  Session bad = device.prepare(
      TestProgram{[](Orchestrator& graph, const Io&) {
                    graph.submit("never returns", vector_core, [](Block&) {
                      while (!let_go.load()) ::sched_yield();
                    });
                  },
                  {}},
      {.timeouts = {.scheduler = milliseconds(10), .operation = milliseconds(20), .grace = milliseconds(20)}});
  EXPECT_EQ(error_of([&] { bad.run(); }).code(), Code::core_stalled);
  expect_error(error_of([&] { bystander.run(); }), Code::invalid_argument,
               {"another session", "prepare a new session"});
  Session fresh = device.prepare(good.program());
  fresh.run();
  Mendable::expect_work(fresh);
  let_go = true;
}

TEST(Stall, RoundThatRunsWhileItsDeviceIsPoisonedEnds) {
  static std::atomic<bool> let_go{false};
  Device device = open_host(1, 3);
  std::atomic<bool> running{false};
  Session bystander = device.prepare(
      TestProgram{[&](Orchestrator& graph, const Io&) {
                    const auto own = graph.window("told").signals<std::int64_t>().mine()[0];
                    graph.submit("parked", vector_core, [own](Block& block) { block.wait(own, Compare::eq, 1); });
                    graph.submit("runs", vector_core, [&](Block& block) {
                      running = true;
                      while (!block.cancelled()) ::sched_yield();
                    });
                  },
                  [](Plan& plan) { plan.window("told", 8); }});
  std::thread other([&] { expect_error(error_of([&] { bystander.run(); }), Code::core_stalled, {"another session"}); });
  while (!running.load()) ::sched_yield();
  EXPECT_EQ(error_of([&] {
              run_once(device,
                       {[](Orchestrator& graph, const Io&) {
                          graph.submit("never returns", vector_core, [](Block&) {
                            while (!let_go.load()) ::sched_yield();
                          });
                        },
                        {}},
                       {.timeouts = {
                            .scheduler = milliseconds(10), .operation = milliseconds(20), .grace = milliseconds(20)}});
            }).code(),
            Code::core_stalled);
  other.join();
  let_go = true;
}

TEST(StallDeathTest, ProcessEndsThoughAKernelNeverReturns) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run_and_exit = [] {
    int status = 1;
    {
      Device device = open_host();
      Session session = device.prepare(
          TestProgram{[](Orchestrator& graph, const Io&) {
                        graph.submit("never returns", vector_core, [](Block&) {
                          for (;;) ::sched_yield();
                        });
                      },
                      {}},
          {.timeouts = {.scheduler = milliseconds(10), .operation = milliseconds(20), .grace = milliseconds(20)}});
      status = error_of([&] { session.run(); }).code() == Code::core_stalled ? 0 : 1;
    }
    std::exit(status);
  };
  EXPECT_EXIT(run_and_exit(), ::testing::ExitedWithCode(0), "");
}

TEST(Stall, ProgramThatPollsAnElementEndsWithItsRank) {
  int cell = 0;
  const Error error =
      failure_of({.config = {.timeouts = {.grace = milliseconds(60'000)}}}, [&](Orchestrator& graph, const Io&) {
        graph.submit(
            "throws", vector_core, [](Block&, View<int>) { throw std::runtime_error("broken"); }, out(wrap(&cell, 1)));
        while (graph.read(wrap(&cell, 1)) == 0) {
        }
      });
  expect_error(error, Code::kernel_failed, {"broken"});
}

}  // namespace
}  // namespace heddle::host
