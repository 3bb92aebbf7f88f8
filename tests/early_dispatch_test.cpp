// SPDX-License-Identifier: Apache-2.0
//
// Tasks that are placed behind gates while their producers run, as a program sees them.
#include <gtest/gtest.h>

#include <cstdint>
#include <heddle/heddle.hpp>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/mutant.hpp"
#include "lab/run.hpp"
#include "lab/seeds.hpp"
#include "lab/strategies/strategies.hpp"

namespace heddle {
namespace {

using lab::RunResult;
using lab::RunSpec;
using lab::Verdict;

RunResult run(const std::shared_ptr<ProgramBase>& program, const std::string& chip, std::uint64_t seed, bool early,
              const std::string& strategy = "random", lab::Fidelity fidelity = lab::Fidelity::program,
              std::uint64_t clusters = 0) {
  RunSpec spec;
  spec.chip = chip;
  spec.chip_set = {{"early_dispatch", early ? 1 : 0}};
  if (clusters != 0) spec.chip_set["clusters"] = clusters;
  spec.ranks = 1;
  spec.rounds = 1;
  spec.fidelity = fidelity;
  return lab::run_once(program, spec, *lab::make_strategy(strategy), seed);
}

// Stages of a pipeline, each a task of 3 microseconds that needs what the one before wrote.
struct Pipeline {
  static constexpr int stages = 40, blocks = 1;

  static void plan(Plan& plan) { plan.output<std::int64_t>("sum", {1}); }

