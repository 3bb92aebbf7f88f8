// SPDX-License-Identifier: Apache-2.0
//
// Snapshots of sessions on the host: of what has failed, and of what goes on.
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "doctor/report.hpp"
#include "host/session_impl.hpp"
#include "host/stuck_module.hpp"
#include "host/test_program.hpp"
#include "snapshot/json.hpp"

namespace heddle::test {
namespace {

using namespace heddle::host;

using snapshot::BlockState;
using snapshot::Snapshot;
using snapshot::TaskState;
using std::chrono::milliseconds;

Snapshot snapshot_of(Session& session) {
  const Snapshot taken = heddle::detail::SessionAccess::of(session).snapshot();
  return snapshot::parse(snapshot::to_json(taken));  // refuses what refers to nothing
}

const snapshot::Task* find(const Snapshot& snapshot, int rank, const std::string& name) {
  const auto found = std::find_if(snapshot.tasks.begin(), snapshot.tasks.end(),
                                  [&](const snapshot::Task& task) { return task.rank == rank && task.name == name; });
  return found == snapshot.tasks.end() ? nullptr : &*found;
}

// A round on a thread of its own, which ends once `go_on` falls.
class Held {
 public:
  explicit Held(Device& device, std::function<void(Orchestrator&, const Io&)> body,
                std::function<void(Plan&)> declare = {})
      : session(device.prepare(TestProgram{std::move(body), std::move(declare)})), thread_([this] { session.run(); }) {}
  ~Held() { thread_.join(); }
  Session session;

