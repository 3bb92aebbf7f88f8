// SPDX-License-Identifier: Apache-2.0
//
// The code of docs/guide.md, compiled and run. What stands between `// [name]` and `// [/name]` stands in the guide
// under the same name, without its indentation; docs_test.cpp holds the two equal.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <heddle/heddle.hpp>
#include <iostream>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/child.hpp"

using namespace heddle;

namespace {

// [scale]
struct Scale {
  float factor = 2;

  void parameters(ParameterList& list) { list.add("factor", factor, "what each element is multiplied by"); }
  void plan(Plan& plan) const {
    plan.input<float>("x", {1024});
    plan.output<float>("y", {1024});
  }
  void rank(Orchestrator& graph, const Io& io) const {
    const auto scale = [](Block& block, View<const float> x, View<float> y, float by) {
      for (std::int64_t i = block.index(); i < y.size(); i += block.count()) y[i] = by * x[i];
    };
    graph.spmd("scale", vector_core, 8, scale, in(io.input<float>("x")), out(io.output<float>("y")), factor);
  }
  void fill(HostIo& io) const {
    float next = static_cast<float>(io.rank() + io.round());
    for (float& element : io.input<float>("x")) element = next++;
  }
  void check(const HostIo& io) const {
    const auto x = io.tensor<float>("x"), y = io.tensor<float>("y");
    for (std::size_t i = 0; i < y.size(); ++i)
      io.expect(y[i] == factor * x[i], "y[" + std::to_string(i) + "] is not factor * x");
  }
};
// [/scale]

}  // namespace

// [module]
HEDDLE_MODULE(heddle::entry<Scale>("scale", "multiplies a vector by a factor"));
// [/module]

namespace {

TEST(Guide, BoundMemoryIsCopiedInAndBack) {
  // [bind]
  auto device = Device::open("host");
  auto session = device.prepare(Scale{.factor = 3});

  std::vector<float> x(1024, 1.5F), y(1024);
  const RoundStatistics statistics =
      session.run({heddle::bind(0, "x", std::span<const float>(x)), heddle::bind(0, "y", std::span(y))});
  std::cout << statistics.tasks << " task, " << statistics.blocks << " blocks, y[0] = " << y[0] << "\n";
  // [/bind]
  EXPECT_EQ(y.front(), 4.5F);
  EXPECT_EQ(y.back(), 4.5F);
  EXPECT_EQ(statistics.blocks, 8U);
}

// [test]
TEST(Scale, MultipliesOnEveryRankInEveryRound) {
  auto device = Device::open("host", {.ranks = 2, .threads = 2});
  auto session = device.prepare(Scale{.factor = 3});
  for (int round = 0; round < 3; ++round) {
    session.fill(round);
    session.run();
    session.check(round);  // throws heddle::Error, which fails the test
  }
}
// [/test]

struct Halves {
  void plan(Plan& plan) const {
    plan.input<float>("x", {1024});
    plan.output<float>("y", {1024});
  }
  void rank(Orchestrator& graph, const Io& io) const {
    // [inference]
    const auto x = io.input<float>("x");
    const auto y = io.output<float>("y");
    const auto twice = [](Block&, View<const float> from, View<float> to) {
      for (std::int64_t i = 0; i < to.size(); ++i) to[i] = 2 * from[i];
    };
    const auto negate = [](Block&, View<float> all) {
      for (std::int64_t i = 0; i < all.size(); ++i) all[i] = -all[i];
    };
    graph.submit("low", vector_core, twice, in(x.rows(0, 512)), out(y.rows(0, 512)));
    graph.submit("high", vector_core, twice, in(x.rows(512, 512)), out(y.rows(512, 512)));  // beside "low"
    graph.submit("negate", vector_core, negate, inout(y));                                  // after both
    // [/inference]
  }
};

struct Manual {
  void plan(Plan& plan) const { plan.output<float>("y", {1024}); }
  void rank(Orchestrator& graph, const Io& io) const {
    const auto one = [](Block&, View<float> part) {
      for (std::int64_t i = 0; i < part.size(); ++i) part[i] = 1;
    };
    const auto negate = [](Block&, View<float> all) {
      for (std::int64_t i = 0; i < all.size(); ++i) all[i] = -all[i];
    };
    // [manual]
    const auto y = io.output<float>("y");
    const Scope scope = graph.scope(ScopeMode::manual);
    const auto low = graph.submit("low", vector_core, one, out(y.rows(0, 512)));
    const auto high = graph.submit("high", vector_core, one, out(y.rows(512, 512)));
    graph.submit("negate", vector_core, negate, inout(y), after(low, high));
    // [/manual]
  }
};

TEST(Guide, TasksThatShareBytesAreOrdered) {
  auto device = Device::open("host", {.threads = 2});
  auto session = device.prepare(Halves{});
  for (float& element : session.input<float>(0, "x")) element = 2;
  session.run();
  EXPECT_EQ(session.output<float>(0, "y").front(), -4.0F);
  EXPECT_EQ(session.output<float>(0, "y").back(), -4.0F);
  auto manual = device.prepare(Manual{});
  manual.run();
  EXPECT_EQ(manual.output<float>(0, "y").front(), -1.0F);
  EXPECT_EQ(manual.output<float>(0, "y").back(), -1.0F);
}

struct SumOfSquares {
  std::int64_t steps = 64;
  bool scoped = true;

