// SPDX-License-Identifier: Apache-2.0
//
// Simulated chips by the public API: what changes for a program that ran on the host is the name of its backend.
// (What is the same on all of them is asked in host/session_test.cpp.)
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <heddle/heddle.hpp>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/sanitizer.hpp"
#include "host/test_program.hpp"
#include "lab/run.hpp"
#include "lab/strategies/strategies.hpp"

namespace heddle {
namespace {

using host::contains;
using host::error_of;
using host::expect_error;
using host::Mendable;
using host::TestProgram;

// Every rank scales its input and tells the next one its last sum; what arrives is added to all.
struct Ring {
  static void plan(Plan& plan) {
    plan.input<std::int64_t>("x", {32});
    plan.output<std::int64_t>("y", {32});
    plan.window("sum", sizeof(std::int64_t));
  }
  static void rank(Orchestrator& graph, const Io& io) {
    const auto sum = graph.window("sum").signals<std::int64_t>();
    const auto y = io.output<std::int64_t>("y");
    graph.spmd(
        "scale", vector_core, 4,
        [](Block& block, View<const std::int64_t> from, View<std::int64_t> to) {
          for (std::int64_t i = block.index() * 8; i < block.index() * 8 + 8; ++i) to(i) = 3 * from(i);
          block.spend(500);
        },
        in(io.input<std::int64_t>("x")), out(y));
    const auto next = sum.at((graph.rank() + 1) % graph.ranks())[0], own = sum.mine()[0];
    graph.submit(
        "exchange", vector_core,
        [next, own](Block& block, View<std::int64_t> all) {
          std::int64_t mine = 1000 * (block.round() + 1);
          for (std::int64_t i = 0; i < 32; ++i) mine += all(i);
          block.notify(next, mine, Notify::set);
          block.wait(own, Compare::ge, 1000 * (block.round() + 1));
          for (std::int64_t i = 0; i < 32; ++i) all(i) += 1;
        },
        inout(y));
  }
  static void fill(HostIo& io) {
    for (int i = 0; i < 32; ++i) io.input<std::int64_t>("x")[static_cast<std::size_t>(i)] = i % 4;
  }
  static void check(const HostIo& io) {
    for (int i = 0; i < 32; ++i)
      io.expect(io.tensor<std::int64_t>("y")[static_cast<std::size_t>(i)] == 3 * (i % 4) + 1, "y is wrong");
  }
};

std::vector<std::uint64_t> hashes_of(const DeviceConfig& config, int rounds = 3, const char* chip = "lab:a2a3") {
  Session session = Device::open(chip, config).prepare(Ring{});
  std::vector<std::uint64_t> hashes;
  for (int round = 0; round < rounds; ++round) {
    session.fill(round);
    hashes.push_back(session.run().trace_hash);
    session.check(round);
  }
  return hashes;
}

TEST(DeviceLab, ComputesWhatTheHostDoesInVirtualTime) {
  std::vector<std::vector<std::int64_t>> results;
  for (const char* backend : {"host", "lab:ideal", "lab:a2a3", "lab:a5"}) {
    Device device = Device::open(backend, {.ranks = 16, .seed = 7});
    EXPECT_EQ(device.ranks(), 16);
    Session session = device.prepare(Ring{});
    std::vector<std::int64_t> x(32), y(32);
    std::iota(x.begin(), x.end(), 0);
    for (int r = 0; r < 16; ++r) std::ranges::copy(x, session.input<std::int64_t>(r, "x").begin());
    const RoundStatistics statistics = session.run({bind(5, "x", std::span(x)), bind(5, "y", std::span(y))});
    EXPECT_EQ(statistics.tasks, 32U);
    EXPECT_EQ(statistics.blocks, 80U);
    EXPECT_EQ(statistics.notifies, 16U);
    const bool is_lab = contains(backend, "lab:");
    EXPECT_EQ(statistics.trace_hash != 0, is_lab) << backend;
    if (is_lab) {
      EXPECT_GE(statistics.elapsed.count(), 500) << "a block spends so much";
      EXPECT_EQ(session.threads(), 1);
      EXPECT_EQ(device.threads(), 1);
    }
    results.push_back(y);
  }
  for (const auto& result : results) EXPECT_EQ(result, results.front());
}

TEST(DeviceLab, TheSameSeedDoesTheSameInEveryRound) {
  std::set<std::uint64_t> all;
  constexpr std::uint64_t seeds = HEDDLE_TSAN ? 2 : 8;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const DeviceConfig config{.ranks = 4, .seed = seed};
    const auto hashes = hashes_of(config);
    EXPECT_EQ(hashes, hashes_of(config)) << "seed " << seed;
    all.insert(hashes.begin(), hashes.end());
  }
  EXPECT_EQ(all.size(), 3 * seeds) << "every seed and every round has a hash of its own";
}

TEST(DeviceLab, ASessionDoesWhatARunOfTheLaboratoryDoes) {
  for (const char* strategy : {"random", "pct", "delay", "walk"}) {
    lab::RunSpec spec;
    spec.chip = "a5";
    spec.ranks = 3;
    spec.rounds = 3;
    const std::shared_ptr<ProgramBase> program(make_program(Ring{}));
    const lab::RunResult run = lab::run_once(program, spec, *lab::make_strategy(strategy), 5);
    ASSERT_TRUE(run.passed()) << run.sentence;
    EXPECT_EQ(hashes_of({.ranks = 3, .seed = 5, .strategy = strategy}, 3, "lab:a5").back(), run.trace_hash) << strategy;
  }
}

TEST(DeviceLab, RecordingChangesNothing) {
  for (const bool recorder : {false, true}) {
    Session session = Device::open("lab:a2a3", {.ranks = 4, .seed = 3}).prepare(Ring{}, {.recorder = recorder});
    session.fill(0);
    const RoundStatistics statistics = session.run();
    EXPECT_EQ(statistics.trace_hash, hashes_of({.ranks = 4, .seed = 3}, 1).front());
    EXPECT_EQ(statistics.records != 0, recorder);
  }
}

TEST(DeviceLab, ConstantsOfTheChipCanBeSet) {
  int width = 0;
  const auto program = [&] {
    return TestProgram{[&width](Orchestrator& graph, const Io&) { width = graph.width(); }, {}};
  };
  Device::open("lab:a2a3").prepare(program()).run();
  EXPECT_EQ(width, 48) << "the vector cores of 24 clusters";
  Device::open("lab:a2a3", {.chip_set = {{"clusters", 2}}}).prepare(program()).run();
  EXPECT_EQ(width, 4);
}

TEST(DeviceLab, SaysWhichBackendsThereAre) {
  const auto refused = [](const char* backend, const DeviceConfig& config, const std::vector<std::string>& parts) {
    expect_error(error_of([&] { Device::open(backend, config); }), Code::invalid_argument, parts);
  };
  refused("moon", {}, {"\"moon\"", "host, lab:ideal, lab:a2a3, lab:a5"});
  refused("", {}, {"\"\"", "host, lab:ideal"});
  refused("lab:", {}, {"\"lab:\"", "lab:a2a3"});
  refused("lab:a2a4", {}, {"\"lab:a2a4\"", "did you mean \"lab:a2a3\"?"});
  refused("a2a3", {}, {"\"a2a3\"", "lab:a2a3"});
  refused("lab:host", {}, {"lab:host is no device", "lab:a2a3", "heddle run"});
  refused("lab:a2a3", {.ranks = 0}, {"ranks is 0", "1 to 1024"});
  refused("lab:a2a3", {.stack_bytes = 1}, {"stack_bytes is 1"});
  refused("lab:a2a3", {.strategy = "guess"}, {"guess"});
  refused("lab:a2a3", {.chip_set = {{"moons", 2}}}, {"moons"});
  refused("lab:a2a3", {.chip_set = {{"clusters", 0}}}, {"clusters"});
  // What only the laboratory has is nothing to the host.
  EXPECT_EQ(Device::open("host", {.ranks = 2, .seed = 9, .strategy = "guess", .chip_set = {{"moons", 2}}}).ranks(), 2);
}

// ---- failures

struct Broken {
  const char* name;
  std::function<void(Orchestrator&, const Io&)> body;
  SessionConfig config{};
};

std::vector<Broken> broken_programs() {
  const auto own = [](Orchestrator& graph) { return graph.window("told").signals<std::int64_t>().mine()[0]; };
  return {
      {"a kernel throws",
       [](Orchestrator& graph, const Io&) {
         graph.spmd("throws", vector_core, 100, [](Block& block) {
           if (block.index() == 7) throw std::runtime_error("enough");
         });
       }},
      {"the program throws", [](Orchestrator&, const Io&) { throw std::runtime_error("enough"); }},
      {"nobody notifies",
       [own](Orchestrator& graph, const Io&) {
         graph.submit("waits", vector_core, [cell = own(graph)](Block& block) { block.wait(cell, Compare::eq, 1); });
       }},
      {"nothing lets it complete",
       [own](Orchestrator& graph, const Io&) { graph.dummy("deferred", completes_when(own(graph), Compare::eq, 1)); }},
      {"a scope holds the window",
       [](Orchestrator& graph, const Io&) {
         for (int i = 0; i < 20; ++i) graph.submit("many", vector_core, [](Block&) {});
       },
       {.ring = {.task_window = 8}}},
      {"an output is larger than the heap",
       [](Orchestrator& graph, const Io&) {
         graph.submit("large", vector_core, [](Block&, View<std::uint8_t>) {}, new_tensor<std::uint8_t>(1 << 20));
       },
       {.ring = {.heap_bytes = 4096}}},
      {"a wait of a foreign cell",
       [](Orchestrator& graph, const Io&) {
         const auto foreign = graph.window("told").signals<std::int64_t>().at(1 - graph.rank())[0];
         graph.submit("waits", vector_core, [foreign](Block& block) { block.wait(foreign, Compare::eq, 1); });
       }},
      {"ranks make other windows",
       [](Orchestrator& graph, const Io&) { graph.alloc_window("odd", graph.rank() == 0 ? 64 : 128); }},
  };
}

TEST(DeviceLab, FailsByTheSameCodeAsTheHostAndRecovers) {
  for (const Broken& broken : broken_programs()) {
    SCOPED_TRACE(broken.name);
    const Error on_host = host::failure_of({.ranks = 2, .config = broken.config}, broken.body);
    for (const char* chip : {"lab:ideal", "lab:a2a3"}) {
      const Error in_lab = host::failure_of({.ranks = 2, .config = broken.config, .backend = chip}, broken.body);
      EXPECT_EQ(in_lab.code(), on_host.code()) << chip << ": " << in_lab.report() << on_host.report();
      EXPECT_EQ(in_lab.task(), on_host.task());
    }
  }
}

TEST(DeviceLab, ACoreThatAWaitHoldsIsTold) {
  // On one vector core the waiter keeps from running what it waits for; the host has no such limit.
  const auto program = [](Orchestrator& graph, const Io&) {
    const auto own = graph.window("told").signals<std::int64_t>().mine()[0];
    graph.spmd("waits", vector_core, 2, [own](Block& block) { block.wait(own, Compare::ge, 1); });
    graph.submit("tells", vector_core, [own](Block& block) { block.notify(own, 1, Notify::set); });
  };
  Session session = Device::open("lab:a2a3", {.chip_set = {{"clusters", 1}}}).prepare(Mendable(program).program());
  const Error error = error_of([&] { session.run(); });
  expect_error(error, Code::core_deadlock, {"tells"});
  EXPECT_EQ(error.waits().size(), 2U) << error.report();
}

TEST(DeviceLab, OutputsOfAFailedRankAreVoid) {
  const auto program = [](Orchestrator& graph, const Io& io) {
    graph.submit(
        "sum", vector_core,
        [](Block& block, View<std::int64_t> sum) {
          if (block.rank() == 1) throw std::runtime_error("no sum");
          sum(0) = 5;
        },
        out(io.output<std::int64_t>("sum")));
  };
  for (const char* backend : {"host", "lab:a2a3"}) {
    Session session = Device::open(backend, {.ranks = 2}).prepare(Mendable(program).program());
    std::int64_t sums[2] = {-1, -1};
    expect_error(error_of([&] {
                   session.run({bind(0, "sum", std::span(&sums[0], 1)), bind(1, "sum", std::span(&sums[1], 1))});
                 }),
                 Code::kernel_failed, {"no sum"});
    EXPECT_TRUE(session.finished(0));
    EXPECT_FALSE(session.finished(1));
    EXPECT_EQ(sums[0], 5) << backend;
    EXPECT_EQ(sums[1], -1) << backend;
    EXPECT_EQ(session.output<std::int64_t>(0, "sum")[0], 5);
    expect_error(error_of([&] { session.output<std::int64_t>(1, "sum"); }), Code::invalid_argument, {"rank 1", "void"});
  }
}

// ---- cancel

TEST(DeviceLab, CancelBetweenRoundsEndsTheNextOne) {
  Session session = Device::open("lab:a2a3", {.ranks = 2}).prepare(Ring{});
  session.fill(0);
  session.run();
  session.cancel();
  expect_error(error_of([&] { session.run(); }), Code::user_error, {"cancelled"});
  for (int r = 0; r < 2; ++r) EXPECT_FALSE(session.finished(r));
  session.recover();
  session.fill(2);
  session.run();
  session.check(2);
  EXPECT_EQ(session.rounds_run(), 3);
}

TEST(DeviceLab, CancelFromAnotherThreadEndsARoundThatWouldNeverEnd) {
  std::atomic<bool> running{false};
  Mendable mendable([&running](Orchestrator& graph, const Io&) {
    const auto own = graph.window("told").signals<std::int64_t>().mine()[0];
    graph.spmd("asks", vector_core, 3, [&running, own](Block& block) {
      running = true;
      while (!block.test(own, Compare::eq, 99)) continue;
    });
  });
  Session session = Device::open("lab:a2a3", {.ranks = 2}).prepare(mendable.program());
  std::thread canceller([&] {
    while (!running) std::this_thread::yield();
    session.cancel();
  });
  const Error error = error_of([&] { session.run(); });
  canceller.join();
  expect_error(error, Code::user_error, {"cancelled"});
  mendable.mend();
  session.recover();
  session.run();
  Mendable::expect_work(session);
}

TEST(DeviceLab, ACancelThatNoRoundFollowsIsNoHarm) {
  Session session = Device::open("lab:a2a3", {.ranks = 2}).prepare(Ring{});
  session.run();
  session.cancel();
}

// ---- sessions and threads

TEST(DeviceLab, SessionsOnSeveralThreadsDoNotSeeEachOther) {
  const auto expected = hashes_of({.ranks = 4, .seed = 11});
  std::vector<std::vector<std::uint64_t>> found(4);
  std::vector<std::thread> threads;
  for (auto& mine : found) threads.emplace_back([&mine] { mine = hashes_of({.ranks = 4, .seed = 11}); });
  for (auto& thread : threads) thread.join();
  for (const auto& hashes : found) EXPECT_EQ(hashes, expected);
}

TEST(DeviceLab, ASessionMayGoFromThreadToThread) {
  const auto expected = hashes_of({.ranks = 4, .seed = 12});
  std::optional<Session> session;
  const auto on_a_thread = [](const std::function<void()>& task) { std::thread(task).join(); };
  on_a_thread([&] { session.emplace(Device::open("lab:a2a3", {.ranks = 4, .seed = 12}).prepare(Ring{})); });
  for (const std::uint64_t hash : expected) {
    on_a_thread([&] { session->fill(0); });
    on_a_thread([&] { EXPECT_EQ(session->run().trace_hash, hash); });
  }
  on_a_thread([&] { session.reset(); });
}

TEST(DeviceLab, ASessionMayRunInAKernelOfAnother) {
  std::vector<std::uint64_t> inner;
  Session outer = Device::open("lab:a2a3")
                      .prepare(TestProgram{[&inner](Orchestrator& graph, const Io&) {
                                             graph.submit("runs another", vector_core, [&inner](Block&) {
                                               inner = hashes_of({.ranks = 2, .seed = 4});
                                             });
                                           },
                                           {}});
  outer.run();
  EXPECT_EQ(inner, hashes_of({.ranks = 2, .seed = 4}));
}

TEST(DeviceLab, ASessionRefusesToBeRunByItsOwnKernel) {
  Session* itself = nullptr;
  Session session =
      Device::open("lab:a2a3")
          .prepare(TestProgram{[&itself](Orchestrator& graph, const Io&) {
                                 graph.submit("runs itself", vector_core, [&itself](Block&) { itself->run(); });
                               },
                               {}});
  itself = &session;
  expect_error(error_of([&] { session.run(); }), Code::kernel_failed, {"cannot be used by its own kernels"});
  EXPECT_EQ(session.rounds_run(), 1);
}

}  // namespace
}  // namespace heddle
