// SPDX-License-Identifier: Apache-2.0
//
// Kernels that fail, waits that nothing can satisfy, cancellation, and what is left of a session afterwards.
#include <sched.h>

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

TEST(Failure, KernelThatThrows) {
  const auto failure = [](std::function<void(Block&)> kernel) {
    std::uint32_t line = 0;
    const Error error = failure_of({.ranks = 3, .threads = 2}, [&](Orchestrator& graph, const Io&) {
      if (graph.rank() != 1) return;
      line = __LINE__; graph.spmd("throws", vector_core, 40, [keep = std::make_shared<std::function<void(Block&)>>(kernel)](Block& block) { if (block.index() == 7) (*keep)(block); });
    });
    expect_at(error, __FILE__, line);
    EXPECT_EQ(error.rank(), 1);
    EXPECT_EQ(error.task(), "throws");
    EXPECT_EQ(error.block(), 7);
    EXPECT_TRUE(error.attached().empty()) << error.report();
    return error;
  };
  expect_error(failure([](Block&) { throw std::runtime_error("division by zero"); }), Code::kernel_failed, {"the kernel threw: division by zero"});
  expect_error(failure([](Block&) { throw Error(Code::user_error, "unlucky"); }), Code::kernel_failed, {"user_error", "unlucky"});
  expect_error(failure([](Block&) { throw 5; }), Code::kernel_failed, {"not a std::exception"});
  expect_error(failure([](Block&) {
    int room[4] = {};
    const View<int> view({room, {4}, {1}});
    view(view.shape(0)) = 1;
  }), Code::kernel_failed, {"index 4 of dimension 0", "extent there is 4"});
}

TEST(Failure, IndexOutsideOfAnArgument) {
  int room[12] = {};
  const auto failure = [&](std::int64_t row, std::int64_t column) {
    return failure_of({}, [&room, row, column](Orchestrator& graph, const Io&) {
      graph.submit("outside", vector_core, [row, column](Block&, View<int, 2> view) { view(row, column) = 1; }, out(wrap(room, 3, 4)));
    });
  };
  expect_error(failure(3, 0), Code::kernel_failed, {"index 3 of dimension 0", "extent there is 3"});
  expect_error(failure(0, -1), Code::kernel_failed, {"index -1 of dimension 1", "extent there is 4"});
  for (const int value : room) EXPECT_EQ(value, 0);
}

TEST(Failure, RestOfAVeryWideTaskIsDropped) {
  std::atomic<std::int64_t> ran{0};
  const Error error = failure_of({}, [&](Orchestrator& graph, const Io&) {
    graph.spmd("wide", vector_core, (std::int64_t{1} << 31) - 1, [&](Block& block) {
      if (block.index() == 100) throw std::runtime_error("enough");
      ++ran;
    });
  });
  expect_error(error, Code::kernel_failed, {"enough"});
  EXPECT_LT(ran.load(), 10'000'000);
}

TEST(Failure, WaitOfAForeignCell) {
  const Error error = failure_of({.ranks = 2}, [](Orchestrator& graph, const Io&) {
    if (graph.rank() == 1) graph.submit("wait", vector_core, [foreign = graph.window("told").signals<std::int64_t>().at(0)[0]](Block& block) { block.wait(foreign, Compare::eq, 1); });
  });
  expect_error(error, Code::kernel_failed, {"wait", "rank 0"});
}

TEST(Failure, MoreParkedWaitsThanAllowed) {
  const Error error = failure_of({.config = {.waiting_blocks = 4}}, [](Orchestrator& graph, const Io&) {
    graph.spmd("wait", vector_core, 8, [own = graph.window("told").signals<std::int64_t>().mine()[0]](Block& block) { block.wait(own, Compare::eq, 1); });
  });
  expect_error(error, Code::queue_overflow, {"waiting_blocks = 4"});
}

