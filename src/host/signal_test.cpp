// SPDX-License-Identifier: Apache-2.0
//
// Windows and signals between ranks, as kernels use them.
#include "host/test_program.hpp"

namespace heddle::host {
namespace {

template <class T>
class SignalOf : public ::testing::Test {};
using CellTypes = ::testing::Types<std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(SignalOf, CellTypes);

TYPED_TEST(SignalOf, SetsAndAddsWithEitherOrder) {
  using T = TypeParam;
  Device device = open_host(2);
  Session session = device.prepare(TestProgram{
      [](Orchestrator& graph, const Io&) {
        const auto cells = graph.window("cells").signals<T>();
        const int peer = 1 - graph.rank();
        graph.submit("notify", vector_core, [there = cells.at(peer)](Block& block) {
          block.notify(there[0], T(-7), Notify::set);
          block.notify(there[1], std::numeric_limits<T>::max(), Notify::set, Order::relaxed);
          for (int i = 0; i < 5; ++i)
            block.notify(there[2], 3, Notify::add, i % 2 == 0 ? Order::released : Order::relaxed);
          block.notify(there[3], std::numeric_limits<T>::max(), Notify::add);
          block.notify(there[3], 1, Notify::add);
          block.notify(there[5], 1, Notify::set);
        });
        graph.submit("wait", vector_core, [own = cells.mine()](Block& block) {
          block.wait(own[5], Compare::eq, 1);
          EXPECT_TRUE(block.test(own[0], Compare::eq, -7));
          EXPECT_TRUE(block.test(own[1], Compare::ge, std::numeric_limits<T>::max()));
          EXPECT_TRUE(block.test(own[2], Compare::eq, 15));
          EXPECT_TRUE(block.test(own[3], Compare::eq, std::numeric_limits<T>::lowest())) << "an add wraps around";
          EXPECT_TRUE(block.test(own[4], Compare::eq, 0)) << "a neighbour was touched";
          EXPECT_FALSE(block.test(own[4], Compare::ne, 0));
        });
      },
      [](Plan& plan) { plan.window("cells", 6 * sizeof(T)); }});
  session.run();
}

TYPED_TEST(SignalOf, WaitsWithEveryComparison) {
  using T = TypeParam;
  Device device = open_host(1, 1);
  std::atomic<int> passed{0};
  run_once(device, {[&](Orchestrator& graph, const Io&) {
                      const auto own = graph.window("cells").signals<T>().mine();
                      const std::tuple<Compare, T, T> cases[] = {{Compare::eq, 5, 5},  {Compare::ne, 0, 1},
                                                                 {Compare::gt, 4, 5},  {Compare::ge, 5, 5},
                                                                 {Compare::lt, 0, -1}, {Compare::le, -2, -2}};
                      int i = 0;
                      for (const auto& [compare, needs, value] : cases) {
                        const auto cell = own[i++];
                        graph.submit("wait", vector_core,
                                     [&passed, cell, arrived = own[6], how = compare, than = needs](Block& block) {
                                       block.notify(arrived, 1, Notify::add);
                                       EXPECT_FALSE(block.test(cell, how, than));
                                       block.wait(cell, how, than);
                                       ++passed;
                                     });
                      }
                      i = 0;
                      for (const auto& one : cases) {
                        const auto cell = own[i++];
                        graph.submit("notify", vector_core,
                                     [cell, arrived = own[6], value = std::get<2>(one)](Block& block) {
                                       block.wait(arrived, Compare::eq, 6);
                                       block.notify(cell, value, Notify::set);
                                     });
                      }
                    },
                    [](Plan& plan) { plan.window("cells", 64); }});
  EXPECT_EQ(passed.load(), 6);
}

TEST(Signal, SixteenRanksOfWaitingBlocksRunOnOneThread) {
  constexpr int ranks = 16, blocks = 16;
  Device device = open_host(ranks, 1);
  Session session = device.prepare(TestProgram{[](Orchestrator& graph, const Io&) {
                                                 const auto cells = graph.window("cells").signals<std::int32_t>();
                                                 // Every block waits for what the same block of every rank has yet to
                                                 // say.
                                                 graph.spmd("all", vector_core, blocks, [cells](Block& block) {
                                                   for (int peer = 0; peer < block.ranks(); ++peer)
                                                     block.notify(cells.at(peer)[block.index()], 1, Notify::add);
                                                   const auto needs =
                                                       static_cast<std::int32_t>(ranks * (block.round() + 1));
                                                   block.wait(cells.mine()[block.index()], Compare::eq, needs);
                                                 });
                                               },
                                               [](Plan& plan) { plan.window("cells", blocks * 4); }});
  for (int round = 0; round < 20; ++round) {
    const auto statistics = session.run();
    EXPECT_EQ(statistics.notifies, std::uint64_t{ranks * ranks * blocks});
    EXPECT_GE(statistics.waits_parked, std::uint64_t{(ranks - 1) * blocks})
        << "only the last rank's blocks need not wait";
  }
}

TEST(Signal, AddsAreNeverLost) {
  constexpr int ranks = 4, blocks = 16, adds = 200;
  Device device = open_host(ranks, 3);
  Session session =
      device.prepare(TestProgram{[](Orchestrator& graph, const Io&) {
                                   const auto cells = graph.window("cells").signals<std::int64_t>();
                                   graph.spmd("add", vector_core, blocks, [there = cells.at(0)[0]](Block& block) {
                                     for (int i = 0; i < adds; ++i) block.notify(there, 1, Notify::add, Order::relaxed);
                                   });
                                   if (graph.rank() == 0)
                                     graph.submit("total", vector_core, [own = cells.mine()[0]](Block& block) {
                                       block.wait(own, Compare::ge, ranks * blocks * adds * (block.round() + 1));
                                     });
                                 },
                                 [](Plan& plan) { plan.window("cells", 8); }});
  for (int round = 0; round < 10; ++round) session.run();
  EXPECT_EQ(*reinterpret_cast<std::int64_t*>(session.window(0, "cells").data()), 10 * ranks * blocks * adds);
}

TEST(Signal, ReleasedNotifyIsSeenAfterTheDataOfThePutsBeforeIt) {
  constexpr int elements = 512;
  Device device = open_host(2, 2);
  Session session = device.prepare(
      TestProgram{[](Orchestrator& graph, const Io&) {
                    const auto data = graph.window("data").tensor<std::int32_t>(elements);
                    const auto flags = graph.window("flags").signals<std::int32_t>();
                    const int peer = 1 - graph.rank();
                    // Ping-pong: a value of the flag for each message, and its echo before the memory is written again.
                    graph.submit(
                        "send", vector_core,
                        [there = data.at(peer), flag = flags.at(peer)[0], echo = flags.mine()[1]](
                            Block& block, View<std::int32_t> room) {
                          for (std::int32_t n = 1; n <= 50; ++n) {
                            const auto message = static_cast<std::int32_t>(block.round() * 50) + n;
                            for (std::int64_t i = 0; i < elements; ++i) room(i) = message;
                            block.put(there, room);
                            block.notify(flag, message, Notify::set);
                            block.wait(echo, Compare::eq, message);
                          }
                        },
                        scratch<std::int32_t>(elements));
                    graph.submit(
                        "receive", vector_core,
                        [flag = flags.mine()[0], echo = flags.at(peer)[1]](Block& block, View<std::int32_t> mine) {
                          for (std::int32_t n = 1; n <= 50; ++n) {
                            const auto message = static_cast<std::int32_t>(block.round() * 50) + n;
                            block.wait(flag, Compare::eq, message);
                            for (std::int64_t i = 0; i < elements; ++i) ASSERT_EQ(mine(i), message);
                            block.notify(echo, message, Notify::set);
                          }
                        },
                        no_dep(data.mine()));
                  },
                  [](Plan& plan) { plan.window("data", elements * 4), plan.window("flags", 8); }});
  for (int round = 0; round < 4; ++round) session.run();
}

TEST(Window, PutAndGetCopyStridedRegions) {
  Device device = open_host(2, 2);
  Session session = device.prepare(
      TestProgram{[](Orchestrator& graph, const Io& io) {
                    const auto grid = graph.window("grid").tensor<std::int32_t>(8, 10);
                    const auto flags = graph.window("flags").signals<std::int32_t>();
                    const int peer = 1 - graph.rank();
                    const auto put = graph.submit(
                        "put", vector_core,
                        [there = grid.at(peer), flag = flags.at(peer)[0]](Block& block, View<const std::int32_t, 2> x) {
                          block.put(there.view({1, 2}, {3, 4}), x.view({0, 0}, {3, 4}));
                          block.put(there.slice(0, 5, 2, 2).slice(1, 0, 5, 2),
                                    x.view({3, 0}, {2, 5}));                          // rows 5 and 7, even columns
                          block.put(there.rows(0, 0), x.rows(0, 0).slice(1, 0, 10));  // nothing at all
                          block.fence(flag.rank);
                          block.quiet();
                          block.notify(flag, 1, Notify::set);
                        },
                        in(io.input<std::int32_t, 2>("x")));
                    graph.submit(
                        "get", vector_core,
                        [there = grid.at(peer), flag = flags.mine()[0], done = flags.at(peer)[1]](
                            Block& block, View<std::int32_t, 2> y) {
                          block.wait(flag, Compare::eq, 1);
                          block.notify(done, 1, Notify::set);
                          for (std::int64_t i = 0; i < y.shape(0); ++i)
                            for (std::int64_t j = 0; j < y.shape(1); ++j) y(i, j) = -1;
                          block.get(y.view({0, 0}, {3, 4}), there.view({1, 2}, {3, 4}));
                          block.get(y.slice(1, 5, 3, 2).rows(4, 2), there.slice(0, 5, 2, 2).slice(1, 0, 3, 2));
                        },
                        out(io.output<std::int32_t, 2>("y")), after(put),
                        completes_when(flags.mine()[1], Compare::eq, 1));
                  },
                  [](Plan& plan) {
                    plan.input<std::int32_t>("x", {5, 10});
                    plan.output<std::int32_t>("y", {6, 10});
                    plan.window("grid", 8 * 10 * 4), plan.window("flags", 8);
                  }},
      {.reset_windows = true});
  for (int r = 0; r < 2; ++r) {
    auto x = session.input<std::int32_t>(r, "x");
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 1000 * (r + 1) + static_cast<std::int32_t>(i);
  }
  for (int i = 0; i < 20; ++i) session.run();
  for (int r = 0; r < 2; ++r) {
    const auto x = [&](int from, int row, int column) { return 1000 * (from + 1) + row * 10 + column; };
    const auto* grid = reinterpret_cast<const std::int32_t*>(session.window(r, "grid").data());
    for (int row = 0; row < 8; ++row) {
      for (int column = 0; column < 10; ++column) {
        int expected = 0;
        if (row >= 1 && row < 4 && column >= 2 && column < 6) expected = x(1 - r, row - 1, column - 2);
        if ((row == 5 || row == 7) && column % 2 == 0) expected = x(1 - r, 3 + (row - 5) / 2, column / 2);
        ASSERT_EQ(grid[row * 10 + column], expected) << "rank " << r << " row " << row << " column " << column;
      }
    }
    const auto y = session.output<std::int32_t>(r, "y");
    for (int row = 0; row < 6; ++row) {
      for (int column = 0; column < 10; ++column) {
        int expected = -1;
        if (row < 3 && column < 4) expected = x(r, row, column);
        if (row >= 4 && column >= 5 && column % 2 == 1) expected = x(r, row - 1, (column - 5) / 2);
        ASSERT_EQ(y[static_cast<std::size_t>(row * 10 + column)], expected)
            << "rank " << r << " row " << row << " column " << column;
      }
    }
  }
}

TEST(Window, CopiesOfDifferentShapesAndPeersThatAreNotThereFail) {
  const auto failure = [](auto kernel) {
    return failure_of(
        {.ranks = 2},
        [kernel](Orchestrator& graph, const Io&) {
          const auto data = graph.window("data").tensor<std::int32_t>(16);
          if (graph.rank() == 0)
            graph.submit(
                "copy", vector_core,
                [kernel, there = data.at(1)](Block& block, View<std::int32_t> room) { kernel(block, there, room); },
                scratch<std::int32_t>(16));
        },
        [](Plan& plan) { plan.window("data", 64); });
  };
  using There = Remote<std::int32_t>;
  using Room = View<std::int32_t>;
  expect_error(
      failure([](Block& block, const There& there, const Room& room) { block.put(there.rows(0, 4), room.rows(0, 5)); }),
      Code::kernel_failed, {"put", "same shape"});
  expect_error(
      failure([](Block& block, const There& there, const Room& room) { block.get(room.rows(0, 4), there.rows(0, 5)); }),
      Code::kernel_failed, {"get", "same shape"});
  expect_error(failure([](Block& block, const There& there, const Room& room) {
                 block.put(there.rows(10, 7), room.rows(0, 7));
               }),
               Code::kernel_failed, {"rows", "extent of 16"});
  expect_error(failure([](Block& block, const There&, const Room&) { block.fence(2); }), Code::kernel_failed,
               {"there is no rank 2"});
}

TEST(Signal, WaitSeesWhatAnOrdinaryTaskHasWritten) {
  Device device = open_host(1, 1);
  Session session = device.prepare(
      TestProgram{[](Orchestrator& graph, const Io&) {
                    const auto cells = graph.window("cells").signals<std::int32_t>();
                    graph.submit("by a task", vector_core,
                                 [own = cells.mine()[0]](Block& block) { block.wait(own, Compare::eq, 3); });
                    graph.submit("by a write", vector_core,
                                 [own = cells.mine()[1]](Block& block) { block.wait(own, Compare::eq, 4); });
                    graph.submit(
                        "store", vector_core, [](Block&, View<std::int32_t> all) { all(0) = 3; },
                        no_dep(cells.tensor()));
                    graph.submit(
                        "write", vector_core, [](Block& block, View<std::int32_t> all) { block.write(all, 4, 1); },
                        no_dep(cells.tensor()));
                  },
                  [](Plan& plan) { plan.window("cells", 8); }},
      {.reset_windows = true});
  for (int round = 0; round < 3; ++round) session.run();
}

TEST(Window, WaitSeesWhatAPutHasWritten) {
  Device device = open_host(2, 1);
  run_once(device, {[](Orchestrator& graph, const Io&) {
                      const auto window = graph.window("cells");
                      const auto there = window.tensor<std::int64_t>(4).at(1 - graph.rank());
                      graph.submit("wait", vector_core, [own = window.signals<std::int64_t>().mine()[2]](Block& block) {
                        block.wait(own, Compare::eq, 9);
                      });
                      graph.submit(
                          "put", vector_core,
                          [there](Block& block, View<std::int64_t> room) {
                            for (std::int64_t i = 0; i < 4; ++i) room(i) = 9;
                            block.put(there, room);
                          },
                          scratch<std::int64_t>(4));
                    },
                    [](Plan& plan) { plan.window("cells", 32); }});
}

TEST(Window, AllocatedInARoundIsZeroAtFirstAndTheSameInLaterRounds) {
  Device device = open_host(3, 2);
  Session session = device.prepare(TestProgram{
      [](Orchestrator& graph, const Io&) {
        const auto late = graph.alloc_window("late", 64);
        EXPECT_EQ(late.bytes(), 64U);
        const auto cells = late.signals<std::int64_t>();
        for (int peer = 0; peer < graph.ranks(); ++peer)
          graph.submit("tell", vector_core,
                       [there = cells.at(peer)[graph.rank()]](Block& block) { block.notify(there, 1, Notify::add); });
        graph.spmd("heard", vector_core, 3, [own = cells.mine()](Block& block) {
          block.wait(own[block.index()], Compare::eq, block.round() + 1);
        });
        EXPECT_EQ(graph.window("late").bytes(), 64U);
      },
      {}});
  for (int round = 0; round < 5; ++round) session.run();
  session.recover();
  expect_error(error_of([&] { session.run(); }), Code::signal_deadlock, {"late", "6"});
}

TEST(Window, MismatchBetweenPlansIsRefusedAtPrepare) {
  Device device = open_host(4);
  const auto refused = [&](std::function<void(Plan&)> declare, const std::vector<std::string>& parts) {
    const Error error =
        error_of([&] { device.prepare(TestProgram{[](Orchestrator&, const Io&) {}, std::move(declare)}); });
    expect_error(error, Code::window_mismatch, parts);
    EXPECT_EQ(error.rank(), 2);
  };
  refused([](Plan& plan) { plan.window("w", plan.rank() == 2 ? 32 : 64); },
          {"\"w\" of 32 bytes on rank 2", "\"w\" of 64 bytes on rank 0"});
  refused([](Plan& plan) { plan.window(plan.rank() == 2 ? "v" : "w", 64); },
          {"\"v\" of 64 bytes on rank 2", "\"w\" of 64 bytes on rank 0"});
  refused(
      [](Plan& plan) {
        const bool swapped = plan.rank() == 2;
        plan.window(swapped ? "b" : "a", 64), plan.window(swapped ? "a" : "b", 64);
      },
      {"\"b\"", "\"a\"", "rank 2"});
  refused(
      [](Plan& plan) {
        plan.window("a", 64);
        if (plan.rank() != 2) plan.window("b", 128);
      },
      {"\"b\" of 128 bytes", "rank 2 does not"});
}

TEST(Window, MismatchInARoundIsReportedWithTheRankThatDiffers) {
  const auto failure = [](std::function<void(Orchestrator&)> allocate) {
    return failure_of({.ranks = 4}, [allocate](Orchestrator& graph, const Io&) { allocate(graph); });
  };
  expect_error(failure([](Orchestrator& graph) { graph.alloc_window("w", graph.rank() == 2 ? 32 : 64); }),
               Code::window_mismatch, {"\"w\" of 32 bytes", "\"w\" of 64 bytes"});
  expect_error(failure([](Orchestrator& graph) {
                 graph.rank() == 2 ? graph.alloc_window("v", 64) : graph.alloc_window("w", 64);
               }),
               Code::window_mismatch, {"\"v\"", "\"w\""});
  // Nobody is told anything: the ranks end, and only their counts differ.
  const Error count = failure([](Orchestrator& graph) {
    if (graph.rank() != 2) graph.alloc_window("w", 64);
  });
  expect_error(count, Code::window_mismatch, {"\"w\" of 64 bytes", "rank 2 does not"});
  EXPECT_EQ(count.rank(), 2);
  // The others wait in the window that one rank has not allocated.
  const Error waiting = failure([](Orchestrator& graph) {
    if (graph.rank() == 2) return;
    graph.submit("wait", vector_core,
                 [own = graph.alloc_window("w", 64).signals<std::int32_t>().mine()[0]](Block& block) {
                   block.wait(own, Compare::eq, 1);
                 });
  });
  expect_error(waiting, Code::window_mismatch, {"rank 2 does not"});
  EXPECT_EQ(waiting.waits().size(), 3U);
}

}  // namespace
}  // namespace heddle::host