 private:
  std::thread thread_;
};

TEST(HostSnapshot, TellsOfARunningRoundWhatRunsWhatIsReadyAndWhatWaits) {
  static std::atomic<bool> go_on{true};
  static std::atomic<int> running{0};
  static float cell = 0;
  go_on = true;
  running = 0;
  Device device = open_host(2, 2);
  Snapshot taken;
  {
    Held held(
        device,
        [](Orchestrator& graph, const Io&) {
          if (graph.rank() != 0) return;
          const auto flags = graph.window("flags").signals<std::int32_t>();
          const auto mine = flags.mine()[5];
          graph.submit("waits", vector_core, [mine](Block& block) { block.wait(mine, Compare::ge, 3); });
          graph.submit(
              "runs", vector_core,
              [mine](Block& block, View<float>) {
                block.notify(mine, 1, Notify::set);
                ++running;
                while (go_on) ::sched_yield();
                block.notify(mine, 3, Notify::set);
              },
              out(wrap(&cell, 1)));
          graph.submit("comes after", vector_core, [](Block&, View<const float>) {}, in(wrap(&cell, 1)));
        },
        [](Plan& plan) { plan.window("flags", 64); });
    while (running.load() == 0) ::sched_yield();
    // The wait parks soon after, on the other worker.
    do taken = snapshot_of(held.session);
    while (taken.blocks.size() < 2);
    go_on = false;
  }
  EXPECT_EQ(taken.taken, snapshot::Taken::request);
  EXPECT_EQ(taken.backend, "host");
  ASSERT_NE(find(taken, 0, "runs"), nullptr);
  EXPECT_EQ(find(taken, 0, "runs")->state, TaskState::running);
  ASSERT_NE(find(taken, 0, "comes after"), nullptr);
  EXPECT_EQ(find(taken, 0, "comes after")->state, TaskState::submitted);
  ASSERT_TRUE(find(taken, 0, "comes after")->producers);
  ASSERT_EQ(find(taken, 0, "comes after")->producers->size(), 1U);
  EXPECT_EQ(find(taken, 0, "comes after")->producers->front().task, find(taken, 0, "runs")->task);
  EXPECT_EQ(taken.ranks.at(0).submitted, 3);
  EXPECT_EQ(taken.ranks.at(1).state, snapshot::RankState::ended);
  const auto waits = std::find_if(taken.blocks.begin(), taken.blocks.end(),
                                  [](const snapshot::Block& block) { return block.state == BlockState::waiting; });
  ASSERT_NE(waits, taken.blocks.end());
  ASSERT_TRUE(waits->wait);
  EXPECT_EQ(waits->wait->window, "flags");
  EXPECT_EQ(waits->wait->cell, 5);
  EXPECT_EQ(waits->wait->needs, 3);
  EXPECT_EQ(waits->wait->has, 1);
  ASSERT_EQ(taken.cells.size(), 1U);
  ASSERT_EQ(taken.cells[0].history.size(), 1U);
  EXPECT_EQ(taken.cells[0].history[0].name, "runs");
  EXPECT_FALSE(taken.notes.empty());
  // What runs may still do it.
  EXPECT_EQ(doctor::diagnose(taken).verdict, "UNDECIDED");
}

TEST(HostSnapshot, OfAKernelThatRunsNamesItsLine) {
  static bool go_on = true;
  __atomic_store_n(&go_on, true, __ATOMIC_RELAXED);
  Device device = open_host(1, 1);
  Snapshot taken;
  {
    Held held(device, [](Orchestrator& graph, const Io&) {
      graph.submit("loops", vector_core, [](Block&) { module().loop(&go_on); });
    });
    do taken = snapshot_of(held.session);
    while (taken.blocks.empty() || !taken.blocks[0].source.file.ends_with("stuck.cpp"));
    __atomic_store_n(&go_on, false, __ATOMIC_RELAXED);
  }
  EXPECT_EQ(taken.blocks[0].source.line, module().line_of("stuck_in_loop"));
  EXPECT_EQ(taken.blocks[0].worker, 0);
}

TEST(HostSnapshot, BetweenRoundsNothingWaits) {
  Device device = open_host(2, 2);
  Session session = device.prepare(
      TestProgram{[](Orchestrator& graph, const Io&) { graph.submit("short", vector_core, [](Block&) {}); }, {}});
  session.run();
  const doctor::Report report = doctor::diagnose(snapshot_of(session));
  EXPECT_EQ(report.verdict, "NOTHING WAITS");
  EXPECT_FALSE(report.is_proved);
}

// Whatever it meets, the snapshot is one that can be read, and nothing is told to be stuck.
TEST(HostSnapshot, OfAProgramThatGoesOnNeverProvesAnything) {
  static std::atomic<bool> go_on{true};
  go_on = true;
  Device device = open_host(3, 2);
  Mendable mendable([](Orchestrator& graph, const Io&) {
    const auto told = graph.window("told").signals<std::int64_t>();
    const auto own = told.mine()[0];
    const auto next = told.at((graph.rank() + 1) % graph.ranks())[0];
    std::vector<int> cells(16);
    for (int i = 0; i < 2'000 && go_on; ++i) {
      const Scope scope = graph.scope();
      graph.submit(
          "link", vector_core, [](Block&, View<int> cell) { ++cell(0); },
          inout(wrap(&cells[static_cast<std::size_t>(i) % 16], 1)));
      if (i % 8 == 0) graph.submit("tells", vector_core, [=](Block& block) { block.notify(next, 1, Notify::add); });
      if (i % 8 == 0)
        graph.submit("hears", vector_core, [=](Block& block) { block.wait(own, Compare::ge, i / 8 + 1); });
    }
    graph.read(wrap(cells.data(), 1));
    for (int& cell : cells) graph.read(wrap(&cell, 1));
  });
  Session session = device.prepare(mendable.program());
  std::atomic<bool> is_over{false};
  std::jthread rounds([&] {
    session.run();
    is_over = true;
  });
  int taken = 0;
  for (; !is_over || taken == 0; ++taken) {
    try {
      const doctor::Report report = doctor::diagnose(snapshot_of(session));
      EXPECT_FALSE(report.is_proved) << report.sentence;
    } catch (const Error& error) {
      ADD_FAILURE() << error.message();
    }
  }
  rounds.join();
  EXPECT_GT(taken, 0);
}

Snapshot failure(Device& device, TestProgram program, SessionConfig config = {}) {
  config.keep_failure = true;
  Session session = device.prepare(std::move(program), config);
  error_of([&] { session.run(); });
  return snapshot_of(session);
}

TEST(HostSnapshot, OfADeadlockIsTakenWhileEverythingStandsStill) {
  Device device = open_host(2, 2);
  const Snapshot taken = failure(device, {[](Orchestrator& graph, const Io&) {
                                            const auto cell = graph.window("done").signals<std::int32_t>().mine()[1];
                                            graph.spmd("stands", vector_core, 2, [cell](Block& block) {
                                              if (block.index() == 1) block.wait(cell, Compare::ge, 2);
                                            });
                                          },
                                          [](Plan& plan) { plan.window("done", 64); }});
  EXPECT_EQ(taken.taken, snapshot::Taken::standstill);
  ASSERT_EQ(taken.blocks.size(), 2U);
  EXPECT_EQ(taken.blocks[0].block, 1);
  ASSERT_EQ(taken.tasks.size(), 2U);
  EXPECT_EQ(taken.tasks[0].begun, 2);
  EXPECT_EQ(taken.tasks[0].ended, 1);
  EXPECT_EQ(taken.tasks[0].state, TaskState::running);
  EXPECT_EQ(taken.ranks[0].waits_for, snapshot::ProgramWait::end);
  EXPECT_EQ(doctor::diagnose(taken).code, static_cast<int>(Code::signal_deadlock));
}

TEST(HostSnapshot, OfAConditionNamesTheTaskThatWaitsForIt) {
  Device device = open_host(1, 2);
  const Snapshot taken =
      failure(device, {[](Orchestrator& graph, const Io&) {
                         graph.submit(
                             "later", vector_core, [](Block&) {},
                             completes_when(graph.window("done").signals<std::int32_t>().mine()[0], Compare::ge, 1));
                       },
                       [](Plan& plan) { plan.window("done", 64); }});
  ASSERT_EQ(taken.tasks.size(), 1U);
  EXPECT_EQ(taken.tasks[0].state, TaskState::waiting);
  ASSERT_EQ(taken.tasks[0].conditions.size(), 1U);
  EXPECT_EQ(taken.tasks[0].conditions[0].window, "done");
}

TEST(HostSnapshot, OfARingThatIsTooSmallNamesTheScopeThatHoldsIt) {
  Device device = open_host(1, 2);
  SessionConfig config;
  config.ring.task_window = 8;
  const Snapshot taken = failure(device,
                                 {[](Orchestrator& graph, const Io&) {
                                    const Scope scope = graph.scope();
                                    for (int i = 0; i < 20; ++i) graph.submit("many", vector_core, [](Block&) {});
                                  },
                                  {}},
                                 config);
  const doctor::Report report = doctor::diagnose(taken);
  EXPECT_EQ(report.code, static_cast<int>(Code::scope_deadlock)) << report.sentence;
  EXPECT_TRUE(report.is_proved);
  EXPECT_EQ(report.culprit.rank, 0);
  ASSERT_FALSE(taken.scopes.empty());
  EXPECT_TRUE(taken.scopes[0].source.file.ends_with("host_snapshot_test.cpp"));
}

TEST(HostSnapshot, OfAStuckKernelNamesItsBlockAndItsLine) {
  Device device = open_host(2, 2);
  SessionConfig config;
  config.timeouts = {.scheduler = milliseconds(20), .operation = milliseconds(80), .grace = milliseconds(60'000)};
  const Snapshot taken = failure(device,
                                 {[](Orchestrator& graph, const Io&) {
                                    if (graph.rank() != 1) return;
                                    graph.submit("stuck", vector_core, [](Block& block) { module().calls(block); });
                                  },
                                  {}},
                                 config);
  const doctor::Report report = doctor::diagnose(taken);
  EXPECT_EQ(report.code, static_cast<int>(Code::core_stalled));
  EXPECT_EQ(report.verdict, "CORE STALLED");
  EXPECT_EQ(report.culprit.rank, 1);
  EXPECT_TRUE(report.culprit.source.file.ends_with("stuck.cpp")) << report.culprit.text;
  EXPECT_EQ(report.culprit.source.line, module().line_of("stuck_in_calls"));
}

TEST(HostSnapshot, OfAKernelThatThrowsIsTheOneOfTheFailure) {
  Device device = open_host(2, 2);
  const Snapshot taken =
      failure(device, {[](Orchestrator& graph, const Io&) {
                         graph.submit("throws", vector_core, [](Block&) { throw std::runtime_error("on purpose"); });
                       },
                       {}});
  EXPECT_EQ(taken.taken, snapshot::Taken::failure);
  EXPECT_EQ(doctor::diagnose(taken).verdict, "FAILED");
}

TEST(HostSnapshot, OfAProgramThatFailsInTheMiddleOfASubmit) {
  Device device = open_host(1, 2);
  const Snapshot taken = failure(device, {[](Orchestrator& graph, const Io&) {
                                            graph.submit("first", vector_core, [](Block&) {});
                                            graph.spmd("none", vector_core, 0, [](Block&) {});
                                          },
                                          {}});
  ASSERT_TRUE(taken.outcome);
  EXPECT_EQ(taken.outcome->code, static_cast<int>(Code::invalid_argument));
}

TEST(HostSnapshot, IsWrittenByTheSessionAndRefusedByTheLaboratory) {
  const std::string path = testing::TempDir() + "session.snapshot.json";
  Device device = open_host(1, 1);
  Session session = device.prepare(TestProgram{[](Orchestrator&, const Io&) {}, {}});
  session.write_snapshot(path);
  EXPECT_EQ(snapshot::read(path).ranks.size(), 1U);
  std::filesystem::remove(path);
  expect_error(error_of([&] { session.write_snapshot("/nowhere/at/all"); }), Code::invalid_argument,
               {"/nowhere/at/all"});
  Device lab = Device::open("lab:a2a3", {.ranks = 1});
  Session other = lab.prepare(TestProgram{[](Orchestrator&, const Io&) {}, {}});
  expect_error(error_of([&] { other.write_snapshot(path); }), Code::invalid_argument, {"laboratory"});
}

// The bound is wide, for machines that do other things as well; snapshot_bench measures it.
TEST(HostSnapshot, OfAHundredThousandTasksHoldsNobodyUpForLong) {
  static std::atomic<bool> go_on{true};
  static std::atomic<int> submitted{0};
  go_on = true;
  submitted = 0;
  constexpr int ranks = 16, tasks = 6'250;
  Device device = open_host(ranks, 2);
  Snapshot taken;
  std::chrono::steady_clock::duration took{};
  {
    Held held(
        device,
        [](Orchestrator& graph, const Io&) {
          static float cells[ranks];
          float& cell = cells[graph.rank()];
          const auto gate = graph.window("gate").signals<std::int32_t>();
          graph.submit(
              "first", vector_core, [gate](Block& block, View<float>) { block.wait(gate.mine()[0], Compare::ge, 1); },
              inout(wrap(&cell, 1)));
          for (int i = 1; i < tasks; ++i)
            graph.submit("one of many", vector_core, [](Block&, View<float>) {}, inout(wrap(&cell, 1)));
          ++submitted;
          if (graph.rank() != 0) return;
          graph.submit("opens", vector_core, [gate](Block& block) {
            while (go_on) ::sched_yield();
            for (int r = 0; r < ranks; ++r) block.notify(gate.at(r)[0], 1, Notify::set);
          });
        },
        [](Plan& plan) { plan.window("gate", 64); });
    while (submitted.load() != ranks) ::sched_yield();
    const auto started = std::chrono::steady_clock::now();
    taken = heddle::detail::SessionAccess::of(held.session).snapshot();
    took = std::chrono::steady_clock::now() - started;
    go_on = false;
  }
  EXPECT_GE(taken.tasks.size(), 100'000U);
  EXPECT_LT(took, std::chrono::seconds(10));
}

}  // namespace
}  // namespace heddle::test