TEST(Failure, DeadlockNamesEveryWaitAtOnce) {
  // No timer may be what finds it.
  const Timeouts off{.scheduler = {}, .operation = {}, .host_fence = {}, .tensor_access = {}};
  for (const int ranks : {1, 16}) {
    for (const int threads : {1, 3}) {
      std::uint32_t line = 0;
      const Error error = failure_of({ranks, threads, {.timeouts = off}}, [&](Orchestrator& graph, const Io&) {
        const auto own = graph.window("told").signals<std::int64_t>().mine()[0];
        graph.submit("notify", vector_core, [own](Block& block) { block.notify(own, 2, Notify::set); });
        line = __LINE__; graph.spmd("wait", vector_core, 3, [own](Block& block) { block.wait(own, Compare::ge, 3 + block.index()); });
        graph.dummy("deferred", completes_when(own, Compare::lt, 0));
      });
      expect_error(error, Code::signal_deadlock, {std::to_string(4 * ranks) + " waits can never be satisfied", "told[0]"});
      ASSERT_EQ(error.waits().size(), static_cast<std::size_t>(4 * ranks)) << error.report();
      for (std::size_t i = 0; i < error.waits().size(); ++i) {
        const WaitRecord& wait = error.waits()[i];
        EXPECT_EQ(wait.rank, static_cast<int>(i / 4));
        EXPECT_EQ(wait.window, "told");
        EXPECT_EQ(wait.cell, 0);
        EXPECT_EQ(wait.has, 2);
        if (i % 4 == 0) {
          EXPECT_EQ(wait.task, "deferred");
          EXPECT_EQ(wait.what, WaitRecord::What::completion);
          EXPECT_EQ(wait.compare, "lt");
          continue;
        }
        EXPECT_EQ(wait.task, "wait");
        EXPECT_EQ(wait.what, WaitRecord::What::signal);
        EXPECT_EQ(wait.block, static_cast<std::int64_t>(i % 4 - 1));
        EXPECT_EQ(wait.needs, 3 + wait.block);
        EXPECT_EQ(wait.compare, "ge");
        EXPECT_EQ(wait.location.line, line);
      }
    }
  }
}

TEST(Failure, RanksThatWaitForEachOtherInACycle) {
  const Error error = failure_of({.ranks = 5}, [](Orchestrator& graph, const Io&) {
    const auto told = graph.window("told").signals<std::int64_t>();
    graph.submit("wait first", vector_core, [own = told.mine()[0], next = told.at((graph.rank() + 1) % 5)[0]](Block& block) {
      block.wait(own, Compare::eq, 1);
      block.notify(next, 1, Notify::set);
    });
  });
  expect_error(error, Code::signal_deadlock, {"5 waits", "wait first", "== 1"});
  EXPECT_EQ(error.waits().size(), 5U);
}

TEST(Failure, ScalarReadOfATaskThatNothingLetsEnd) {
  int cell = 0;
  std::uint32_t line = 0;
  const Error error = failure_of({}, [&](Orchestrator& graph, const Io&) {
    const auto own = graph.window("told").signals<std::int64_t>().mine()[0];
    graph.submit("wait", vector_core, [own](Block& block, View<int>) { block.wait(own, Compare::eq, 1); }, out(wrap(&cell, 1)));
    line = __LINE__; graph.read(wrap(&cell, 1));
    graph.submit("too late", vector_core, [own](Block& block) { block.notify(own, 1, Notify::set); });
  });
  expect_error(error, Code::signal_deadlock, {"wait"});
  ASSERT_EQ(error.waits().size(), 2U);
  EXPECT_EQ(error.waits()[1].task, "orchestrator");
  EXPECT_EQ(error.waits()[1].what, WaitRecord::What::tensor);
  EXPECT_EQ(error.waits()[1].location.line, line);
}

