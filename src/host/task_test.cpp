// SPDX-License-Identifier: Apache-2.0
//
// Tasks as a user submits them: blocks, predicates, dummies, memory of the runtime's own, deferred completion.
#include <sched.h>

#include <limits>
#include <span>

#include "host/test_program.hpp"

namespace heddle::host {
namespace {

// Waits until as many blocks have come here; only for blocks that can all run at the same time.
void meet(std::atomic<int>& arrived, int expected) {
  arrived.fetch_add(1);
  while (arrived.load() < expected) ::sched_yield();
}

TEST(Task, EachBlockRunsOnce) {
  Device device = open_host(2, 3);
  std::vector<std::atomic<int>> runs(2 * 2000);
  run_once(device, {[&](Orchestrator& graph, const Io&) {
                      const std::span mine(runs.data() + graph.rank() * 2000, 2000);
                      graph.spmd("count", vector_core, 2000, [mine](Block& block) {
                        EXPECT_EQ(block.count(), 2000);
                        mine[static_cast<std::size_t>(block.index())].fetch_add(1);
                      });
                    },
                    {}});
  for (const auto& count : runs) ASSERT_EQ(count.load(), 1);
}

TEST(Task, BlocksOfOneTaskRunAtTheSameTime) {
  Device device = open_host(1, 3);
  std::atomic<int> arrived{0};
  run_once(device, {[&](Orchestrator& graph, const Io&) {
                      graph.spmd("meet", vector_core, 3, [&](Block&) { meet(arrived, 3); });
                    },
                    {}});
  EXPECT_EQ(arrived.load(), 3);
}

TEST(Task, IndependentTasksRunAtTheSameTime) {
  Device device = open_host(1, 2);
  std::atomic<int> arrived{0};
  run_once(device, {[&](Orchestrator& graph, const Io&) {
                      for (int i = 0; i < 2; ++i) graph.submit("meet", vector_core, [&](Block&) { meet(arrived, 2); });
                    },
                    {}});
  EXPECT_EQ(arrived.load(), 2);
}

TEST(Task, SyncStartTakesExactlyTheWidth) {
  Device device = open_host(1, 3);
  std::atomic<int> arrived{0};
  run_once(device, {[&](Orchestrator& graph, const Io&) {
                      graph.spmd("cohort", vector_core, graph.width(), [&](Block&) { meet(arrived, 3); }, sync_start());
                    },
                    {}});
  EXPECT_EQ(arrived.load(), 3);
}

template <class T>
class Predicate : public ::testing::Test {};
using PredicateTypes = ::testing::Types<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t,
                                        std::uint32_t, std::int64_t, std::uint64_t, float, double>;
TYPED_TEST_SUITE(Predicate, PredicateTypes);

TYPED_TEST(Predicate, ComparesAsTheTypeDoes) {
  using T = TypeParam;
  using Limits = std::numeric_limits<T>;
  const T own = std::is_floating_point_v<T> ? static_cast<T>(0.3)
                                            : static_cast<T>(Limits::max() / 2 + T(1));  // not every type has it
  const std::vector<T> values{Limits::lowest(), T(0), T(1), T(3), Limits::max(), own};
  struct Case {
    T element, value;
    Compare compare;
  };
  std::vector<Case> cases;
  for (const T element : values)
    for (const T value : {T(0), T(3), own})
      for (const Compare compare : {Compare::eq, Compare::ne, Compare::gt, Compare::ge, Compare::lt, Compare::le})
        cases.push_back({element, value, compare});
  std::vector<T> elements;
  for (const auto& one : cases) elements.push_back(one.element);
  std::vector<int> ran(cases.size(), 0);
  Device device = open_host();
  run_once(device, {[&](Orchestrator& graph, const Io&) {
                      for (std::size_t i = 0; i < cases.size(); ++i)
                        graph.submit(
                            "maybe", vector_core, [](Block&, View<int> flag) { flag(0) = 1; }, out(wrap(&ran[i], 1)),
                            when(wrap(&elements[i], 1), cases[i].compare, cases[i].value));
                    },
                    {}});
  for (std::size_t i = 0; i < cases.size(); ++i)
    EXPECT_EQ(ran[i] != 0, holds(cases[i].element, cases[i].compare, cases[i].value))
        << +cases[i].element << " " << name_of(cases[i].compare) << " " << +cases[i].value;
}

TEST(Task, PredicateIsEvaluatedBetweenTheWritesAroundIt) {
  Device device = open_host(1, 2);
  for (int repeat = 0; repeat < 100; ++repeat) {
    int element = 0, ran = 0, after_it = 0;
    run_once(device, {[&](Orchestrator& graph, const Io&) {
                        const auto flag = wrap(&element, 1);
                        const auto set = [](Block&, View<int> x, int value) { x(0) = value; };
                        graph.submit("before", vector_core, set, out(flag), 1);
                        graph.submit(
                            "guarded", vector_core, [](Block&, View<int> x) { x(0) += 1; }, inout(wrap(&ran, 1)),
                            when(flag, Compare::eq, 1));
                        graph.submit(
                            "skipped", vector_core, [](Block&, View<int> x) { x(0) += 10; }, inout(wrap(&ran, 1)),
                            when(flag, Compare::ne, 1));
                        graph.submit("after", vector_core, set, out(flag), 2);
                        graph.submit(
                            "consumer", vector_core, [](Block&, View<const int> x, View<int> y) { y(0) = x(0) + 5; },
                            in(wrap(&ran, 1)), out(wrap(&after_it, 1)));
                      },
                      {}});
    ASSERT_EQ(ran, 1);
    ASSERT_EQ(after_it, 6) << "the consumer of a skipped task goes on";
  }
}

TEST(Task, SkippedTaskRunsNoneOfItsBlocks) {
  Device device = open_host();
  std::atomic<int> ran{0};
  int zero = 0;
  const auto statistics = run_once(
      device, {[&](Orchestrator& graph, const Io&) {
                 graph.spmd("skipped", vector_core, 100, [&](Block&) { ++ran; }, when(wrap(&zero, 1), Compare::gt, 0));
               },
               {}});
  EXPECT_EQ(ran.load(), 0);
  EXPECT_EQ(statistics.blocks, 0U);
  EXPECT_EQ(statistics.tasks, 1U);
}

TEST(Task, DummyOrdersAndRunsNothing) {
  Device device = open_host(1, 3);
  for (int repeat = 0; repeat < 50; ++repeat) {
    std::atomic<int> producers{0};
    std::atomic<bool> early{false};
    run_once(device, {[&](Orchestrator& graph, const Io&) {
                        std::vector<TaskHandle> all;
                        for (int i = 0; i < 20; ++i)
                          all.push_back(graph.submit("producer", vector_core, [&](Block&) { ++producers; }));
                        const auto barrier = graph.dummy("barrier", after(std::span<const TaskHandle>(all)));
                        for (int i = 0; i < 20; ++i)
                          graph.submit(
                              "consumer", vector_core,
                              [&](Block&) {
                                if (producers.load() != 20) early = true;
                              },
                              after(barrier));
                      },
                      {}});
    ASSERT_FALSE(early.load());
  }
}

TEST(Task, DummyWithArgumentsTakesPartInInference) {
  Device device = open_host(1, 2);
  int x = 0, y = 0, seen = 0;
  run_once(device, {[&](Orchestrator& graph, const Io&) {
                      graph.submit("write x", vector_core, [](Block&, View<int> v) { v(0) = 7; }, out(wrap(&x, 1)));
                      graph.dummy("joins", in(wrap(&x, 1)), out(wrap(&y, 1)));
                      graph.submit("after y", vector_core, [&](Block&, View<const int>) { seen = x; }, in(wrap(&y, 1)));
                    },
                    {}});
  EXPECT_EQ(seen, 7);
}

TEST(Task, ScratchIsPrivateToItsTask) {
  Device device = open_host(1, 3);
  std::atomic<int> wrong{0};
  run_once(device, {[&](Orchestrator& graph, const Io&) {
                      for (int i = 0; i < 60; ++i)
                        graph.spmd(
                            "scribble", vector_core, 4,
                            [&](Block& block, View<int, 2> room, int tag) {
                              const auto mine = room.rows(block.index(), 1);
                              for (std::int64_t k = 0; k < 100; ++k) mine(0, k) = tag;
                              ::sched_yield();
                              for (std::int64_t k = 0; k < 100; ++k) wrong += mine(0, k) != tag ? 1 : 0;
                            },
                            scratch<int>(4, 100), i);
                    },
                    {}});
  EXPECT_EQ(wrong.load(), 0);
}

TEST(Task, OutputsOfTheRuntimeAreAlignedPoisonedAndRead) {
  Device device = open_host();
  std::vector<std::int64_t> seen(4);
  run_once(device, {[&](Orchestrator& graph, const Io&) {
                      const auto made = graph.submit(
                          "make", vector_core,
                          [](Block&, View<std::int64_t, 2> a, View<std::uint8_t> b) {
                            a(2, 6) = 42;
                            b(0) = 1;
                          },
                          new_tensor<std::int64_t>(3, 7), new_tensor<std::uint8_t>(5));
                      graph.submit(
                          "use", vector_core,
                          [&seen](Block&, View<const std::int64_t, 2> a, View<const std::uint8_t> b) {
                            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&a(0, 0)) % 1024, 0U);
                            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&b(0)) % 1024, 0U);
                            seen = {a(2, 6), a(0, 0), b(0), b(1)};
                          },
                          in(made.output<0>()), in(made.output<1>()));
                    },
                    {}});
  EXPECT_EQ(seen, (std::vector<std::int64_t>{42, -1, 1, 0xff}));
}