  void plan(Plan& plan) const {
    plan.input<float>("x", {steps, 4096});
    plan.output<double>("total", {1});
  }
  void rank(Orchestrator& graph, const Io& io) const {
    if (!scoped) return rank_without_scopes(graph, io);
    // [scope]
    const auto x = io.input<float, 2>("x");
    const auto total = io.output<double>("total");
    graph.submit("clear", vector_core, [](Block&, View<double> sum) { sum[0] = 0; }, out(total));
    for (std::int64_t step = 0; step < steps; ++step) {
      const Scope scope = graph.scope();
      const auto squares = graph.submit("square", vector_core, square, in(x.rows(step, 1)), new_tensor<float>(4096));
      graph.submit("add", vector_core, add, in(squares.output<0>()), inout(total));
    }
    // [/scope]
  }

 private:
  void rank_without_scopes(Orchestrator& graph, const Io& io) const {
    const auto x = io.input<float, 2>("x");
    const auto total = io.output<double>("total");
    graph.submit("clear", vector_core, [](Block&, View<double> sum) { sum[0] = 0; }, out(total));
    for (std::int64_t step = 0; step < steps; ++step) {
      const auto squares = graph.submit("square", vector_core, square, in(x.rows(step, 1)), new_tensor<float>(4096));
      graph.submit("add", vector_core, add, in(squares.output<0>()), inout(total));
    }
  }
  static void square(Block&, View<const float, 2> x, View<float> squares) {
    for (std::int64_t i = 0; i < squares.size(); ++i) squares[i] = x(0, i) * x(0, i);
  }
  static void add(Block&, View<const float> squares, View<double> total) {
    for (std::int64_t i = 0; i < squares.size(); ++i) total[0] += static_cast<double>(squares[i]);
  }
};

TEST(Guide, AScopeLetsARingServeMoreThanItHolds) {
  // [ring]
  SessionConfig config;
  config.ring.task_window = 256;          // tasks, of each of the rank's four rings
  config.ring.heap_bytes = 64ULL << 10U;  // bytes, of each
  auto device = Device::open("host");
  auto session = device.prepare(SumOfSquares{}, config);
  // [/ring]
  for (float& element : session.input<float>(0, "x")) element = 2;
  session.run();
  EXPECT_EQ(session.output<double>(0, "total")[0], 4.0 * 64 * 4096);

  auto without = device.prepare(SumOfSquares{.scoped = false}, config);
  try {
    without.run();
    FAIL() << "a ring of 64 KiB held 1 MiB";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::heap_ring_deadlock);
    EXPECT_NE(error.message().find("heap_bytes = 1048576 is the least with which this program ends"), std::string::npos)
        << error.report();
  }
}

struct Clip {
  void plan(Plan& plan) const { plan.inout<float>("x", {256}); }
  void rank(Orchestrator& graph, const Io& io) const {
    // [predicate]
    const auto x = io.output<float>("x");
    const auto count = [](Block&, View<const float> values, View<std::int32_t> too_large) {
      too_large[0] = 0;
      for (std::int64_t i = 0; i < values.size(); ++i) too_large[0] += values[i] > 1 ? 1 : 0;
    };
    const auto clip = [](Block&, View<float> values) {
      for (std::int64_t i = 0; i < values.size(); ++i) values[i] = std::min(values[i], 1.0F);
    };
    const auto counted = graph.submit("count", vector_core, count, in(x), new_tensor<std::int32_t>(1));
    graph.submit("clip", vector_core, clip, inout(x), when(counted.output<0>(), Compare::gt, 0));
    // [/predicate]
    // [read]
    if (graph.read(counted.output<0>()) > 128) graph.fail("more than half of the values are too large");
    // [/read]
  }
};

