// SPDX-License-Identifier: Apache-2.0
//
// Hundreds of failures, each of a random kind at a random step, on each backend: the round ends soon, ranks apart from
// the failed ones keep exact results, the device passes its probe, the session and the next one pass, and nothing is
// left behind. HEDDLE_SEED chooses the first failure, HEDDLE_FAILURES how many there are.
#include <gtest/gtest.h>
#include <sched.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <heddle/heddle.hpp>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

#include "base/sanitizer.hpp"
#include "host/test_program.hpp"

namespace heddle {
namespace {

using host::error_of;
using host::Mendable;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr int ranks = 4, steps = 5, columns = 3;
constexpr auto noop = [](Block&) {};

// What a round may take that fails: the bound that is promised, and many times that under a sanitizer.
constexpr auto bound = milliseconds(HEDDLE_TSAN || HEDDLE_ASAN ? 20'000 : 1'000);

enum class Way : std::uint8_t {
  kernel_throws,
  kernel_leaves_its_view,
  kernel_asks_a_stranger,
  program_fails,
  program_throws,
  submit_is_refused,
  gang_is_too_wide,
  notify_is_lost,
  condition_never_holds,
  scope_holds_the_window,
  heap_is_too_small,
  pool_is_too_small,
  windows_differ,
  caller_cancels,
};
constexpr int ways = 14;

struct Chosen {
  explicit Chosen(std::uint32_t seed) {
    std::mt19937 random(seed);
    way = static_cast<Way>(random() % ways);
    rank = static_cast<int>(random() % ranks);
    step = static_cast<int>(random() % steps);
    column = static_cast<std::int64_t>(random() % columns);
  }
  Way way;
  int rank, step;
  std::int64_t column;

  std::set<Code> codes() const {
    switch (way) {
      case Way::kernel_throws:
      case Way::kernel_leaves_its_view:
      case Way::kernel_asks_a_stranger:
        return {Code::kernel_failed};
      case Way::program_fails:
      case Way::program_throws:
      case Way::caller_cancels:
        return {Code::user_error};
      case Way::submit_is_refused:
        return {Code::invalid_argument};
      case Way::gang_is_too_wide:
        return {Code::sync_start_too_wide};
      case Way::notify_is_lost:
      case Way::condition_never_holds:
        return {Code::signal_deadlock};
      case Way::scope_holds_the_window:
        return {Code::scope_deadlock, Code::flow_control_deadlock};
      case Way::heap_is_too_small:
        return {Code::heap_ring_deadlock};
      case Way::pool_is_too_small:
        return {Code::dep_pool_overflow};
      case Way::windows_differ:
        break;
    }
    return {Code::window_mismatch};
  }
  // Whether ranks that have nothing to do with the failed one come to their end.
  bool leaves_others_alone() const { return way != Way::windows_differ && way != Way::caller_cancels; }
};

// What ends a rank from its program, where it is to fail.
void fail_in_program(Orchestrator& graph, const Chosen& chosen, std::atomic<bool>& runs) {
  const auto own = graph.window("told").signals<std::int64_t>().mine()[0];
  switch (chosen.way) {
    case Way::program_fails:
      graph.fail("chosen");
      break;
    case Way::program_throws:
      throw std::runtime_error("chosen");
    case Way::submit_is_refused:
      graph.spmd("refused", vector_core, 0, noop);
      break;
    case Way::gang_is_too_wide:
      graph.spmd("gang", vector_core, graph.width() + 1, noop, sync_start());
      break;
    case Way::condition_never_holds:
      graph.dummy("never", completes_when(own, Compare::eq, 99));
      break;
    case Way::scope_holds_the_window:
      for (int i = 0; i < 20; ++i) graph.submit("many", vector_core, noop);
      break;
    case Way::heap_is_too_small:
      graph.submit("large", vector_core, [](Block&, View<std::uint8_t>) {}, new_tensor<std::uint8_t>(1 << 20));
      break;
    case Way::pool_is_too_small: {
      std::array<TaskHandle, 6> all;
      for (TaskHandle& each : all) each = graph.submit("one of many", vector_core, noop);
      for (int i = 0; i < 20; ++i) graph.dummy("joins", after(all));
      break;
    }
    case Way::caller_cancels:
      graph.submit("runs", vector_core, [own, &runs](Block& block) {
        runs = true;
        while (!block.test(own, Compare::eq, 99)) ::sched_yield();
      });
      break;
    default:
      break;  // a kernel's, or that of all ranks
  }
}

void fail_in_kernel(const Chosen& chosen, Block& block, View<std::int64_t> view) {
  if (chosen.way == Way::kernel_throws) throw std::runtime_error("chosen");
  if (chosen.way == Way::kernel_leaves_its_view) view(columns) = 1;
  if (chosen.way == Way::kernel_asks_a_stranger) block.fence(ranks);
}

std::int64_t value_of(int rank, int step) { return 100 * (rank + 1) + step; }

std::int64_t sum_of(int rank) {
  std::int64_t sum = 0;
  for (int step = 0; step < steps; ++step) sum += columns * (value_of(rank, step) + value_of(rank ^ 1, step));
  return sum;
}

// Ranks 0 and 1 exchange, and so do 2 and 3; each sums up what it has had and given.
void exchange(Orchestrator& graph, const Io& io, const Chosen& chosen, std::atomic<bool>& runs) {
  const auto sum = io.output<std::int64_t>("sum");
  const auto cells = graph.window("cells").signals<std::int64_t>();
  const auto box = graph.window("box").tensor<std::int64_t>(steps * columns);
  const int other = graph.rank() ^ 1;
  graph.submit("zero", vector_core, [](Block&, View<std::int64_t> out_view) { out_view(0) = 0; }, out(sum));
  for (int step = 0; step < steps; ++step) {
    const auto scope = graph.scope();
    const bool here = graph.rank() == chosen.rank && step == chosen.step;
    if (here) fail_in_program(graph, chosen, runs);
    if (chosen.way == Way::windows_differ && step == chosen.step)
      graph.alloc_window("odd", graph.rank() == chosen.rank ? 64 : 128);
    const auto given = graph.spmd(
        "exchange", vector_core, columns,
        [=, value = value_of(graph.rank(), step), to = box.at(other)](Block& block, View<std::int64_t> mine) {
          const auto column = block.index();
          if (here && column == chosen.column) fail_in_kernel(chosen, block, mine);
          mine(column) = value;
          block.put(to.rows(step * columns + column, 1), mine.rows(column, 1));
          if (!(here && chosen.way == Way::notify_is_lost && column == chosen.column))
            block.notify(cells.at(other)[step * columns + column], 1, Notify::add);
          block.wait(cells.mine()[step * columns + column], Compare::ge, 1);
        },
        new_tensor<std::int64_t>(columns));
    graph.submit(
        "add", vector_core,
        [step](Block&, View<const std::int64_t> mine, View<const std::int64_t> had, View<std::int64_t> sum_view) {
          for (std::int64_t i = 0; i < columns; ++i) sum_view(0) += mine(i) + had(step * columns + i);
        },
        in(given.output<0>()), no_dep(box.mine()), inout(sum), after(given));
    if (step % 2 == 1) graph.read(given.output<0>().rows(1, 1));
  }
}

struct Held {
  std::size_t threads = 0, files = 0, mappings = 0, shared = 0, kib = 0;
  static Held now() {
    const auto entries = [](const char* path) {
      return static_cast<std::size_t>(
          std::distance(std::filesystem::directory_iterator(path), std::filesystem::directory_iterator()));
    };
    Held held{entries("/proc/self/task"), entries("/proc/self/fd"), 0, entries("/dev/shm"), 0};
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) ++held.mappings;
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;)
      if (word == "VmRSS:") status >> held.kib;
    return held;
  }
};