TEST(Task, ChainOfRuntimeOutputsGoesThroughASmallHeap) {
  Device device = open_host(1, 2);
  std::int64_t result = 0;
  run_once(device,
           {[&](Orchestrator& graph, const Io&) {
              const auto total = wrap(&result, 1);
              for (int i = 0; i < 500; ++i) {
                const auto scope = graph.scope();
                const auto first = graph.submit(
                    "first", vector_core,
                    [](Block&, View<const std::int64_t> t, View<std::int64_t> x) { x(99) = t(0); }, in(total),
                    new_tensor<std::int64_t>(100));
                const auto second = graph.submit(
                    "second", vector_core,
                    [](Block&, View<const std::int64_t> x, View<std::int64_t> y) { y(0) = x(99) + 1; },
                    in(first.output<0>()), new_tensor<std::int64_t>(1));
                graph.submit(
                    "third", vector_core, [](Block&, View<const std::int64_t> y, View<std::int64_t> t) { t(0) = y(0); },
                    in(second.output<0>()), out(total));
              }
            },
            {}},
           {.ring = {.task_window = 8, .heap_bytes = 4096, .dep_pool = 16}});
  EXPECT_EQ(result, 500);
}

TEST(Task, LargeAndOwningKernelsAreCopiedAndDestroyedOnce) {
  Device device = open_host();
  const auto counted = std::make_shared<int>(5);
  std::atomic<std::int64_t> sum{0};
  std::array<std::int64_t, 40> large{};
  large.back() = 3;
  run_once(device, {[&](Orchestrator& graph, const Io&) {
                      for (int i = 0; i < 10; ++i)
                        graph.submit("keep", vector_core,
                                     [counted, large, &sum](Block&) { sum += *counted + large.back(); });
                      int zero = 0;
                      graph.submit("skip", vector_core, [counted](Block&) {}, when(wrap(&zero, 1), Compare::ne, 0));
                      EXPECT_EQ(graph.read(wrap(&zero, 1)), 0);
                      graph.write(wrap(&zero, 1), 0);
                    },
                    {}});
  EXPECT_EQ(sum.load(), 80);
  EXPECT_EQ(counted.use_count(), 1);
}

