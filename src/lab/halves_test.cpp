// SPDX-License-Identifier: Apache-2.0
//
// Halves of mixed tasks on simulated chips: what they hand each other arrives, they start together, what goes wrong is
// told with the kernel that did it, and a runtime that places them apart is found.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <heddle/session.hpp>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/mutant.hpp"
#include "lab/chip_run.hpp"
#include "lab/chips/chips.hpp"
#include "lab/run.hpp"
#include "lab/seeds.hpp"
#include "lab/strategies/default.hpp"
#include "lab/strategies/strategies.hpp"
#include "lab/trace_log.hpp"

namespace heddle::lab {
namespace {

const std::vector<std::string> seeded{"random", "pct", "delay", "walk"};

RunSpec spec_of(std::uint64_t clusters, bool checked = true) {
  RunSpec spec;
  spec.chip_set = {{"clusters", clusters}};
  if (checked)
    for (const NamedHelp& checker : checker_names()) spec.checkers.push_back(checker.name);
  return spec;
}

std::string told(const RunResult& result) {
  std::string text = result.sentence;
  for (const std::string& step : result.chain) text += "\n" + step;
  return result.error ? text + "\n" + result.error->report() : text;
}

void expect_told(const RunResult& result, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    EXPECT_NE(told(result).find(part), std::string::npos) << part << "\nis not in\n" << told(result);
}

// relu(a * b) by tiles: the cube half multiplies, the vector half (or each of them, its rows) takes it from there.
struct Fused {
  static constexpr std::int64_t side = 8;
  Cores cores;
  std::int64_t blocks = 12;
  void plan(Plan& plan) const {
    plan.input<std::int32_t>("a", {blocks, side, side});
    plan.output<std::int32_t>("y", {blocks * side, side});
  }
  void rank(Orchestrator& graph, const Io& io) const {
    graph.spmd(
        "fused", cores, blocks,
        [halves = std::int64_t{cores.vectors}](Block& block, View<const std::int32_t, 3> a, View<std::int32_t, 2> y) {
          const std::int64_t rows = side / halves;
          std::array<std::int32_t, side * side> storage{};
          const View<std::int32_t, 2> tile(storage.data(), {side, side});
          if (block.core() == Core::cube) {
            for (std::int64_t i = 0; i < side; ++i)
              for (std::int64_t j = 0; j < side; ++j)
                for (std::int64_t k = 0; k < side; ++k) tile(i, j) += a(block.index(), i, k) * a(block.index(), k, j);
            block.push(tile);
            block.flag_wait(1);
          } else {
            block.pop(tile);
            for (std::int64_t i = block.part() * rows; i < (block.part() + 1) * rows; ++i)
              for (std::int64_t j = 0; j < side; ++j) y(block.index() * side + i, j) = std::max(tile(i, j), 0);
            block.flag_set(1);
          }
        },
        in(io.input<std::int32_t, 3>("a")), out(io.output<std::int32_t, 2>("y")));
  }
  static void fill(HostIo& io) {
    std::int32_t next = 7;
    for (std::int32_t& each : io.input<std::int32_t>("a")) each = (next = next * 5 % 31) - 15;
  }
  static void check(const HostIo& io) {
    const auto a = io.tensor<std::int32_t>("a"), y = io.tensor<std::int32_t>("y");
    for (std::size_t i = 0; i < y.size(); ++i) {
      const std::size_t block = i / (side * side), row = i / side % side, column = i % side;
      std::int32_t sum = 0;
      for (std::size_t k = 0; k < side; ++k)
        sum += a[block * side * side + row * side + k] * a[block * side * side + k * side + column];
      io.expect(y[i] == std::max(sum, 0), "a tile is not what was computed");
    }
  }
};

TEST(LabHalves, ProductAndReluGoThroughTilesExactlyUnderEveryStrategyCheckerAndFidelity) {
  for (const Cores cores : {mixed_pair, mixed_cores})
    for (const Fidelity fidelity : {Fidelity::program, Fidelity::protocol})
      for (const std::string& strategy : seeded)
        for (std::uint64_t seed = 1; seed <= seeds(20); ++seed) {
          RunSpec spec = spec_of(1 + seed % 3);
          spec.fidelity = fidelity;
          spec.rounds = 2;
          const std::shared_ptr<ProgramBase> program = make_program(Fused{cores});
          const RunResult result = run_once(program, spec, *make_strategy(strategy), seed);
          ASSERT_EQ(result.verdict, Verdict::passed) << strategy << " seed " << seed << "\n" << told(result);
          if (seed > 2) continue;
          EXPECT_EQ(run_once(program, spec, *make_strategy(strategy), seed).trace_hash, result.trace_hash);
        }
}

TEST(LabHalves, TheHostsOwnHandOverIsExactStepByStep) {
  for (const Cores cores : {mixed_pair, mixed_cores})
    for (std::uint64_t seed = 1; seed <= seeds(20); ++seed) {
      RunSpec spec;
      spec.chip = "host";
      const std::shared_ptr<ProgramBase> program = make_program(Fused{cores, 4});
      const RunResult result = run_once(program, spec, *make_strategy("random"), seed);
      ASSERT_EQ(result.verdict, Verdict::passed) << "seed " << seed << "\n" << told(result);
      EXPECT_EQ(run_once(program, spec, *make_strategy("random"), seed).trace_hash, result.trace_hash);
    }
}

// Mixed blocks beside others, of any length. A task's name is how many halves a block of it has.
struct Busy {
  std::uint64_t seed;
  void rank(Orchestrator& graph, const Io&) const {
    std::uint64_t state = seed;
    for (int i = 0; i < 30; ++i) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      const std::uint64_t spent = 1'000 + (state >> 40U) % 4'000;
      const auto blocks = static_cast<std::int64_t>(1 + (state >> 36U) % 4);
      const auto kernel = [spent](Block& block) { block.spend(spent); };
      const auto pair = [spent](Block& block) {
        block.spend(spent);
        block.core() == Core::cube ? block.flag_set(2) : block.flag_wait(2);
      };
      const auto shape = (state >> 33U) % 4;
      if (shape == 0) graph.spmd("3", mixed_cores, blocks, pair);
      if (shape == 1) graph.spmd("2", mixed_pair, blocks, pair);
      if (shape == 2) graph.spmd("1", vector_core, blocks, kernel);
      if (shape == 3) graph.spmd("1", cube_core, blocks, kernel);
    }
  }
};

struct Apartness {
  std::uint64_t widest = 0, blocks = 0;
};

// Where a half stood pending, its core had first to end what it ran: how far apart they start counts from then on.
Apartness apartness(const TraceLog& trace) {
  struct Started {
    std::uint64_t first = UINT64_MAX, last = 0, free = 0, halves = 0;
  };
  std::vector<TraceRecord> ran;
  for (const TraceRecord& record : trace.records(0))
    if (record.kind == TraceRecord::Kind::block) ran.push_back(record);
  std::sort(ran.begin(), ran.end(), [](const TraceRecord& left, const TraceRecord& right) {
    return std::tie(left.start, left.core) < std::tie(right.start, right.core);
  });
  std::map<std::pair<std::uint32_t, std::uint64_t>, Started> started;  // by task and block
  std::map<std::uint32_t, std::uint64_t> free;                         // by core
  Apartness all;
  for (const TraceRecord& record : ran) {
    const std::uint64_t was_free = std::exchange(free[record.core], record.end);
    const std::uint64_t halves = std::stoull(trace.name(record.name));
    if (halves == 1) continue;
    Started& block = started[{record.task, record.block / halves}];
    block.first = std::min(block.first, record.start);
    block.last = std::max(block.last, record.start);
    block.free = std::max(block.free, was_free);
    if (++block.halves != halves) continue;
    const std::uint64_t from = std::max(block.first, block.free);
    all.widest = std::max(all.widest, block.last > from ? block.last - from : 0);
    ++all.blocks;
  }
  return all;
}

TEST(LabHalves, HalvesOfABlockStartWithinTheBoundOfTheChipOfEachOther) {
  Apartness all;
  const std::uint64_t bound = a2a3_chip().timing.halves_bound();
  for (const char* strategy : {"random", "pct", "delay"}) {
    for (std::uint64_t seed = 1; seed <= seeds(100); ++seed) {
      TraceLog trace(1U << 16U);
      RunWatch watch;
      watch.trace = &trace;
      const RunSpec spec = spec_of(1 + seed % 4, false);
      const std::shared_ptr<ProgramBase> program = make_program(Busy{seed});
      const RunResult result = run_once(program, spec, *make_strategy(strategy), seed, false, watch);
      ASSERT_EQ(result.verdict, Verdict::passed) << strategy << " seed " << seed << "\n" << told(result);
      const Apartness one = apartness(trace);
      ASSERT_LE(one.widest, bound) << strategy << " seed " << seed;
      all.widest = std::max(all.widest, one.widest);
      all.blocks += one.blocks;
    }
  }
  EXPECT_GT(all.blocks, 300U);
  EXPECT_GT(all.widest, 0U);
  std::printf("%llu mixed blocks: halves start at most %llu ns apart, of %llu allowed\n",
              static_cast<unsigned long long>(all.blocks), static_cast<unsigned long long>(all.widest),
              static_cast<unsigned long long>(bound));
}

// Leaves `left` of flag 0 behind, by a branch that is not taken; then one that is right.
struct Leaves {
  int left;
  void rank(Orchestrator& graph, const Io&) const {
    const auto first = graph.submit("careless", mixed_cores, [count = left](Block& block) {
      for (int i = 0; block.core() == Core::cube && i < count; ++i) block.flag_set(0);
    });
    graph.submit(
        "innocent", mixed_cores,
        [](Block& block) {
          if (block.core() == Core::cube) {
            block.flag_set(0);
            block.flag_set(1);
          } else {
            block.flag_wait(1);
            block.flag_wait(0);
          }
        },
        after(first));
  }
};

TEST(LabHalves, KernelThatLeavesAFlagIsTheCulpritAndNotTheOneThatHangs) {
  for (const std::string& strategy : seeded) {
    for (std::uint64_t seed = 1; seed <= seeds(20); ++seed) {
      const RunResult full = run_once(make_program(Leaves{15}), spec_of(1), *make_strategy(strategy), seed);
      ASSERT_EQ(full.verdict, Verdict::failed) << told(full);
      EXPECT_EQ(full.error->code(), Code::flags_unbalanced);
      EXPECT_EQ(full.error->task(), "careless");
      expect_told(full,
                  {"flag 0 of cluster 0", "cube half set 15 times", "vector half 0 waited for 0 times", "innocent"});
      const RunResult one = run_once(make_program(Leaves{1}), spec_of(1), *make_strategy(strategy), seed);
      EXPECT_EQ(one.error->task(), "careless") << told(one);
      // Without the checker it is a deadlock whose chain tells who had left what is in the way.
      const RunResult bare = run_once(make_program(Leaves{15}), spec_of(1, false), *make_strategy(strategy), seed);
      ASSERT_EQ(bare.verdict, Verdict::deadlock) << told(bare);
      EXPECT_EQ(bare.error->code(), Code::signal_deadlock);
      expect_told(
          bare,
          {"the halves of one block wait for each other",
           "cube half of innocent (rank 0, task 1) block 0 waits for room in flag 0 of cluster 0 (it has 15 "
           "of 15)",
           "which its vector half 0 takes from at", "was left by task careless, block 0", "vector half 0 of innocent",
           "waits for flag 1 of cluster 0 (it has 0, needs 1)", "which its cube half sets at", "so it comes back to"});
    }
  }
}

TEST(LabHalves, CountsOfAClusterStayFromKernelToKernelAndStandInTheSnapshot) {
  const RunSpec spec = spec_of(1, false);
  const chip::Config chip = chip_config(spec.chip, spec.chip_set);
  const LinkTable links;
  DefaultStrategy strategy;
  strategy.begin(0, 0);
  Simulator simulator(strategy);
  ChipRun<ProgramEnvironment> run({make_program(Leaves{3}), spec, chip, links, simulator});
  ASSERT_TRUE(run.round(0));
  const auto flags = run.engine().pool().device(0).snapshot().flags;
  ASSERT_EQ(flags.size(), 2U) << "of each vector half";
  for (const chip::FlagView& flag : flags) {
    EXPECT_EQ(flag.cluster, 0U);
    EXPECT_EQ(flag.link.id, 0U);
    EXPECT_TRUE(flag.link.from_cube);
    EXPECT_EQ(flag.count, 3);
    EXPECT_STREQ(flag.left_by.task, "careless");
  }
}

TEST(LabHalves, HalfThatWaitsForOneThatHasEndedIsProvedWithItsFlag) {
  struct Short {
    static void rank(Orchestrator& graph, const Io&) {
      graph.submit("short", mixed_pair, [](Block& block) {
        const int times = block.core() == Core::cube ? 2 : 3;
        for (int i = 0; i < times; ++i) block.core() == Core::cube ? block.flag_set(9) : block.flag_wait(9);
      });
    }
  };
  const RunResult result = run_once(make_program(Short{}), spec_of(2), *make_strategy("random"), 1);
  ASSERT_EQ(result.verdict, Verdict::deadlock) << told(result);
  EXPECT_EQ(result.error->code(), Code::signal_deadlock);
  expect_told(result, {"vector half of short (rank 0, task 0) block 0 waits for flag 9 of cluster",
                       "(it has 0, needs 1)", "which its cube half sets at", "its cube half has ended"});
}

TEST(LabHalves, WrongUseIsRefusedAndTheNextRoundOfTheSessionWorks) {
  struct Wrong {
    static void rank(Orchestrator& graph, const Io&) {
      graph.submit("wrong", mixed_pair, [](Block& block) {
        if (block.round() == 0 && block.core() == Core::cube) block.flag_set(3);
        if (block.round() == 0) block.flag_set(16);
        block.core() == Core::cube ? block.flag_set(3) : block.flag_wait(3);
      });
    }
  };
  Session session = Device::open("lab:a2a3", {.seed = 3}).prepare(Wrong{});
  try {
    session.run();
    FAIL() << "flag 16 was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid_argument);
    EXPECT_NE(error.message().find("there is no flag 16"), std::string::npos) << error.message();
  }
  session.recover();
  EXPECT_NO_THROW(session.run());
}

// Blocks take turns with their flags, as kernels with two buffers do.
struct Apart {
  static void rank(Orchestrator& graph, const Io&) {
    graph.spmd("fused", mixed_cores, 8, [](Block& block) {
      const std::int64_t flag = block.index() % 2;
      block.core() == Core::cube ? block.flag_set(flag) : block.flag_wait(flag);
      block.core() == Core::cube ? block.flag_wait(flag) : block.flag_set(flag);
    });
  }
};

TEST(LabHalves, RuntimeThatPlacesHalvesApartIsFoundAndToldAsTheRuntimesFault) {
  for (const std::string& strategy : seeded) {
    std::uint64_t found = 0;
    const std::uint64_t most = seeds(20);
    for (std::uint64_t seed = 1; seed <= most; ++seed) {
      const RunResult sound = run_once(make_program(Apart{}), spec_of(1), *make_strategy(strategy), seed);
      ASSERT_EQ(sound.verdict, Verdict::passed) << strategy << " seed " << seed << "\n" << told(sound);
      const base::mutants::Scope fault("chip_halves_apart");
      const RunResult apart = run_once(make_program(Apart{}), spec_of(1), *make_strategy(strategy), seed);
      if (apart.verdict == Verdict::passed) continue;
      ++found;
      ASSERT_EQ(apart.verdict, Verdict::deadlock) << strategy << " seed " << seed << "\n" << told(apart);
      EXPECT_EQ(apart.error->code(), Code::core_deadlock);
      expect_told(apart,
                  {"cube half of fused (rank 0, task 0) block 0", "stands on rank 0 cluster 0 vector",
                   "the two are apart", "placed together: this is a fault of the runtime", "so it comes back to"});
    }
    EXPECT_EQ(found, most) << strategy;
  }
}

}  // namespace
}  // namespace heddle::lab