std::uint32_t from_environment(const char* name, std::uint32_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : static_cast<std::uint32_t>(std::strtoul(text, nullptr, 0));
}

struct Ground {
  const char* title;
  const char* backend;
  std::uint32_t usual;  // failures
};
void PrintTo(const Ground& ground, std::ostream* out) { *out << ground.backend; }

class Recovery : public testing::TestWithParam<Ground> {
 protected:
  // One failure, and everything that has to hold after it.
  void fail_once(Device& device, std::uint32_t seed) {
    const Chosen chosen(seed);
    std::atomic<bool> runs{false};
    Mendable mendable([&](Orchestrator& graph, const Io& io) { exchange(graph, io, chosen, runs); },
                      [](Plan& plan) {
                        plan.window("cells", steps * columns * sizeof(std::int64_t));
                        plan.window("box", steps * columns * sizeof(std::int64_t));
                      });
    Session session = device.prepare(mendable.program(), config());
    std::thread canceller;
    if (chosen.way == Way::caller_cancels)
      canceller = std::thread([&] {
        while (!runs.load()) ::sched_yield();
        session.cancel();
      });
    const auto start = Clock::now();
    const Error error = error_of([&] { session.run(); });
    const auto took = Clock::now() - start;
    if (canceller.joinable()) canceller.join();
    EXPECT_TRUE(chosen.codes().contains(error.code())) << error.report();
    EXPECT_LE(took, 10 * bound) << error.report();
    slow_ += took > bound ? 1 : 0;
    expect_results(session, chosen);
    device.probe();  // a session of its own, with exact values
    mendable.mend();
    session.recover();
    session.run();
    Mendable::expect_work(session);
    if (seed % 8 != 0) return;
    Session next = device.prepare(mendable.program(), config());
    next.run();
    Mendable::expect_work(next);
  }