TEST(Task, OrchestratorReadsAndWritesBetweenTheTasksThatConflict) {
  Device device = open_host(1, 2);
  int x = 0;
  std::vector<int> read_by_task(20), read_by_program;
  run_once(device, {[&](Orchestrator& graph, const Io&) {
                      const auto cell = wrap(&x, 1);
                      for (int i = 0; i < 20; ++i) {
                        graph.submit("double", vector_core, [](Block&, View<int> v) { v(0) *= 2; }, inout(cell));
                        graph.submit(
                            "look", vector_core, [](Block&, View<const int> v, View<int> to) { to(0) = v(0); },
                            in(cell), out(wrap(&read_by_task[static_cast<std::size_t>(i)], 1)));
                        read_by_program.push_back(graph.read(cell));
                        graph.write(cell, i + 1);
                      }
                    },
                    {}});
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(read_by_program[static_cast<std::size_t>(i)], 2 * i);
    EXPECT_EQ(read_by_task[static_cast<std::size_t>(i)], 2 * i) << "the write came before an earlier reader";
  }
}

void declare_cells(Plan& plan) { plan.window("cells", 4096); }

TEST(Task, DeferredCompletionHoldsNoCore) {
  Device device = open_host(1, 1);
  std::atomic<int> completed{0};
  const auto statistics = run_once(
      device, {[&](Orchestrator& graph, const Io&) {
                 const auto cells = graph.window("cells").signals<std::int32_t>();
                 for (int i = 0; i < 800; ++i) {
                   const auto deferred = graph.submit(
                       "deferred", vector_core, [](Block&) {}, completes_when(cells.mine()[i], Compare::eq, i + 1));
                   graph.submit("follower", vector_core, [&completed](Block&) { ++completed; }, after(deferred));
                 }
                 // Submitted last, so it runs while all the others wait.
                 graph.submit("satisfier", vector_core, [row = cells.mine(), &completed](Block& block) {
                   EXPECT_EQ(completed.load(), 0);
                   for (int i = 0; i < 800; ++i) block.notify(row[i], i + 1, Notify::set);
                 });
               },
               declare_cells});
  EXPECT_EQ(completed.load(), 800);
  EXPECT_EQ(statistics.waits_parked, 0U);
}

