// SPDX-License-Identifier: Apache-2.0
//
// Cancellation, and what is left of a session after it.
#include <sched.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>
#include <thread>

#include "host/test_program.hpp"

namespace heddle::host {
namespace {

using std::chrono::milliseconds;

constexpr auto noop = [](Block&) {};

TEST(Recovery, CancelFromAnotherThreadEndsARoundOfParkedWaits) {
  for (int repeat = 0; repeat < 10; ++repeat) {
    Device device = open_host(4, 2);
    std::atomic<int> running{0};
    Mendable mendable([&](Orchestrator& graph, const Io&) {
      const auto own = graph.window("told").signals<std::int64_t>().mine()[0];
      graph.spmd("parked", vector_core, 20, [own](Block& block) { block.wait(own, Compare::eq, 99); });
      // One block of each rank runs, so that the round is no deadlock.
      graph.submit("runs", vector_core, [&running, own](Block& block) {
        ++running;
        while (!block.cancelled() && !block.test(own, Compare::eq, 99)) ::sched_yield();
      });
    });
    Session session = device.prepare(mendable.program(), {.timeouts = {.grace = milliseconds(60'000)}});
    std::thread canceller([&] {
      while (running.load() == 0) ::sched_yield();
      session.cancel();
    });
    const Error error = error_of([&] { session.run(); });
    canceller.join();
    expect_error(error, Code::user_error, {"cancelled"});
    for (int r = 0; r < 4; ++r) EXPECT_FALSE(session.finished(r));
    mendable.mend();
    session.recover();
    session.run();
    Mendable::expect_work(session);
  }
}

TEST(Recovery, KernelThatSwallowsItsCancellationIsCancelledAgain) {
  std::atomic<int> caught{0}, ended{0};
  const Error error = failure_of({.ranks = 2, .threads = 2}, [&](Orchestrator& graph, const Io&) {
    const auto own = graph.window("told").signals<std::int64_t>().mine()[0];
    graph.spmd("stubborn", vector_core, 4, [&, own](Block& block) {
      for (int i = 0; i < 3; ++i) {
        try {
          block.wait(own, Compare::eq, 5);
        } catch (...) {
          ++caught;
          try {
            block.wait(own, Compare::eq, 6);  // within the handler of the first
          } catch (...) {
            ++caught;
          }
        }
      }
      ++ended;
    });
  });
  expect_error(error, Code::signal_deadlock, {"8 waits"});
  EXPECT_EQ(caught.load(), 8 * 6);
  EXPECT_EQ(ended.load(), 8);
}

TEST(Recovery, WaitsInsideAHandlerKeepItsException) {
  // Fibers in handlers change places, and threads: each must find its own exception.
  std::atomic<int> wrong{0};
  Device device = open_host(8, 3);
  run_once(device, {[&](Orchestrator& graph, const Io&) {
                      const auto cells = graph.window("cells").signals<std::int32_t>();
                      graph.spmd("handler", vector_core, 8, [&wrong, cells](Block& block) {
                        const int mine = block.rank() * 8 + static_cast<int>(block.index());
                        try {
                          throw mine;
                        } catch (const int& value) {
                          for (std::int32_t step = 1; step <= 10; ++step) {
                            block.notify(cells.at((block.rank() + 1) % 8)[block.index()], step, Notify::set);
                            block.wait(cells.mine()[block.index()], Compare::ge, step);
                            wrong += value != mine ? 1 : 0;
                          }
                          try {
                            throw;
                          } catch (int again) {
                            wrong += again != mine ? 1 : 0;
                          }
                        }
                        wrong += std::uncaught_exceptions();
                      });
                    },
                    [](Plan& plan) { plan.window("cells", 32); }});
  EXPECT_EQ(wrong.load(), 0);
}

TEST(Recovery, FailedSessionCanBeDroppedAsItIs) {
  Device device = open_host(4, 2);
  for (int repeat = 0; repeat < 20; ++repeat) {
    Session session = device.prepare(
        TestProgram{[](Orchestrator& graph, const Io&) {
                      const auto own = graph.window("told").signals<std::int64_t>().mine()[0];
                      graph.spmd("wait", vector_core, 10, [own](Block& block) { block.wait(own, Compare::eq, 1); });
                    },
                    [](Plan& plan) { plan.window("told", 8); }});
    EXPECT_EQ(error_of([&] { session.run(); }).code(), Code::signal_deadlock);
  }
}

struct Held {
  std::size_t threads = 0, files = 0, mappings = 0;
  static Held now() {
    const auto entries = [](const char* path) {
      return static_cast<std::size_t>(
          std::distance(std::filesystem::directory_iterator(path), std::filesystem::directory_iterator()));
    };
    std::ifstream maps("/proc/self/maps");
    std::size_t lines = 0;
    for (std::string line; std::getline(maps, line);) ++lines;
    return {entries("/proc/self/task"), entries("/proc/self/fd"), lines};
  }
};

// Every rank exchanges with the next in steps; at a random one of them, a random rank and block fails in a random way.
void fail_somewhere(Orchestrator& graph, std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto victim = static_cast<int>(random() % static_cast<unsigned>(graph.ranks()));
  const auto victim_block = static_cast<std::int64_t>(random() % 3);
  const int victim_step = static_cast<int>(random() % 6), way = static_cast<int>(random() % 5);
  const auto cells = graph.window("cells").signals<std::int64_t>();
  for (int step = 0; step < 6; ++step) {
    const auto scope = graph.scope();
    const bool here = graph.rank() == victim && step == victim_step;
    if (here && way == 0) graph.fail("chosen");
    if (here && way == 1) throw std::runtime_error("chosen");
    if (here && way == 2) graph.spmd("refused", vector_core, 0, noop);
    const auto told = graph.spmd(
        "exchange", vector_core, 3,
        [=](Block& block, View<int> out_view) {
          if (here && way == 3 && block.index() == victim_block) throw std::runtime_error("chosen");
          const auto column = block.index();
          if (!(here && way == 4 && column == victim_block))
            block.notify(cells.at((block.rank() + 1) % block.ranks())[column], 1, Notify::add);
          block.wait(cells.mine()[column], Compare::ge, step + 1);
          out_view(column) = step;
        },
        new_tensor<int>(3));
    graph.dummy("deferred", completes_when(cells.mine()[0], Compare::ge, step + 1), after(told));
    if (step % 2 == 1) graph.read(told.output<0>().rows(1, 1));
  }
}

TEST(Recovery, TwoHundredRandomFailuresLeaveNothingBehind) {
  const auto first_seed = static_cast<std::uint32_t>(std::random_device{}());
  SCOPED_TRACE("first seed " + std::to_string(first_seed));
  Device device = open_host(4, 2);
  Held held;
  for (std::uint32_t i = 0; i < 200; ++i) {
    std::atomic<std::uint32_t> seed{first_seed + i};
    Mendable mendable([&seed](Orchestrator& graph, const Io&) { fail_somewhere(graph, seed); },
                      [](Plan& plan) { plan.window("cells", 64); });
    Session session =
        device.prepare(mendable.program(), {.ring = {.task_window = 4, .heap_bytes = 4096, .dep_pool = 64}});
    const Error error = error_of([&] { session.run(); });
    EXPECT_TRUE(contains(error.message(), "chosen") || error.code() == Code::invalid_argument ||
                error.code() == Code::signal_deadlock || error.code() == Code::flow_control_deadlock)
        << "seed " << first_seed + i << ": " << error.report();
    mendable.mend();
    session.recover();
    session.run();
    Mendable::expect_work(session);
    if (HasFailure()) FAIL() << "seed " << first_seed + i;
    if (i == 49) held = Held::now();  // by then every stack that is ever needed at a time has been made
  }
  const Held afterwards = Held::now();
  EXPECT_EQ(afterwards.threads, held.threads);
  EXPECT_EQ(afterwards.files, held.files);
  EXPECT_LE(afterwards.mappings, held.mappings + 64) << "from " << held.mappings;
}

}  // namespace
}  // namespace heddle::host
