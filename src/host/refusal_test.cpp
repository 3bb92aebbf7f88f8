// SPDX-License-Identifier: Apache-2.0
//
// Arguments that are refused at the call, and what a program that is refused or fails can still do.
#include <limits>
#include <optional>

#include "host/test_program.hpp"

namespace heddle::host {
namespace {

constexpr auto noop = [](Block&) {};
constexpr auto noop_one = [](Block&, auto&&) {};

// The error of a call in the middle of a program is thrown there; not caught there, it fails the rank.
Error refused(const std::function<void(Orchestrator&)>& call, int ranks = 1) {
  const Error uncaught = failure_of({.ranks = ranks}, [call](Orchestrator& graph, const Io&) {
    if (graph.rank() == graph.ranks() - 1) call(graph);
  });
  EXPECT_EQ(uncaught.rank(), ranks - 1) << uncaught.report();
  Device device = open_host();
  std::string caught;
  int done = 0;
  if (ranks == 1) {
    run_once(device, {[&](Orchestrator& graph, const Io&) {
                        caught = error_of([&] { call(graph); }).message();
                        graph.submit(
                            "goes on", vector_core, [](Block&, View<int> x) { x(0) = 1; }, out(wrap(&done, 1)));
                      },
                      [](Plan& plan) { plan.window("told", 8); }});
    EXPECT_EQ(caught, uncaught.message());
    EXPECT_EQ(done, 1) << "a refused call changes nothing";
  }
  return uncaught;
}

TEST(Refusal, NumberOfBlocks) {
  for (const std::int64_t blocks :
       {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 31, std::numeric_limits<std::int64_t>::max()}) {
    std::uint32_t line = 0;
    const Error error = refused([blocks, &line](Orchestrator& graph) {
      line = __LINE__ + 1;
      graph.spmd("blocks", vector_core, blocks, noop);
    });
    expect_error(error, Code::invalid_argument, {std::to_string(blocks) + " blocks", "1 to 2147483647"});
    expect_at(error, __FILE__, line);
    EXPECT_EQ(error.task(), "blocks");
  }
}

TEST(Refusal, CohortWiderThanTheDevice) {
  const Error error =
      refused([](Orchestrator& graph) { graph.spmd("cohort", vector_core, graph.width() + 1, noop, sync_start()); });
  expect_error(error, Code::sync_start_too_wide, {"3 blocks", "2 wide"});
  EXPECT_EQ(error.task(), "cohort");
}

TEST(Refusal, TensorsThatAreNotThere) {
  expect_error(refused([](Orchestrator&) { wrap(static_cast<int*>(nullptr), 4); }), Code::invalid_argument,
               {"wrap", "null"});
  expect_error(refused([](Orchestrator& graph) {
                 graph.submit("null", vector_core, noop_one, in(Tensor<int>({nullptr, {4}, {1}}, {})));
               }),
               Code::invalid_argument, {"argument 0", "no memory"});
  expect_error(refused([](Orchestrator& graph) { graph.read(Tensor<int>({nullptr, {1}, {1}}, {})); }),
               Code::invalid_argument, {"read, write"});
  expect_error(refused([](Orchestrator& graph) {
                 int two[2] = {};
                 graph.read(wrap(two, 2));
               }),
               Code::invalid_argument, {"exactly one element"});
  expect_error(refused([](Orchestrator& graph) {
                 int two[2] = {};
                 graph.submit("when", vector_core, noop, when(wrap(two, 2), Compare::eq, 0));
               }),
               Code::invalid_argument, {"when", "exactly one element"});
}

TEST(Refusal, ShapesAndViewsOutside) {
  static int memory[64] = {};
  const auto tensor = [] { return wrap(memory, 8, 8); };
  const std::pair<std::function<void(Orchestrator&)>, std::vector<std::string>> calls[] = {
      {[](Orchestrator&) { wrap(memory, -1); }, {"wrap", "-1"}},
      {[](Orchestrator&) { wrap(memory, std::int64_t{1} << 40, std::int64_t{1} << 40); }, {"wrap", "2^63"}},
      {[](Orchestrator&) { scratch<double>(std::int64_t{1} << 60); }, {"scratch", "2^63"}},
      {[](Orchestrator&) { new_tensor<char>(3, -2); }, {"new_tensor", "-2"}},
      {[=](Orchestrator&) { static_cast<void>(tensor().view({0, 4}, {8, 5})); },
       {"view", "dimension 1", "extent of 8"}},
      {[=](Orchestrator&) { static_cast<void>(tensor().view({-1, 0}, {1, 1})); }, {"view", "-1"}},
      {[=](Orchestrator&) { static_cast<void>(tensor().rows(8, 1)); }, {"rows", "extent of 8"}},
      {[=](Orchestrator&) { static_cast<void>(tensor().rows(1, std::numeric_limits<std::int64_t>::max())); }, {"rows"}},
      {[=](Orchestrator&) { static_cast<void>(tensor().slice(0, 0, 5, 2)); }, {"slice", "steps of 2"}},
      {[=](Orchestrator&) { static_cast<void>(tensor().slice(2, 0, 1)); }, {"slice", "dimension 2"}},
      {[=](Orchestrator&) { static_cast<void>(tensor().slice(0, 0, 1, 0)); }, {"slice", "step 0"}},
      {[=](Orchestrator&) { static_cast<void>(tensor().transpose(0, 2)); }, {"transpose"}},
      {[=](Orchestrator&) { static_cast<void>(tensor().permute({1, 1})); }, {"permute", "twice"}},
      {[=](Orchestrator&) { static_cast<void>(tensor().reshape(3, 3)); }, {"reshape", "9 elements", "64"}},
      {[=](Orchestrator&) { static_cast<void>(tensor().transpose(0, 1).reshape(64)); }, {"reshape", "not contiguous"}},
  };
  for (const auto& [call, parts] : calls) expect_error(refused(call), Code::invalid_argument, parts);
}

TEST(Refusal, EmptyTensorsAreNoError) {
  Device device = open_host();
  int memory[4] = {}, ran = 0;
  run_once(device, {[&](Orchestrator& graph, const Io&) {
                      graph.submit(
                          "empty", vector_core,
                          [&](Block&, View<const int> none, View<int> also, View<int> fresh) {
                            ran = none.shape(0) == 0 && also.shape(0) == 0 && fresh.shape(0) == 0 ? 1 : -1;
                          },
                          in(wrap(memory, 4).rows(4, 0)), out(wrap(static_cast<int*>(nullptr), 0)), new_tensor<int>(0));
                    },
                    {}});
  EXPECT_EQ(ran, 1);
}

TEST(Refusal, HandlesAndTensorsKeptPastTheirScope) {
  const auto keep_task = [](Orchestrator& graph) -> TaskHandle {
    const auto scope = graph.scope();
    return graph.submit("kept", vector_core, noop);
  };
  const auto keep_tensor = [](Orchestrator& graph) {
    const auto scope = graph.scope();
    return graph.submit("kept", vector_core, [](Block&, View<int> x) { x(0) = 1; }, new_tensor<int>(1)).output<0>();
  };
  expect_error(refused([=](Orchestrator& graph) { graph.submit("late", vector_core, noop, after(keep_task(graph))); }),
               Code::invalid_argument, {"after", "scope has ended"});
  // A scope of the same depth is open again: the handle still belongs to the other one.
  expect_error(refused([=](Orchestrator& graph) {
                 const auto kept = keep_task(graph);
                 const auto scope = graph.scope();
                 graph.submit("late", vector_core, noop, after(kept));
               }),
               Code::invalid_argument, {"after", "scope has ended"});
  expect_error(refused([](Orchestrator& graph) { graph.submit("late", vector_core, noop, after(TaskHandle{})); }),
               Code::invalid_argument, {"after", "no task"});
  expect_error(
      refused([=](Orchestrator& graph) { graph.submit("late", vector_core, noop_one, in(keep_tensor(graph))); }),
      Code::invalid_argument, {"argument 0", "scope has ended"});
  expect_error(refused([=](Orchestrator& graph) { graph.read(keep_tensor(graph)); }), Code::invalid_argument,
               {"read, write", "scope has ended"});
  expect_error(refused([=](Orchestrator& graph) {
                 graph.submit("late", vector_core, noop, when(keep_tensor(graph), Compare::eq, 1));
               }),
               Code::invalid_argument, {"when", "scope has ended"});
}

TEST(Refusal, HandleKeptFromAnEarlierRound) {
  Device device = open_host();
  std::optional<TaskHandle> kept;
  Session session = device.prepare(TestProgram{[&](Orchestrator& graph, const Io&) {
                                                 if (graph.round() == 1)
                                                   graph.submit("late", vector_core, noop, after(*kept));
                                                 else
                                                   kept = graph.submit("kept", vector_core, noop);
                                               },
                                               {}});
  session.run();
  expect_error(error_of([&] { session.run(); }), Code::invalid_argument, {"after", "scope has ended"});
  session.recover();
  session.run();
}

TEST(Refusal, MoreThan64NestedScopes) {
  for (const int depth : {64, 65}) {
    std::uint32_t line = 0;
    const auto body = [depth, &line](Orchestrator& graph) {
      const std::function<void(int)> nest = [&](int left) {
        line = __LINE__ + 1;
        const auto scope = graph.scope();
        graph.submit("nested", vector_core, noop);
        if (left > 1) nest(left - 1);
      };
      nest(depth);
    };
    if (depth == 64) {
      Device device = open_host();
      EXPECT_EQ(run_once(device, {[&](Orchestrator& graph, const Io&) { body(graph); }, {}}).tasks, 64U);
    } else {
      const Error error = refused(body);
      expect_error(error, Code::invalid_argument, {"64 nested scopes"});
      expect_at(error, __FILE__, line);
    }
  }
}

TEST(Refusal, AutomaticScopeInsideAManualOne) {
  expect_error(refused([](Orchestrator& graph) {
                 const auto manual = graph.scope(ScopeMode::manual);
                 const auto automatic = graph.scope();
               }),
               Code::invalid_argument, {"automatic scope inside a manual one"});
  Device device = open_host();
  run_once(device, {[](Orchestrator& graph, const Io&) {
                      const auto manual = graph.scope(ScopeMode::manual);
                      const auto inner = graph.scope(ScopeMode::manual);
                      graph.submit("inner", vector_core, noop);
                    },
                    {}});
}

TEST(Refusal, WindowsAndSignals) {
  expect_error(refused([](Orchestrator& graph) { graph.window("other"); }), Code::invalid_argument,
               {"\"other\"", "told"});
  expect_error(refused([](Orchestrator& graph) { graph.alloc_window("none", 0); }), Code::invalid_argument,
               {"\"none\" of 0 bytes"});
  expect_error(refused([](Orchestrator& graph) { graph.window("told").tensor<int>(3); }), Code::invalid_argument,
               {"\"told\"", "12 bytes"});
  expect_error(refused([](Orchestrator& graph) { graph.window("told").signals<std::int64_t>().mine()[1]; }),
               Code::invalid_argument, {"\"told\"", "no cell 1"});
  expect_error(refused([](Orchestrator& graph) { graph.window("told").signals<std::int64_t>().mine()[-1]; }),
               Code::invalid_argument, {"no cell -1"});
  expect_error(refused([](Orchestrator& graph) { graph.window("told").signals<std::int64_t>().at(1); }),
               Code::invalid_argument, {"no rank 1"});
  expect_error(refused([](Orchestrator& graph) { static_cast<void>(graph.group(3)); }, 4), Code::invalid_argument,
               {"group"});
  const auto foreign = [](Orchestrator& graph) {
    graph.dummy("foreign", completes_when(graph.window("told").signals<std::int64_t>().at(0)[0], Compare::eq, 1));
  };
  expect_error(refused(foreign, 2), Code::invalid_argument, {"completes_when", "rank 0"});
}

template <std::size_t... I>
void defer_often(Orchestrator& graph, std::index_sequence<I...>) {
  const auto cell = graph.window("told").signals<std::int64_t>().mine()[0];
  graph.dummy("deferred", completes_when(cell, Compare::ge, static_cast<std::int64_t>(I) * 0)...);
}

TEST(Refusal, SixtyFifthConditionOfATask) {
  expect_error(refused([](Orchestrator& graph) { defer_often(graph, std::make_index_sequence<65>{}); }),
               Code::invalid_argument, {"completes_when", "65 conditions", "at most 64"});
}

TEST(Refusal, DeclaredTensorsAreAskedForAsTheyAre) {
  const auto asked = [](std::function<void(const Io&)> ask) {
    return failure_of(
        {}, [ask](Orchestrator&, const Io& io) { ask(io); }, [](Plan& plan) { plan.input<float>("x", {2, 3}); });
  };
  expect_error(asked([](const Io& io) { io.input<float, 2>("y"); }), Code::invalid_argument, {"\"y\"", "x"});
  expect_error(asked([](const Io& io) { io.input<int, 2>("x"); }), Code::invalid_argument, {"\"x\"", "f32", "i32"});
  expect_error(asked([](const Io& io) { io.input<float>("x"); }), Code::invalid_argument,
               {"\"x\"", "[2, 3]", "1 dimension"});
  expect_error(asked([](const Io& io) { io.output<float, 2>("x"); }), Code::invalid_argument,
               {"\"x\"", "do not write"});
}

TEST(Refusal, PlanThatCannotBe) {
  Device device = open_host();
  const auto planned = [&](std::function<void(Plan&)> declare) {
    return error_of([&] { device.prepare(TestProgram{[](Orchestrator&, const Io&) {}, std::move(declare)}); });
  };
  expect_error(planned([](Plan& plan) { plan.input<float>("x", {4}), plan.output<float>("x", {4}); }),
               Code::invalid_argument, {"\"x\"", "taken"});
  expect_error(planned([](Plan& plan) { plan.input<float>("x", {4, 0}); }), Code::invalid_argument,
               {"\"x\"", "extent 0"});
  expect_error(planned([](Plan& plan) { plan.input<float>("x", {1LL << 40, 1LL << 40}); }), Code::invalid_argument,
               {"\"x\"", "1 TiB"});
  expect_error(planned([](Plan& plan) { plan.window("w", 0); }), Code::invalid_argument, {"\"w\"", "0 bytes"});
  expect_error(planned([](Plan&) { throw Error(Code::user_error, "not today"); }), Code::user_error, {"not today"});
  EXPECT_EQ(run_once(device, {[](Orchestrator&, const Io&) {}, {}}).tasks, 0U)
      << "an empty program and an empty round pass";
}

TEST(Refusal, AfterTheProgramHasFailedEveryCallDoesNothing) {
  std::uint32_t line = 0;
  std::atomic<int> ran{0};
  int cell = 5;
  const Error error = failure_of({.ranks = 2}, [&](Orchestrator& graph, const Io&) {
    if (graph.rank() == 0) return;
    EXPECT_FALSE(graph.stopped());
    line = __LINE__ + 1;
    graph.fail("the input makes no sense");
    EXPECT_TRUE(graph.stopped());
    graph.fail("and a second time");
    const auto scope = graph.scope();
    const auto made = graph.spmd("no-op", vector_core, -3, [&](Block&, View<int>) { ++ran; }, new_tensor<int>(1));
    graph.submit("no-op", vector_core, [&](Block&, View<const int>) { ++ran; }, in(made.output<0>()), after(made));
    EXPECT_EQ(graph.read(wrap(&cell, 1)), 0);
    graph.write(wrap(&cell, 1), 1);
  });
  expect_error(error, Code::user_error, {"the input makes no sense"});
  expect_at(error, __FILE__, line);
  EXPECT_EQ(error.rank(), 1);
  EXPECT_TRUE(error.attached().empty()) << error.report();
  EXPECT_EQ(ran.load(), 0);
  EXPECT_EQ(cell, 5);
}

TEST(Refusal, ProgramThatThrowsFailsItsRank) {
  const auto failure = [](std::function<void()> thrower) {
    return failure_of({.ranks = 3}, [thrower](Orchestrator& graph, const Io&) {
      if (graph.rank() == 1) thrower();
    });
  };
  expect_error(failure([] { throw std::runtime_error("no such file"); }), Code::user_error,
               {"the program threw: no such file"});
  expect_error(failure([] { throw 5; }), Code::user_error, {"not a std::exception"});
  const Error own = failure([] { throw Error(Code::user_error, "of its own").with_hint("try again"); });
  expect_error(own, Code::user_error, {"of its own"});
  EXPECT_EQ(own.rank(), 1);
  EXPECT_EQ(own.hint(), "try again");
}

}  // namespace
}  // namespace heddle::host