TEST(Guide, APredicateDecidesWhenItsTaskIsReadyAndAReadWaitsForIt) {
  auto device = Device::open("host");
  auto session = device.prepare(Clip{});
  const auto x = session.input<float>(0, "x");
  std::ranges::fill(x, 0.5F);
  x[7] = 3;
  EXPECT_EQ(session.run().blocks, 2U);
  EXPECT_EQ(x[7], 1.0F);
  EXPECT_EQ(session.run().blocks, 1U);
  std::ranges::fill(x, 2.0F);
  try {
    session.run();
    FAIL() << "the program reported a failure that run did not throw";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::user_error);
  }
}

// [shift]
struct Shift {
  void plan(Plan& plan) const {
    plan.window("inbox", 256 * sizeof(float));
    plan.window("arrived", sizeof(std::int32_t));
    plan.input<float>("x", {256});
    plan.output<float>("y", {256});
  }
  void rank(Orchestrator& graph, const Io& io) const {
    const auto inbox = graph.window("inbox").tensor<float>(256);
    const auto arrived = graph.window("arrived").signals<std::int32_t>();
    const int right = (graph.rank() + 1) % graph.ranks();
    const auto number = static_cast<std::int32_t>(graph.round() + 1);

    const auto send = [=](Block& block, View<const float> x) {
      block.put(inbox.at(right), x);
      block.notify(arrived.at(right)[0], number, Notify::set);  // released: after the put
    };
    const auto receive = [=](Block& block) { block.wait(arrived.mine()[0], Compare::ge, number); };
    const auto take = [](Block&, View<const float> from, View<float> to) {
      for (std::int64_t i = 0; i < to.size(); ++i) to[i] = from[i];
    };
    graph.submit("send", vector_core, send, in(io.input<float>("x")));
    const auto received = graph.submit("receive", vector_core, receive);
    graph.submit("take", vector_core, take, in(inbox.mine()), out(io.output<float>("y")), after(received));
  }
};
// [/shift]

template <class Program>
void expect_shifted(Program program, const char* backend) {
  auto device = Device::open(backend, {.ranks = 4, .threads = 2});
  auto session = device.prepare(program);
  for (int round = 0; round < 20; ++round) {
    for (int rank = 0; rank < 4; ++rank)
      std::ranges::fill(session.template input<float>(rank, "x"), static_cast<float>(10 * round + rank));
    session.run();
    for (int rank = 0; rank < 4; ++rank) {
      const auto expected = static_cast<float>(10 * round + (rank + 3) % 4);
      for (const float element : session.template output<float>(rank, "y")) ASSERT_EQ(element, expected);
    }
  }
}

TEST(Guide, WhoWaitsForAReleasedNotifySeesThePut) {
  expect_shifted(Shift{}, "host");
  expect_shifted(Shift{}, "lab:a2a3");
}

struct ShiftDeferred {
  void plan(Plan& plan) const { Shift{}.plan(plan); }
  void rank(Orchestrator& graph, const Io& io) const {
    const auto inbox = graph.window("inbox").tensor<float>(256);
    const auto arrived = graph.window("arrived").signals<std::int32_t>();
    const int right = (graph.rank() + 1) % graph.ranks();
    const auto number = static_cast<std::int32_t>(graph.round() + 1);
    const auto send = [=](Block& block, View<const float> x) {
      block.put(inbox.at(right), x);
      block.notify(arrived.at(right)[0], number, Notify::set);
    };
    const auto take = [](Block&, View<const float> from, View<float> to) {
      for (std::int64_t i = 0; i < to.size(); ++i) to[i] = from[i];
    };
    graph.submit("send", vector_core, send, in(io.input<float>("x")));
    // [deferred]
    const auto received = graph.dummy("receive", completes_when(arrived.mine()[0], Compare::ge, number));
    graph.submit("take", vector_core, take, in(inbox.mine()), out(io.output<float>("y")), after(received));
    // [/deferred]
  }
};

