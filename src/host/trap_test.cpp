// SPDX-License-Identifier: Apache-2.0
//
// A kernel that runs for too long: what the report says of it, and of every other worker.
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <thread>

#include "host/stuck_module.hpp"
#include "host/test_program.hpp"

namespace heddle::host {
namespace {

using std::chrono::milliseconds;
using State = WorkerRecord::State;

constexpr Timeouts patient{
    .scheduler = milliseconds(50), .operation = milliseconds(200), .grace = milliseconds(60'000)};

TEST(Trap, NamesTheLineOfAKernelThatReturnsOnceItIsCancelledAndTheIdleWorkers) {
  std::uint32_t line = 0;
  const Error error =
      failure_of({.ranks = 2, .threads = 4, .config = {.timeouts = patient}}, [&](Orchestrator& graph, const Io&) {
        if (graph.rank() == 0) return;
        line = __LINE__ + 1;
        graph.spmd("lingers", vector_core, 3, [](Block& block) {
          if (block.index() == 2) module().calls(block);
        });
      });
  expect_error(error, Code::core_stalled, {"200 ms", "in stuck_in_calls at ", "stuck.cpp:"});
  EXPECT_EQ(error.workers().size(), 4U);
  const auto stuck = in_state(error, State::kernel);
  ASSERT_EQ(stuck.size(), 1U) << error.report();
  EXPECT_TRUE(stuck[0].stuck);
  EXPECT_EQ(stuck[0].rank, 1);
  EXPECT_EQ(stuck[0].task, "lingers");
  EXPECT_EQ(stuck[0].block, 2);
  EXPECT_EQ(stuck[0].submitted.line, line);
  expect_stands_in(stuck[0], "stuck_in_calls");
  EXPECT_EQ(in_state(error, State::idle).size(), 3U) << error.report();
  EXPECT_TRUE(contains(error.report(), "idle in the dispatcher")) << error.report();
  EXPECT_TRUE(contains(error.report(), stuck[0].text())) << error.report();
}

TEST(Trap, TwoStuckKernelsAreBothLocated) {
  const Error error =
      failure_of({.ranks = 2, .threads = 3, .config = {.timeouts = patient}}, [&](Orchestrator& graph, const Io&) {
        if (graph.rank() == 0)
          graph.submit("left", vector_core, [](Block& block) { module().calls(block); });
        else
          graph.submit("right", vector_core, [](Block& block) { module().calls(block); });
      });
  expect_error(error, Code::core_stalled, {"stuck_in_calls"});
  const auto stuck = in_state(error, State::kernel);
  ASSERT_EQ(stuck.size(), 2U) << error.report();
  for (const WorkerRecord& worker : stuck) {
    expect_stands_in(worker, "stuck_in_calls");
    EXPECT_EQ(worker.task, worker.rank == 0 ? "left" : "right");
  }
  EXPECT_NE(stuck[0].rank, stuck[1].rank);
  EXPECT_EQ(in_state(error, State::idle).size(), 1U) << error.report();
}

// A session of its own with a kernel that never returns, on a device that works afterwards.
template <class Spin>
Error never_returns(Spin spin, std::atomic<int>& returned, bool& go_on) {
  Device device = open_host(2, 3);
  Mendable mendable([&](Orchestrator& graph, const Io&) {
    if (graph.rank() != 0) return;
    graph.submit("never returns", vector_core, [&, spin](Block&) {
      spin();
      ++returned;
    });
  });
  const SessionConfig config{
      .timeouts = {.scheduler = milliseconds(10), .operation = milliseconds(100), .grace = milliseconds(50)}};
  std::optional<Error> error;
  {
    Session session = device.prepare(mendable.program(), config);
    error = error_of([&] { session.run(); });
    EXPECT_EQ(error_of([&] { session.recover(); }).code(), Code::invalid_argument);
  }
  mendable.mend();
  Session other = device.prepare(mendable.program());
  other.run();
  Mendable::expect_work(other);
  EXPECT_NO_THROW(device.probe());
  __atomic_store_n(&go_on, false, __ATOMIC_RELAXED);
  while (returned.load() != 1) ::sched_yield();
  return *error;
}

TEST(Trap, NamesTheLineOfAKernelThatNeverReturns) {
  static bool go_on = true;
  static std::atomic<int> returned{0};
  go_on = true;
  returned = 0;
  const Error error = never_returns([] { module().loop(&go_on); }, returned, go_on);
  expect_error(error, Code::core_stalled, {"stuck_in_loop", "stuck.cpp:"});
  const auto stuck = in_state(error, State::kernel);
  ASSERT_EQ(stuck.size(), 1U) << error.report();
  expect_stands_in(stuck[0], "stuck_in_loop");
  EXPECT_EQ(stuck[0].task, "never returns");
}

TEST(Trap, WithoutDebugInformationItNamesTheSymbolAndWhereTheTaskWasSubmitted) {
  const std::string stripped = ::testing::TempDir() + "stripped_" + std::to_string(::getpid()) + ".so";
  ASSERT_EQ(std::system(("strip --strip-all -o '" + stripped + "' '" + module_path() + "'").c_str()), 0);
  static bool go_on = true;
  static std::atomic<int> returned{0};
  go_on = true;
  returned = 0;
  static const StuckModule bare(stripped);
  std::filesystem::remove(stripped);
  const Error error = never_returns([] { bare.loop(&go_on); }, returned, go_on);
  const auto stuck = in_state(error, State::kernel);
  ASSERT_EQ(stuck.size(), 1U) << error.report();
  if (stuck[0].at.file != nullptr) {  // this test was built with debug information: that of the caller is nearest
    expect_error(error, Code::core_stalled, {"stands in loop at ", "stuck_module.hpp:"});
  } else {
    expect_error(error, Code::core_stalled, {"stuck_in_loop"});
    EXPECT_TRUE(contains(stuck[0].instruction, "stuck_in_loop+0x")) << stuck[0].instruction;
  }
  ASSERT_NE(stuck[0].submitted.file, nullptr);
  EXPECT_TRUE(contains(stuck[0].text(), "trap_test.cpp:")) << stuck[0].text();
}

TEST(Trap, KernelThatSleepsInTheSystemIsLocatedByItsOwnFunction) {
  const Error error = failure_of({.config = {.timeouts = patient}}, [&](Orchestrator& graph, const Io&) {
    graph.submit("sleeps", vector_core, [](Block& block) {
      while (!block.cancelled()) std::this_thread::sleep_for(milliseconds(1));
    });
  });
  const auto stuck = in_state(error, State::kernel);
  ASSERT_EQ(stuck.size(), 1U) << error.report();
  EXPECT_TRUE(contains(stuck[0].instruction, "heddle_host_test")) << stuck[0].text();
  EXPECT_TRUE(contains(stuck[0].text(), "task sleeps, block 0")) << stuck[0].text();
}

}  // namespace
}  // namespace heddle::host
