// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "host/test_program.hpp"

namespace heddle::host {
namespace {

using Ints = std::vector<std::int32_t>;

// What a session does is the same on every backend.
class SessionOn : public testing::TestWithParam<const char*> {
 protected:
  static Device open(int ranks = 1) { return Device::open(GetParam(), {.ranks = ranks, .threads = 2, .seed = 1}); }
};
INSTANTIATE_TEST_SUITE_P(Backends, SessionOn, testing::Values("host", "lab:ideal", "lab:a2a3"),
                         [](const auto& backend) {
                           std::string name = backend.param;
                           std::ranges::replace(name, ':', '_');
                           return name;
                         });

void declare_xyz(Plan& plan) {
  plan.input<std::int32_t>("x", {64});
  plan.output<std::int32_t>("y", {64});
  plan.inout<std::int32_t>("z", {64});
}

// y = 2 x + rank, z += x.
TestProgram twice_and_sum() {
  return {[](Orchestrator& graph, const Io& io) {
            const auto x = io.input<std::int32_t>("x");
            graph.spmd(
                "twice", vector_core, 4,
                [](Block& block, View<const std::int32_t> from, View<std::int32_t> to, int rank) {
                  for (std::int64_t i = block.index() * 16; i < block.index() * 16 + 16; ++i)
                    to(i) = 2 * from(i) + rank;
                },
                in(x), out(io.output<std::int32_t>("y")), graph.rank());
            graph.submit(
                "sum", vector_core,
                [](Block&, View<const std::int32_t> from, View<std::int32_t> to) {
                  for (std::int64_t i = 0; i < 64; ++i) to(i) += from(i);
                },
                in(x), inout(io.output<std::int32_t>("z")));
          },
          declare_xyz};
}

Ints counting_from(int first) {
  Ints values(64);
  std::iota(values.begin(), values.end(), first);
  return values;
}

TEST_P(SessionOn, RunsManyRoundsOnTheTensorsThatAreBoundToEach) {
  Device device = open(2);
  Session session = device.prepare(twice_and_sum());
  Ints z(64, 1000);
  int added = 0;
  for (int round = 0; round < 5; ++round) {
    const Ints x = counting_from(round * 100);
    Ints y(64), z_before = z;
    const auto statistics =
        session.run({bind(1, "x", std::span(x)), bind(1, "y", std::span(y)), bind(1, "z", std::span(z))});
    EXPECT_EQ(statistics.round, round);
    added += round * 100;
    for (int i = 0; i < 64; ++i) {
      const auto at = static_cast<std::size_t>(i);
      ASSERT_EQ(y[at], 2 * x[at] + 1);
      ASSERT_EQ(z[at], z_before[at] + x[at]);
    }
  }
  EXPECT_EQ(z[0], 1000 + added);
  EXPECT_EQ(session.rounds_run(), 5);
}

TEST_P(SessionOn, KeepsMemoryOfItsOwnForWhatIsNotBound) {
  Device device = open(2);
  Session session = device.prepare(twice_and_sum());
  for (int r = 0; r < 2; ++r) std::ranges::copy(counting_from(10 * r), session.input<std::int32_t>(r, "x").begin());
  for (int round = 1; round <= 3; ++round) {
    session.run();
    for (int r = 0; r < 2; ++r) {
      EXPECT_EQ(session.output<std::int32_t>(r, "y")[5], 2 * (10 * r + 5) + r);
      EXPECT_EQ(session.output<std::int32_t>(r, "z")[5], round * (10 * r + 5))
          << "an inout keeps its value between rounds";
    }
  }
}

TEST_P(SessionOn, PureOutputIsPoisonedAndNeverCopiedIn) {
  for (const bool checked : {true, false}) {
    Device device = open();
    // Writes only what it finds in the first half to the second half.
    Session session =
        device.prepare(TestProgram{[](Orchestrator& graph, const Io& io) {
                                     graph.submit(
                                         "half", vector_core, [](Block&, View<std::uint8_t> y) { y(1) = y(0); },
                                         inout(io.output<std::uint8_t>("y")));
                                   },
                                   [](Plan& plan) { plan.output<std::uint8_t>("y", {3}); }},
                       {.checked = checked});
    for (int round = 0; round < 2; ++round) {
      std::vector<std::uint8_t> y(3, 7);
      session.run({bind(0, "y", std::span(y))});
      EXPECT_EQ(y, std::vector<std::uint8_t>(3, checked ? 0xff : 0)) << "checked " << checked;
    }
  }
}

TEST_P(SessionOn, InoutIsNeverPoisoned) {
  Device device = open();
  Session session = device.prepare(TestProgram{[](Orchestrator&, const Io&) {}, declare_xyz});
  Ints z = counting_from(3);
  session.run({bind(0, "z", std::span(z))});
  EXPECT_EQ(z, counting_from(3));
}

TEST_P(SessionOn, WrongBindingIsRefusedBeforeAnythingIsCopied) {
  Device device = open(2);
  Session session = device.prepare(twice_and_sum());
  const Ints x = counting_from(5);
  Ints z(64), short_one(63);
  std::vector<float> floats(64);
  const auto refused = [&](const Binding& wrong, const std::vector<std::string>& parts) {
    expect_error(error_of([&] { session.run({bind(0, "x", std::span(x)), wrong}); }), Code::invalid_argument, parts);
    EXPECT_EQ(session.input<std::int32_t>(0, "x")[0], 0) << "an input was copied in all the same";
  };
  refused(bind(2, "x", std::span(x)), {"there is no rank 2", "2"});
  refused(bind(-1, "x", std::span(x)), {"there is no rank -1"});
  refused(bind(1, "w", std::span(x)), {"\"w\"", "rank 1", "no such tensor"});
  refused(bind(0, "x", std::span(floats)), {"\"x\"", "f32", "i32"});
  refused(bind(0, "x", std::span(short_one)), {"\"x\"", "252 bytes", "256"});
  refused(bind(0, "y", std::span(x)), {"\"y\"", "constant memory"});
  refused(bind(0, "z", std::span(x)), {"\"z\"", "constant memory"});
  refused({0, "x", nullptr, 256, DType::i32, false}, {"\"x\"", "null"});
  EXPECT_EQ(session.rounds_run(), 0) << "a refused call is no round";
  session.run({bind(0, "x", std::span(x)), bind(0, "z", std::span(z))});
  EXPECT_EQ(z, x);
}

TEST_P(SessionOn, MemoryIsAskedForByNameTypeAndRank) {
  Device device = open();
  Session session = device.prepare(twice_and_sum());
  expect_error(error_of([&] { session.input<std::int32_t>(0, "q"); }), Code::invalid_argument, {"q"});
  expect_error(error_of([&] { session.input<float>(0, "x"); }), Code::invalid_argument, {"\"x\"", "i32", "f32"});
  expect_error(error_of([&] { session.input<std::int32_t>(1, "x"); }), Code::invalid_argument, {"no rank 1"});
  expect_error(error_of([&] { session.output<std::int32_t>(0, "y"); }), Code::invalid_argument, {"no round yet"});
  expect_error(error_of([&] { session.window(0, "w"); }), Code::invalid_argument, {"\"w\"", "none"});
  EXPECT_FALSE(session.finished(0));
  expect_error(error_of([&] { session.finished(1); }), Code::invalid_argument, {"no rank 1"});
}

TestProgram counting_window() {
  return {[](Orchestrator& graph, const Io&) {
            const auto cells = graph.window("cells").signals<std::int32_t>();
            graph.submit(
                "count", vector_core, [](Block&, View<std::int32_t> all) { all(3) += 1; }, inout(cells.tensor()));
          },
          [](Plan& plan) { plan.window("cells", 64); }};
}
std::int32_t cell(Session& session, int rank, std::size_t index) {
  return reinterpret_cast<const std::int32_t*>(session.window(rank, "cells").data())[index];
}

TEST_P(SessionOn, WindowsAreZeroAtFirstAndPersistOverRounds) {
  Device device = open(3);
  Session session = device.prepare(counting_window());
  for (int r = 0; r < 3; ++r)
    for (const std::byte byte : session.window(r, "cells")) ASSERT_EQ(byte, std::byte{0});
  for (int round = 1; round <= 4; ++round) {
    session.run();
    for (int r = 0; r < 3; ++r) EXPECT_EQ(cell(session, r, 3), round);
  }
  session.recover();
  EXPECT_EQ(cell(session, 0, 3), 0) << "recover zeroes the windows";
}

TEST_P(SessionOn, ResetWindowsZeroesThemBeforeEachRound) {
  Device device = open(2);
  Session session = device.prepare(counting_window(), {.reset_windows = true});
  for (int round = 0; round < 3; ++round) {
    session.run();
    for (int r = 0; r < 2; ++r) EXPECT_EQ(cell(session, r, 3), 1) << "round " << round;
  }
}

TEST_P(SessionOn, TimeoutsKeepTheirOrder) {
  using std::chrono::milliseconds;
  Device device = open();
  const TestProgram program{[](Orchestrator&, const Io&) {}, {}};
  const auto refused = [&](Timeouts timeouts, const std::vector<std::string>& parts) {
    const Error error = error_of([&] { device.prepare(program, {.timeouts = timeouts}); });
    expect_error(error, Code::invalid_argument, parts);
    EXPECT_TRUE(contains(error.hint(), "scheduler < operation < host_fence"));
  };
  refused({.scheduler = milliseconds(50'000), .operation = milliseconds(45'000)},
          {"scheduler (50000 ms)", "operation (45000 ms)"});
  refused({.scheduler = milliseconds(10), .operation = milliseconds(10)}, {"scheduler", "operation"});
  refused({.operation = milliseconds(60'000)}, {"operation (60000 ms)", "host_fence (50000 ms)"});
  refused({.scheduler = milliseconds(1000), .operation = milliseconds(2000), .host_fence = milliseconds(2500)},
          {"host_fence (2500 ms)", "2500 ms"});
  refused({.scheduler = milliseconds(60'000), .operation = std::nullopt},
          {"scheduler (60000 ms)", "host_fence (50000 ms)"});
  refused({.scheduler = milliseconds(0)}, {"scheduler is 0 ms"});
  refused({.scheduler = milliseconds(15'000)}, {"scheduler (15000 ms)", "tensor_access (15000 ms)"});
  refused({.tensor_access = milliseconds(20)}, {"scheduler (10000 ms)", "tensor_access (20 ms)"});
  refused({.tensor_access = milliseconds(-4)}, {"tensor_access is -4 ms"});
  refused({.grace = milliseconds(-1)}, {"grace"});
  Session off =
      device.prepare(program, {.timeouts = {.scheduler = {}, .operation = {}, .host_fence = {}, .tensor_access = {}}});
  off.run();
  Session close = device.prepare(
      program,
      {.timeouts = {.scheduler = milliseconds(1), .operation = milliseconds(2), .host_fence = milliseconds(1502)}});
  close.run();
}

TEST_P(SessionOn, ConfigurationOutOfRangeIsRefused) {
  Device device = open();
  const auto refused = [&](const SessionConfig& config, const std::vector<std::string>& parts) {
    expect_error(error_of([&] { device.prepare(TestProgram{[](Orchestrator&, const Io&) {}, {}}, config); }),
                 Code::invalid_argument, parts);
  };
  refused({.ring = {.task_window = 0}}, {"task_window is 0", "1048576"});
  refused({.ring = {.task_window = (1U << 20U) + 1}}, {"task_window is 1048577"});
  refused({.ring = {.heap_bytes = 1023}}, {"heap_bytes is 1023", "1024"});
  refused({.ring = {.heap_bytes = std::numeric_limits<std::uint64_t>::max()}}, {"heap_bytes is 18446744073709551615"});
  refused({.ring = {.dep_pool = 0}}, {"dep_pool is 0"});
  refused({.region_entries = 0}, {"region_entries is 0"});
  refused({.waiting_blocks = 0}, {"waiting_blocks is 0"});
  refused({.recorder_entries = 1000}, {"1000", "power of two"});
  expect_error(error_of([&] { device.prepare(std::shared_ptr<ProgramBase>()); }), Code::invalid_argument,
               {"no program"});
}

TEST(Device, RefusesWhatItCannotBe) {
  expect_error(error_of([] { Device::open("moon"); }), Code::invalid_argument, {"\"moon\"", "host"});
  for (const int ranks : {0, -1, 1025, std::numeric_limits<int>::max()})
    expect_error(error_of([&] { open_host(ranks); }), Code::invalid_argument,
                 {"ranks is " + std::to_string(ranks), "1 to 1024"});
  for (const int threads : {-1, 1025})
    expect_error(error_of([&] { open_host(1, threads); }), Code::invalid_argument,
                 {"threads is " + std::to_string(threads)});
}

TEST(Device, SaysWhatItIs) {
  Device device = open_host(5, 3);
  EXPECT_EQ(device.ranks(), 5);
  EXPECT_EQ(device.threads(), 3);
  Session session =
      device.prepare(TestProgram{[](Orchestrator& graph, const Io&) { EXPECT_EQ(graph.width(), 3); }, {}});
  EXPECT_EQ(session.ranks(), 5);
  EXPECT_EQ(session.threads(), 3);
  session.run();
  EXPECT_GE(Device::open("host").threads(), 1);
}

TEST_P(SessionOn, OutlivesItsDeviceAndMoves) {
  std::vector<Session> sessions;
  {
    Device device = open(2);
    sessions.push_back(device.prepare(twice_and_sum()));
    sessions.push_back(device.prepare(twice_and_sum()));
  }
  Session moved = std::move(sessions[0]);
  moved = std::move(sessions[1]);
  moved.run();
  EXPECT_EQ(moved.output<std::int32_t>(1, "y")[0], 1);
}

struct Checked {
  int wrong_rank = -1;
  static void plan(Plan& plan) { plan.input<std::int64_t>("x", {4}), plan.output<std::int64_t>("y", {4}); }
  static void rank(Orchestrator& graph, const Io& io) {
    graph.submit(
        "copy", vector_core, [](Block&, View<const std::int64_t> x, View<std::int64_t> y) { y(0) = x(0); },
        in(io.input<std::int64_t>("x")), out(io.output<std::int64_t>("y")));
  }
  static void fill(HostIo& io) { io.input<std::int64_t>("x")[0] = 1000 * io.round() + io.rank(); }
  void check(const HostIo& io) const {
    io.expect(io.tensor<std::int64_t>("y")[0] == 1000 * io.round() + io.rank(), "the copy is wrong");
    io.expect(wrong_rank < 0 || (io.rank() != wrong_rank && io.rank() != wrong_rank + 1), "as it was told to be");
  }
};

TEST_P(SessionOn, FillsAndChecksEveryRank) {
  Device device = open(6);
  Session session = device.prepare(Checked{});
  for (int round = 0; round < 3; ++round) {
    session.fill(round);
    session.run();
    session.check(round);
  }
  EXPECT_EQ(error_of([&] { session.check(7); }).rank(), 0);
}

TEST_P(SessionOn, FirstFailedCheckIsThrownInTheOrderOfRanks) {
  Device device = open(6);
  Session session = device.prepare(Checked{.wrong_rank = 3});
  session.fill(0);
  session.run();
  const Error error = error_of([&] { session.check(0); });
  expect_error(error, Code::user_error, {"as it was told to be"});
  EXPECT_EQ(error.rank(), 3);
  EXPECT_EQ(error.round(), 0);
}

TEST_P(SessionOn, SessionsOfOneDeviceRunAtTheSameTime) {
  Device device = open(3);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&device] {
      Mendable mendable([](Orchestrator&, const Io&) {});
      mendable.mend();
      Session session = device.prepare(mendable.program());
      for (int round = 0; round < 30; ++round) {
        session.run();
        Mendable::expect_work(session);
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

TestProgram put_and_notify() {
  return {[](Orchestrator& graph, const Io& io) {
            const auto data = graph.window("data").tensor<std::int32_t>(48);
            const auto flag = graph.window("flag").signals<std::int64_t>();
            const int peer = 1 - graph.rank();
            const auto there = data.at(peer);
            const auto signal = flag.at(peer)[0], own = flag.mine()[0];
            graph.spmd(
                "sender", vector_core, 3,
                [there, signal](Block& block, View<const std::int32_t> x) {
                  block.put(there.rows(16 * block.index(), 16), x);
                  block.notify(signal, 1, Notify::add);
                },
                in(io.input<std::int32_t>("x")));
            graph.submit(
                "waiter", vector_core,
                [own](Block& block, View<std::int32_t>) { block.wait(own, Compare::ge, 3 * (block.round() + 1)); },
                out(data.mine()));
            graph.submit("reader", vector_core, [](Block&, View<const std::int32_t>) {}, in(data.mine()));
          },
          [](Plan& plan) {
            plan.input<std::int32_t>("x", {16});
            plan.window("data", 192), plan.window("flag", 8);
          }};
}

TEST_P(SessionOn, CountsWhatARoundDid) {
  Device device = open(2);
  Session session = device.prepare(put_and_notify());
  for (int round = 0; round < 3; ++round) {
    const RoundStatistics statistics = session.run();
    EXPECT_EQ(statistics.round, round);
    EXPECT_EQ(statistics.tasks, 6U);
    EXPECT_EQ(statistics.blocks, 10U);
    EXPECT_EQ(statistics.puts, 6U);
    EXPECT_EQ(statistics.put_bytes, 6U * 64U);
    EXPECT_EQ(statistics.notifies, 6U);
    EXPECT_EQ(statistics.edges, 2U);
    EXPECT_LE(statistics.waits_parked, 2U);
    EXPECT_GE(statistics.records, 22U);
    EXPECT_EQ(statistics.conservative_overlaps, 0U);
    EXPECT_GT(statistics.elapsed.count(), 0);
  }
}

TEST_P(SessionOn, WritesWhatItDidAsATrace) {
  Device device = open(2);
  Session session = device.prepare(put_and_notify());
  session.run();
  const auto path = std::filesystem::temp_directory_path() / ("heddle_session_" + std::to_string(::getpid()) + ".json");
  session.write_trace(path.string());
  std::ifstream file(path);
  const auto trace = nlohmann::json::parse(file);
  std::filesystem::remove(path);
  std::multiset<std::string> names;
  for (const auto& event : trace.at("traceEvents"))
    if (event.at("ph") == "X") names.insert(event.at("name").get<std::string>().substr(0, 6));
  EXPECT_EQ(names.count("sender"), 6U);
  EXPECT_GE(names.count("waiter"), 2U) << "a block that parks is drawn in pieces";
  EXPECT_EQ(names.count("reader"), 2U);
  expect_error(error_of([&] { session.write_trace("/nowhere/at/all.json"); }), Code::invalid_argument,
               {"/nowhere/at/all.json"});
}

}  // namespace
}  // namespace heddle::host