TEST(Task, DeferredConditionMayComeEarlyOrLate) {
  for (const bool early : {true, false}) {
    Device device = open_host(1, 2);
    int value = 0;
    run_once(device, {[&](Orchestrator& graph, const Io&) {
                        const auto cell = graph.window("cells").signals<std::int64_t>().mine()[7];
                        const auto satisfy = [&] {
                          return graph.submit("satisfier", vector_core, [cell, &value](Block& block) {
                            value = 9;
                            block.notify(cell, 4, Notify::add);
                          });
                        };
                        const auto noop = [](Block&) {};
                        TaskHandle deferred;
                        if (early) {
                          deferred = graph.submit("deferred", vector_core, noop, after(satisfy()),
                                                  completes_when(cell, Compare::gt, 3));
                        } else {
                          deferred = graph.submit("deferred", vector_core, noop, completes_when(cell, Compare::gt, 3));
                          satisfy();
                        }
                        graph.submit("follower", vector_core, [&value](Block&) { value += 1; }, after(deferred));
                      },
                      declare_cells});
    EXPECT_EQ(value, 10) << (early ? "early" : "late");
  }
}

TEST(Task, CompletesOnceAllItsConditionsHold) {
  Device device = open_host(2, 2);
  for (int repeat = 0; repeat < 50; ++repeat) {
    std::atomic<int> notified[2] = {0, 0};
    run_once(device, {[&](Orchestrator& graph, const Io&) {
                        const auto cells = graph.window("cells").signals<std::int64_t>();
                        const auto own = cells.mine();
                        auto& count = notified[graph.rank()];
                        const auto deferred =
                            graph.dummy("deferred", completes_when(own[0], Compare::eq, 1),
                                        completes_when(own[1], Compare::ge, 2), completes_when(own[2], Compare::lt, 0),
                                        completes_when(own[3], Compare::ne, 0), completes_when(own[4], Compare::le, 0));
                        graph.submit(
                            "follower", vector_core, [&count](Block&) { EXPECT_EQ(count.load(), 4); }, after(deferred));
                        const int peer = 1 - graph.rank();
                        auto& theirs = notified[peer];
                        const std::int64_t values[] = {1, 2, -3, 4};
                        for (int i = 0; i < 4; ++i)
                          graph.submit("satisfier", vector_core,
                                       [cell = cells.at(peer)[i], value = values[i], &theirs](Block& block) {
                                         ++theirs;
                                         block.notify(cell, value, Notify::set);
                                       });
                      },
                      declare_cells});
  }
}

TEST(Task, SkippedTaskStillWaitsForItsConditions) {
  Device device = open_host(1, 1);
  int zero = 0, order = 0;
  run_once(device, {[&](Orchestrator& graph, const Io&) {
                      const auto cell = graph.window("cells").signals<std::int32_t>().mine()[0];
                      const auto deferred = graph.submit(
                          "deferred", vector_core, [&order](Block&) { order = -100; },
                          when(wrap(&zero, 1), Compare::ne, 0), completes_when(cell, Compare::ne, 0));
                      graph.submit(
                          "follower", vector_core, [&order](Block&) { order = order == 1 ? 2 : -1; }, after(deferred));
                      graph.submit("satisfier", vector_core, [cell, &order](Block& block) {
                        order = 1;
                        block.notify(cell, 1, Notify::add);
                      });
                    },
                    declare_cells});
  EXPECT_EQ(order, 2);
}

}  // namespace
}  // namespace heddle::host
