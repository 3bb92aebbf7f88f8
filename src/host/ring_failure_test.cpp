// SPDX-License-Identifier: Apache-2.0
//
// Rings and tables that are too small: which failures are proved, what they say, and that what they say is right.
#include <thread>

#include "host/test_program.hpp"

namespace heddle::host {
namespace {

constexpr auto noop = [](Block&) {};

void run_with(SessionConfig config, const std::function<void(Orchestrator&, const Io&)>& body) {
  Device device = open_host();
  run_once(device, {body, {}}, config);
}

TEST(RingFailure, TasksOfOneScopeFillTheTaskWindow) {
  std::uint32_t line = 0, scope_line = 0;
  const auto body = [&](Orchestrator& graph, const Io&) {
    scope_line = __LINE__ + 1;
    const auto scope = graph.scope();
    for (int i = 0; i < 8; ++i) {
      line = __LINE__ + 1;
      graph.submit("eight", vector_core, noop);
    }
  };
  const Error error = failure_of({.config = {.ring = {.task_window = 4}}}, body);
  expect_error(error, Code::scope_deadlock,
               {"task window of ring 1 (4 slots)", "4 tasks", "task_window = 8",
                "ring_failure_test.cpp:" + std::to_string(scope_line)});
  expect_at(error, __FILE__, line);
  EXPECT_EQ(error.task(), "eight");
  EXPECT_EQ(error.rank(), 0);
  run_with({.ring = {.task_window = 8}}, body);
}

TEST(RingFailure, LeastWindowThatIsNamedIsTheLeast) {
  for (const int tasks : {5, 6, 9, 30}) {
    const auto body = [tasks](Orchestrator& graph, const Io&) {
      for (int i = 0; i < 50; ++i) {
        const auto scope = graph.scope();
        for (int k = 0; k < (i == 20 ? tasks : 3); ++k) graph.submit("task", vector_core, noop);
      }
    };
    const Error error = failure_of({.config = {.ring = {.task_window = 4}}}, body);
    expect_error(error, Code::scope_deadlock, {"task_window = " + std::to_string(tasks) + " is the least"});
    run_with({.ring = {.task_window = static_cast<std::uint32_t>(tasks)}}, body);
  }
}

TEST(RingFailure, OneOutputIsLargerThanTheHeap) {
  const auto body = [](Orchestrator& graph, const Io&) {
    graph.submit(
        "large", vector_core, [](Block&, View<std::int32_t> room) { room(8191) = 1; }, new_tensor<std::int32_t>(8192));
  };
  const Error error = failure_of({.config = {.ring = {.heap_bytes = 1024}}}, body);
  expect_error(error, Code::heap_ring_deadlock, {"32768 bytes asked for at once", "1024 bytes", "heap_bytes = 32768"});
  EXPECT_EQ(error.task(), "large");
  run_with({.ring = {.heap_bytes = 32768}}, body);
}

TEST(RingFailure, OpenScopeHoldsTheHeap) {
  const auto body = [](Orchestrator& graph, const Io&) {
    const auto scope = graph.scope();
    for (int i = 0; i < 5; ++i)
      graph.submit(
          "output", vector_core, [](Block&, View<std::uint8_t> room) { room(0) = 1; }, new_tensor<std::uint8_t>(1500));
  };
  const Error error = failure_of({.config = {.ring = {.heap_bytes = 8192}}}, body);
  expect_error(error, Code::heap_ring_deadlock,
               {"heap of ring 1 (8192 bytes)", "8192 bytes in 4 tasks", "2048 bytes asked for",
                "heap_bytes = 10240 is the least"});
  run_with({.ring = {.heap_bytes = 10240}}, body);
}

TEST(RingFailure, NestedScopesHoldTheTaskWindow) {
  const auto body = [](Orchestrator& graph, const Io&) {
    const std::function<void(int)> nest = [&](int depth) {
      if (depth == 0) return;
      const auto scope = graph.scope();
      for (int i = 0; i < 3; ++i) graph.submit("nested", vector_core, noop);
      nest(depth - 1);
    };
    nest(8);
  };
  const Error error = failure_of({.config = {.ring = {.task_window = 4}}}, body);
  // Scopes 3 to 8 share the last ring: 18 tasks.
  expect_error(error, Code::flow_control_deadlock,
               {"ring 3", "4 slots", "open scopes from", "task_window = 18 is the least"});
  run_with({.ring = {.task_window = 18}}, body);
}

TEST(RingFailure, OneTaskHasMoreProducersThanTheDependencyPool) {
  const auto body = [](Orchestrator& graph, const Io&) {
    std::vector<TaskHandle> all;
    const auto gate = graph.window("told").signals<std::int64_t>().mine()[0];
    for (int i = 0; i < 128; ++i) all.push_back(graph.dummy("producer", completes_when(gate, Compare::eq, 1)));
    graph.submit("consumer", vector_core, noop, after(std::span<const TaskHandle>(all)));
    graph.submit("open the gate", vector_core, [gate](Block& block) { block.notify(gate, 1, Notify::set); });
  };
  const Error error = failure_of({.config = {.ring = {.dep_pool = 4}}}, body);
  expect_error(error, Code::dep_pool_overflow,
               {"128 producers", "dependency pool of ring 0 (4 entries)", "dep_pool = 128"});
  EXPECT_EQ(error.task(), "consumer");
  Device device = open_host();
  run_once(device, {body, [](Plan& plan) { plan.window("told", 8); }}, {.ring = {.dep_pool = 128}});
}

TEST(RingFailure, OneTaskHasMoreArgumentsThanTheInferenceTable) {
  int cells[4] = {};
  const auto error = failure_of({.config = {.region_entries = 2}}, [&](Orchestrator& graph, const Io&) {
    const auto cell = [&](int i) { return out(wrap(&cells[i], 1)); };
    graph.submit(
        "wide", vector_core, [](Block&, View<int>, View<int>, View<int>, View<int>) {}, cell(0), cell(1), cell(2),
        cell(3));
  });
  expect_error(error, Code::region_map_full, {"4 arguments", "region_entries = 4"});
  EXPECT_EQ(error.task(), "wide");
}

// Programs whose ring is held by tasks that wait for what would be submitted next: no timer, only that all is at rest.
struct Held {
  SessionConfig config;
  Code code;
  std::vector<std::string> parts;
};

TEST(RingFailure, WhatWaitsForALaterSubmitHoldsTheResource) {
  int cells[32] = {};
  const auto body = [&](Orchestrator& graph, const Io&) {
    const auto gate = graph.window("told").signals<std::int64_t>().mine()[0];
    for (int i = 0; i < 10; ++i) {
      const auto scope = graph.scope();
      graph.submit(
          "holder", vector_core,
          [gate](Block& block, View<int>, View<std::uint8_t>) { block.wait(gate, Compare::eq, 1); },
          out(wrap(&cells[i], 1)), scratch<std::uint8_t>(1000));
      graph.submit("reader", vector_core, [](Block&, View<const int>) {}, in(wrap(&cells[i], 1)));
    }
    graph.submit("open the gate", vector_core, [gate](Block& block) { block.notify(gate, 1, Notify::set); });
  };
  const Held all[] = {
      {{.ring = {.task_window = 4}},
       Code::flow_control_deadlock,
       {"task window of ring 1 (4 slots)", "task_window", "holder"}},
      {{.ring = {.heap_bytes = 4096}},
       Code::heap_ring_deadlock,
       {"heap of ring 1 (4096 bytes)", "heap_bytes", "holder"}},
      {{.ring = {.dep_pool = 4}},
       Code::dep_pool_overflow,
       {"dependency pool of ring 1 (4 entries)", "dep_pool", "holder"}},
      {{.region_entries = 8}, Code::region_map_full, {"inference table (8 accesses)", "region_entries"}}};
  for (const auto& held : all) {
    for (const int ranks : {1, 4}) {
      const Error error = failure_of({.ranks = ranks, .config = held.config}, body);
      expect_error(error, held.code, held.parts);
      expect_error(error, held.code,
                   {"wait for what nothing submitted so far satisfies", "one of them is", "ring_failure_test.cpp:"});
      EXPECT_GE(error.waits().size(), 3U) << error.report();
    }
  }
  Device device = open_host();
  run_once(device, {body, [](Plan& plan) { plan.window("told", 8); }});
}

TEST(RingFailure, FullRingBehindALongKernelIsNoFailure) {
  Device device = open_host(1, 2);
  std::atomic<bool> go_on{false};
  std::atomic<int> submitted{0};
  int cell = 0;
  // The kernel ends only once the program has come as far as the full ring lets it.
  Session session = device.prepare(TestProgram{[&](Orchestrator& graph, const Io&) {
                                                 for (int i = 0; i < 200; ++i) {
                                                   const auto scope = graph.scope();
                                                   graph.submit(
                                                       "slow at first", vector_core,
                                                       [&](Block& block, View<int> x) {
                                                         while (x(0) == 0 && !go_on.load() && !block.cancelled())
                                                           std::this_thread::yield();
                                                         x(0) += 1;
                                                       },
                                                       inout(wrap(&cell, 1)));
                                                   ++submitted;
                                                 }
                                               },
                                               {}},
                                   {.ring = {.task_window = 8}});
  std::thread observer([&] {
    while (submitted.load() < 8) std::this_thread::yield();
    EXPECT_EQ(submitted.load(), 8) << "a window of 8 took more";
    go_on = true;
  });
  session.run();
  observer.join();
  EXPECT_EQ(cell, 200);
}

TEST(RingFailure, ProgramThatCannotStopIsSizedAllTheSame) {
  // Not even reads give it anything to stop at.
  int cell = 0;
  const Error error = failure_of({.config = {.ring = {.task_window = 4}}}, [&](Orchestrator& graph, const Io&) {
    for (int i = 0; i < 40; ++i) {
      graph.submit("add", vector_core, [](Block&, View<int> x) { x(0) += 1; }, inout(wrap(&cell, 1)));
      graph.read(wrap(&cell, 1));
    }
  });
  expect_error(error, Code::scope_deadlock,
               {"task window of ring 0", "task_window = 40 is needed to get past this point"});
}

}  // namespace
}  // namespace heddle::host