  void rank(Orchestrator& graph, const Io& io) const {
    const auto sum = io.output<std::int64_t>("sum");
    const auto first = graph.spmd(
        "stage", vector_core, blocks,
        [](Block& block, View<std::int64_t, 1> to) {
          block.spend(3'000);
          to(block.index()) = block.index();
        },
        new_tensor<std::int64_t>(blocks), allow_early());
    auto last = first.output<0>();
    for (int i = 1; i < stages; ++i) {
      const auto next = graph.spmd(
          "stage", i % 2 == 0 ? vector_core : cube_core, blocks,
          [](Block& block, View<const std::int64_t, 1> from, View<std::int64_t, 1> to) {
            block.spend(3'000);
            std::int64_t all = block.index();
            for (std::int64_t k = 0; k < blocks; ++k) all += from(k) % 1'000;
            to(block.index()) = all;
          },
          in(last), new_tensor<std::int64_t>(blocks), allow_early());
      last = next.output<0>();
    }
    graph.submit(
        "sum", vector_core,
        [](Block&, View<const std::int64_t, 1> from, View<std::int64_t, 1> to) {
          to(0) = 0;
          for (std::int64_t k = 0; k < blocks; ++k) to(0) += from(k);
        },
        in(last), out(sum));
  }

  static std::int64_t expected() {
    std::int64_t values[blocks]{};
    for (int k = 0; k < blocks; ++k) values[k] = k;
    for (int i = 1; i < stages; ++i) {
      std::int64_t all = 0;
      for (const std::int64_t value : values) all += value % 1'000;
      for (int k = 0; k < blocks; ++k) values[k] = all + k;
    }
    std::int64_t sum = 0;
    for (const std::int64_t value : values) sum += value;
    return sum;
  }

  static void check(const HostIo& io) {
    io.expect(io.tensor<std::int64_t>("sum")[0] == expected(), "the pipeline's sum is wrong");
  }
};

TEST(EarlyDispatch, HidesTheWayOfADispatchInAPipeline) {
  for (const char* const chip : {"a2a3", "a5"}) {
    std::uint64_t with = 0, without = 0;
    for (std::uint64_t seed = 1; seed <= lab::seeds(20); ++seed) {
      const RunResult on = run(make_program(Pipeline{}), chip, seed, true);
      const RunResult off = run(make_program(Pipeline{}), chip, seed, false);
      ASSERT_EQ(on.verdict, Verdict::passed) << on.sentence;
      ASSERT_EQ(off.verdict, Verdict::passed) << off.sentence;
      with += on.virtual_ns;
      without += off.virtual_ns;
    }
    const double ratio = static_cast<double>(without) / static_cast<double>(with);
    RecordProperty(std::string("ratio_") + chip, std::to_string(ratio));
    EXPECT_GE(ratio, 1.3) << chip;
  }
}

// Each task reads two cells and writes a third: any graph of short and long tasks, nearly all of which allow it.
struct Cells {
  static constexpr int cells = 12, tasks = 60;
  std::uint64_t seed = 1;

  struct Step {
    int left, right, to;
    std::uint64_t spend;
    int blocks;
    bool allows;
  };
  std::vector<Step> steps() const {
    std::mt19937_64 random(seed);
    std::vector<Step> all;
    for (int i = 0; i < tasks; ++i) {
      const auto any = [&](std::uint64_t most) { return static_cast<int>(random() % most); };
      all.push_back({any(cells), any(cells), any(cells), random() % 30'000, 1 + any(3), any(8) != 0});
    }
    return all;
  }

  static void plan(Plan& plan) { plan.output<std::int64_t>("cells", {cells}); }

  void rank(Orchestrator& graph, const Io& io) const {
    const auto all = io.output<std::int64_t>("cells");
    graph.submit(
        "clear", vector_core,
        [](Block&, View<std::int64_t, 1> to) {
          for (int i = 0; i < cells; ++i) to(i) = i;
        },
        out(all));
    std::int64_t number = 0;
    for (const Step& step : steps()) {
      const auto kernel = [spend = step.spend, n = number++](Block& block, View<const std::int64_t, 1> left,
                                                             View<const std::int64_t, 1> right,
                                                             View<std::int64_t, 1> to) {
        block.spend(spend);
        if (block.index() == 0) to(0) = next(left(0), right(0), n);
      };
      const auto cell = [&](int i) { return all.slice(0, i, 1); };
      // A cell that the task reads and writes is read by whichever argument it is.
      const int left = step.left == step.to ? (step.to + 1) % cells : step.left;
      const int right = step.right == step.to ? (step.to + 2) % cells : step.right;
      if (step.allows) {
        graph.spmd("step", vector_core, step.blocks, kernel, in(cell(left)), in(cell(right)), inout(cell(step.to)),
                   allow_early());
      } else {
        graph.spmd("step", vector_core, step.blocks, kernel, in(cell(left)), in(cell(right)), inout(cell(step.to)));
      }
    }
  }
  static std::int64_t next(std::int64_t left, std::int64_t right, std::int64_t n) {
    return (left * 31 + right * 17 + n) % 1'000'003;
  }
  void check(const HostIo& io) const {
    std::int64_t expected[cells];
    for (int i = 0; i < cells; ++i) expected[i] = i;
    std::int64_t number = 0;
    for (const Step& step : steps()) {
      const int left = step.left == step.to ? (step.to + 1) % cells : step.left;
      const int right = step.right == step.to ? (step.to + 2) % cells : step.right;
      expected[step.to] = next(expected[left], expected[right], number++);
    }
    for (std::size_t i = 0; i < cells; ++i)
      io.expect(io.tensor<std::int64_t>("cells")[i] == expected[i], "a cell is wrong: seed " + std::to_string(seed));
  }
};

TEST(EarlyDispatch, ChangesNoResult) {
  for (const char* const strategy : {"random", "pct", "delay", "walk"})
    for (std::uint64_t seed = 1; seed <= lab::seeds(40); ++seed)
      for (const std::uint64_t clusters : {1U, 4U}) {
        const RunResult result =
            run(make_program(Cells{seed}), "a5", seed, true, strategy, lab::Fidelity::program, clusters);
        ASSERT_EQ(result.verdict, Verdict::passed) << strategy << " " << seed << ": " << result.sentence;
      }
}

TEST(EarlyDispatch, ChangesNoResultWhenEachAccessOfTheSchedulersIsAStep) {
  for (std::uint64_t seed = 1; seed <= lab::seeds(30); ++seed) {
    const RunResult result = run(make_program(Cells{seed}), "a2a3", seed, true, "random", lab::Fidelity::protocol, 4);
    ASSERT_EQ(result.verdict, Verdict::passed) << "seed " << seed << ": " << result.sentence;
  }
}

// More blocks than the chip has cores, and consumers enough to fill them all.
struct WideProducer {
  static void plan(Plan&) {}
  static void rank(Orchestrator& graph, const Io&) {
    const auto kernel = [](Block& block) { block.spend(200); };
    const auto producer = graph.spmd("producer", vector_core, 200, kernel, allow_early());
    for (int i = 0; i < 16; ++i) graph.spmd("consumer", vector_core, 1, kernel, after(producer));
  }
};

TEST(EarlyDispatch, GatedTasksLeaveTheirProducerItsCores) {
  for (std::uint64_t seed = 1; seed <= lab::seeds(40); ++seed) {
    const RunResult result = run(make_program(WideProducer{}), "a2a3", seed, true, "walk", lab::Fidelity::program, 4);
    ASSERT_EQ(result.verdict, Verdict::passed) << "seed " << seed << ": " << result.sentence;
  }
}

// A kernel on whose end others rely must not wait.
struct Waits {
  static void plan(Plan& plan) { plan.window("cells", 64); }
  static void rank(Orchestrator& graph, const Io&) {
    const auto cell = graph.window("cells").signals<std::int32_t>().mine()[0];
    graph.submit(
        "waits", vector_core,
        [cell](Block& block) {
          block.notify(cell, 1, Notify::set);
          block.wait(cell, Compare::ge, 1);
        },
        allow_early());
  }
};

TEST(EarlyDispatch, AKernelThatWaitsIsRefusedOnEveryBackend) {
  const RunResult result = run(make_program(Waits{}), "a2a3", 1, true);
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->code(), Code::kernel_failed);
  EXPECT_NE(result.error->message().find("allow_early"), std::string::npos) << result.error->message();
  Session session = Device::open("host", {.ranks = 1}).prepare(Waits{});
  try {
    (void)session.run();
    FAIL() << "the host backend let it wait";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kernel_failed);
    EXPECT_NE(error.message().find("allow_early"), std::string::npos) << error.message();
  }
}

}  // namespace
}  // namespace heddle