TEST(Guide, ATaskThatCompletesWhenASignalArrivesNeedsNoBlock) {
  expect_shifted(ShiftDeferred{}, "host");
  expect_shifted(ShiftDeferred{}, "lab:a2a3");
}

// [forgotten]
struct Forgotten {
  void plan(Plan& plan) const { plan.window("arrived", sizeof(std::int32_t)); }
  void rank(Orchestrator& graph, const Io&) const {
    const auto arrived = graph.window("arrived").signals<std::int32_t>();
    graph.submit("receive", vector_core, [=](Block& block) { block.wait(arrived.mine()[0], Compare::ge, 1); });
  }
};
// [/forgotten]

TEST(Guide, AWaitThatNothingCanSatisfyIsNamedWithoutATimer) {
  SessionConfig config;
  config.timeouts = {std::nullopt, std::nullopt, std::nullopt, std::nullopt, std::chrono::seconds(1)};
  auto device = Device::open("host", {.ranks = 2});
  auto session = device.prepare(Forgotten{}, config);
  // [catch]
  try {
    session.run();
  } catch (const Error& error) {
    std::cerr << error.report() << "\n";
    for (const WaitRecord& wait : error.waits())
      std::cerr << wait.window << "[" << wait.cell << "] is " << wait.has << "\n";
  }
  // [/catch]
  EXPECT_FALSE(session.finished(0));
  EXPECT_FALSE(session.finished(1));
}

struct FailsOnce {
  void rank(Orchestrator& graph, const Io&) const {
    graph.submit("fragile", vector_core, [](Block& block) {
      if (block.round() == 0) throw std::runtime_error("the first round is difficult");
    });
  }
};

TEST(Guide, ASessionRunsAgainAfterRecover) {
  auto device = Device::open("host");
  auto session = device.prepare(FailsOnce{});
  EXPECT_THROW(session.run(), Error);
  EXPECT_THROW(session.run(), Error);
  // [recover]
  session.recover();
  session.run();
  // [/recover]
  EXPECT_TRUE(session.finished(0));
}

TEST(Guide, LimitsAreSetForASession) {
  // [timeouts]
  SessionConfig config;
  config.timeouts.scheduler = std::chrono::seconds(2);
  config.timeouts.operation = std::chrono::seconds(20);
  config.timeouts.host_fence = std::chrono::seconds(30);
  config.timeouts.tensor_access = std::nullopt;  // no limit
  // [/timeouts]
  auto device = Device::open("host");
  device.prepare(Scale{}, config).run();
}

TEST(Guide, ATraceIsWrittenFromTheRecorders) {
  const heddle::test::TemporaryFolder folder;
  const std::string path = folder.file("shift.json");
  // [trace]
  SessionConfig config;
  config.recorder_entries = 1U << 16U;  // records that each worker keeps
  auto device = Device::open("host", {.ranks = 4});
  auto session = device.prepare(Shift{}, config);
  session.run();
  session.write_trace(path);
  // [/trace]
  EXPECT_GT(std::filesystem::file_size(path), 1000U);
}

TEST(Guide, ASnapshotIsWrittenWhileARoundRuns) {
  const heddle::test::TemporaryFolder folder;
  const std::string path = folder.file("shift.snapshot.json");
  {
    // [snapshot]
    SessionConfig config;
    config.keep_failure = true;  // of a round that fails: what stood before anything was cancelled
    auto device = Device::open("host", {.ranks = 4});
    auto session = device.prepare(Shift{}, config);
    std::jthread watch([&] { session.write_snapshot(path); });
    session.run();
    // [/snapshot]
  }
  EXPECT_GT(std::filesystem::file_size(path), 100U);
}

TEST(Guide, TheSameProgramRunsOnASimulatedChip) {
  const heddle::test::TemporaryFolder folder;
  const std::string path = folder.file("shift.json");
  // [lab]
  auto device = Device::open("lab:a2a3", {.ranks = 4, .seed = 7});
  auto session = device.prepare(Shift{});
  const RoundStatistics statistics = session.run();
  std::cout << statistics.elapsed.count() << " ns of virtual time, trace " << statistics.trace_hash << "\n";
  session.write_trace(path);
  // [/lab]
  EXPECT_GT(statistics.elapsed.count(), 0);
  EXPECT_GT(std::filesystem::file_size(path), 1000U);
}

}  // namespace