TEST(Failure, ScalarReadThatWaitsLongerThanItMay) {
  int cell = 0;
  std::uint32_t line = 0;
  const Error error = failure_of({.config = {.timeouts = {.tensor_access = milliseconds(20), .grace = milliseconds(60'000)}}}, [&](Orchestrator& graph, const Io&) {
    graph.submit("endless", vector_core, [](Block& block, View<int>) { while (!block.cancelled()) ::sched_yield(); }, out(wrap(&cell, 1)));
    line = __LINE__; graph.read(wrap(&cell, 1));
  });
  expect_error(error, Code::tensor_wait_timeout, {"20 ms", "endless"});
  EXPECT_EQ(error.rank(), 0);
  expect_at(error, __FILE__, line);
}

TEST(Failure, BlockThatRunsTooLongAndThenReturns) {
  std::uint32_t line = 0;
  const Timeouts short_ones{.scheduler = milliseconds(10), .operation = milliseconds(30), .grace = milliseconds(60'000)};
  const Error error = failure_of({.ranks = 2, .config = {.timeouts = short_ones}}, [&](Orchestrator& graph, const Io&) {
    if (graph.rank() == 0) return;
    line = __LINE__; graph.spmd("slow", vector_core, 2, [](Block& block) { while (block.index() == 1 && !block.cancelled()) ::sched_yield(); });
  });
  expect_error(error, Code::core_stalled, {"30 ms"});
  expect_at(error, __FILE__, line);
  EXPECT_EQ(error.task(), "slow");
  EXPECT_EQ(error.block(), 1);
  EXPECT_EQ(error.rank(), 1);
}

TEST(Failure, KernelThatNeverReturnsPoisonsItsSessionAndNoOther) {
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
  SessionConfig config{.timeouts = {.scheduler = milliseconds(10), .operation = milliseconds(30), .grace = milliseconds(30)}};
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

TEST(Failure, OtherSessionsOfAPoisonedDeviceSayWhatToDo) {
  static std::atomic<bool> let_go{false};
  Device device = open_host(1, 2);
  Mendable good([](Orchestrator&, const Io&) {});
  good.mend();
  Session bystander = device.prepare(good.program());
  bystander.run();
  Session bad = device.prepare(TestProgram{[](Orchestrator& graph, const Io&) {
                                             graph.submit("never returns", vector_core, [](Block&) { while (!let_go.load()) ::sched_yield(); });
                                           },
                                           {}},
                               {.timeouts = {.scheduler = milliseconds(10), .operation = milliseconds(20), .grace = milliseconds(20)}});
  EXPECT_EQ(error_of([&] { bad.run(); }).code(), Code::core_stalled);
  expect_error(error_of([&] { bystander.run(); }), Code::invalid_argument, {"another session", "prepare a new session"});
  Session fresh = device.prepare(good.program());
  fresh.run();
  Mendable::expect_work(fresh);
  let_go = true;
}

TEST(Failure, RoundThatRunsWhileItsDeviceIsPoisonedEnds) {
  static std::atomic<bool> let_go{false};
  Device device = open_host(1, 3);
  std::atomic<bool> running{false};
  Session bystander = device.prepare(TestProgram{[&](Orchestrator& graph, const Io&) {
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
              run_once(device, {[](Orchestrator& graph, const Io&) {
                                  graph.submit("never returns", vector_core, [](Block&) { while (!let_go.load()) ::sched_yield(); });
                                },
                                {}},
                       {.timeouts = {.scheduler = milliseconds(10), .operation = milliseconds(20), .grace = milliseconds(20)}});
            }).code(),
            Code::core_stalled);
  other.join();
  let_go = true;
}

// Groups of two ranks; in the broken one, the first rank fails and the second waits for it.
TEST(Failure, GroupsThatDoNotDependOnAFailedOneFinish) {
  for (const int threads : {1, 3}) {
    Device device = open_host(8, threads);
    constexpr int broken = 2;
    std::atomic<bool> others_are_slow{true};
    Session session = device.prepare(TestProgram{
        [&](Orchestrator& graph, const Io& io) {
          const auto told = graph.window("told").signals<std::int64_t>();
          const auto group = graph.group(2);
          const bool first = group.mine().index == 0;
          const Peer peer = group[first ? 1 : 0];
          if (graph.rank() == broken) {
            graph.submit("fails", vector_core, [&](Block&) {
              others_are_slow = false;
              throw std::runtime_error("broken");
            });
            return;
          }
          graph.submit(
              "exchange", vector_core,
              [&, there = told.at(peer.rank)[0], own = told.mine()[0]](Block& block, View<std::int64_t> y) {
                block.notify(there, 1, Notify::set);
                block.wait(own, Compare::eq, 1);
                y(0) = 40 + block.rank();
              },
              out(io.output<std::int64_t>("y")));
        },
        [](Plan& plan) {
          plan.output<std::int64_t>("y", {1});
          plan.window("told", 8);
        }});
    std::vector<std::int64_t> bound(8, 7);
    std::vector<Binding> bindings;
    for (int r = 0; r < 8; ++r) bindings.push_back(bind(r, "y", std::span(bound).subspan(static_cast<std::size_t>(r), 1)));
    const Error error = error_of([&] { session.run(bindings); });
    expect_error(error, Code::kernel_failed, {"broken"});
    EXPECT_EQ(error.rank(), broken);
    ASSERT_EQ(error.attached().size(), 1U) << error.report();
    const Error& victims = error.attached()[0];
    EXPECT_EQ(victims.code(), Code::signal_deadlock);
    ASSERT_EQ(victims.waits().size(), 1U);
    EXPECT_EQ(victims.waits()[0].rank, broken + 1);
    for (int r = 0; r < 8; ++r) {
      const bool failed = r == broken || r == broken + 1;
      EXPECT_EQ(session.finished(r), !failed);
      EXPECT_EQ(bound[static_cast<std::size_t>(r)], failed ? 7 : 40 + r) << "rank " << r;
      if (failed) {
        expect_error(error_of([&] { session.output<std::int64_t>(r, "y"); }), Code::invalid_argument, {"rank " + std::to_string(r), "failed in the last round"});
      } else {
        EXPECT_EQ(session.output<std::int64_t>(r, "y")[0], 40 + r);
      }
    }
    expect_error(error_of([&] { session.check(0); }), Code::invalid_argument, {"rank 2"});
  }
}

TEST(Failure, FailuresOfManyRanksAreAttachedToTheFirst) {
  const Error error = failure_of({.ranks = 12, .threads = 1}, [](Orchestrator& graph, const Io&) {
    graph.submit("fails", vector_core, [](Block& block) { throw std::runtime_error("rank " + std::to_string(block.rank())); });
  });
  expect_error(error, Code::kernel_failed, {"rank "});
  EXPECT_EQ(error.attached().size(), 11U);
  for (const Error& later : error.attached()) {
    EXPECT_EQ(later.code(), Code::kernel_failed);
    EXPECT_NE(later.rank(), error.rank());
  }
}

TEST(Failure, CancelFromAnotherThreadEndsARoundOfParkedWaits) {
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

TEST(Failure, KernelThatSwallowsItsCancellationIsCancelledAgain) {
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

TEST(Failure, WaitsInsideAHandlerKeepItsException) {
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

TEST(Failure, FailedSessionCanBeDroppedAsItIs) {
  Device device = open_host(4, 2);
  for (int repeat = 0; repeat < 20; ++repeat) {
    Session session = device.prepare(TestProgram{[](Orchestrator& graph, const Io&) {
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
      return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path), std::filesystem::directory_iterator()));
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
    const auto told = graph.spmd("exchange", vector_core, 3, [=](Block& block, View<int> out_view) {
      if (here && way == 3 && block.index() == victim_block) throw std::runtime_error("chosen");
      const auto column = block.index();
      if (!(here && way == 4 && column == victim_block)) block.notify(cells.at((block.rank() + 1) % block.ranks())[column], 1, Notify::add);
      block.wait(cells.mine()[column], Compare::ge, step + 1);
      out_view(column) = step;
    }, new_tensor<int>(3));
    graph.dummy("deferred", completes_when(cells.mine()[0], Compare::ge, step + 1), after(told));
    if (step % 2 == 1) graph.read(told.output<0>().rows(1, 1));
  }
}

TEST(Failure, TwoHundredRandomFailuresLeaveNothingBehind) {
  const auto first_seed = static_cast<std::uint32_t>(std::random_device{}());
  SCOPED_TRACE("first seed " + std::to_string(first_seed));
  Device device = open_host(4, 2);
  Held held;
  for (std::uint32_t i = 0; i < 200; ++i) {
    std::atomic<std::uint32_t> seed{first_seed + i};
    Mendable mendable([&seed](Orchestrator& graph, const Io&) { fail_somewhere(graph, seed); }, [](Plan& plan) { plan.window("cells", 64); });
    Session session = device.prepare(mendable.program(), {.ring = {.task_window = 4, .heap_bytes = 4096, .dep_pool = 64}});
    const Error error = error_of([&] { session.run(); });
    EXPECT_TRUE(contains(error.message(), "chosen") || error.code() == Code::invalid_argument || error.code() == Code::signal_deadlock ||
                error.code() == Code::flow_control_deadlock)
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