  static void expect_results(Session& session, const Chosen& chosen) {
    for (int rank = 0; rank < ranks; ++rank) {
      const bool apart = (rank ^ 1) != chosen.rank && rank != chosen.rank;
      if (apart && chosen.leaves_others_alone()) {
        ASSERT_TRUE(session.finished(rank)) << "rank " << rank << " has nothing to do with rank " << chosen.rank;
      }
      if (session.finished(rank)) {
        EXPECT_EQ(session.output<std::int64_t>(rank, "sum")[0], sum_of(rank)) << "rank " << rank;
      } else {
        EXPECT_EQ(error_of([&] { session.output<std::int64_t>(rank, "sum"); }).code(), Code::invalid_argument);
      }
    }
  }

  static SessionConfig config() {
    SessionConfig config;
    config.ring = {.task_window = 16, .heap_bytes = 16384, .dep_pool = 32};
    config.region_entries = 256;
    config.timeouts.grace = milliseconds(60'000);
    return config;
  }

  std::uint32_t slow_ = 0;  // ended within ten times the bound: the machine was busy with other things
};

TEST_P(Recovery, OfRandomFailuresLeavesNothingBehind) {
  const std::uint32_t first = from_environment("HEDDLE_SEED", std::random_device{}());
  SCOPED_TRACE("HEDDLE_SEED=" + std::to_string(first));
  const std::uint32_t failures =
      from_environment("HEDDLE_FAILURES", HEDDLE_TSAN || HEDDLE_ASAN ? 100 : GetParam().usual);
  Device device = Device::open(GetParam().backend, {.ranks = ranks, .threads = 2, .chip_set = {{"clusters", 4}}});
  Held held;
  for (std::uint32_t i = 0; i < failures; ++i) {
    fail_once(device, first + i);
    if (HasFailure()) FAIL() << "failure " << i << ", seed " << first + i;
    if (i == failures / 4) held = Held::now();  // by then every stack that is ever needed at a time has been made
  }
  EXPECT_LE(slow_, 1 + failures / 100);
  const Held afterwards = Held::now();
  EXPECT_EQ(afterwards.threads, held.threads);
  EXPECT_EQ(afterwards.files, held.files);
  EXPECT_EQ(afterwards.shared, held.shared);
#if !HEDDLE_TSAN && !HEDDLE_ASAN  // which keep what is freed for a while
  EXPECT_LE(afterwards.mappings, held.mappings + 64) << "from " << held.mappings;
  EXPECT_LE(afterwards.kib, held.kib + 16 * 1024) << "from " << held.kib;
#endif
}

std::string title_of(const testing::TestParamInfo<Ground>& info) { return info.param.title; }
INSTANTIATE_TEST_SUITE_P(On, Recovery, testing::Values(Ground{"host", "host", 1000}, Ground{"lab", "lab:a2a3", 300}),
                         title_of);

// Of these each keeps a thread until it returns.
TEST(RecoveryOfTheHost, FromKernelsThatNeverReturn) {
  static std::atomic<bool> let_go{false};
  static std::atomic<int> returned{0};
  constexpr int kernels = 5;
  constexpr auto grace = milliseconds(50);
  Device device = Device::open("host", {.ranks = 2, .threads = 2});
  for (int i = 0; i < kernels; ++i) {
    Mendable mendable([](Orchestrator& graph, const Io&) {
      if (graph.rank() == 0) return;
      graph.submit("never returns", vector_core, [](Block&) {
        while (!let_go.load()) ::sched_yield();
        ++returned;
      });
    });
    SessionConfig config;
    config.timeouts = {.scheduler = milliseconds(20), .operation = milliseconds(100), .grace = grace};
    Session session = device.prepare(mendable.program(), config);
    const auto start = Clock::now();
    EXPECT_EQ(error_of([&] { session.run(); }).code(), Code::core_stalled);
    EXPECT_LE(Clock::now() - start, bound + grace);
    EXPECT_EQ(error_of([&] { session.recover(); }).code(), Code::invalid_argument);
    EXPECT_TRUE(device.healthy());
    mendable.mend();
    Session next = device.prepare(mendable.program());
    next.run();
    Mendable::expect_work(next);
  }
  let_go = true;
  while (returned.load() != kernels) ::sched_yield();
}

TEST(Probe, PassesOnEveryBackendWithAnyNumberOfRanks) {
  for (const char* backend : {"host", "lab:ideal", "lab:a2a3", "lab:a5"})
    for (const int count : {1, 2, 7}) {
      Device device = Device::open(backend, {.ranks = count, .threads = 2});
      device.probe();
      EXPECT_TRUE(device.healthy()) << backend << ", " << count << " ranks";
    }
}

TEST(Probe, PassesOnTheNarrowestChip) {
  Device device = Device::open("lab:a2a3", {.ranks = 3, .chip_set = {{"clusters", 1}, {"schedulers", 1}}});
  device.probe();
}

}  // namespace
}  // namespace heddle
