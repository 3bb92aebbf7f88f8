// SPDX-License-Identifier: Apache-2.0
#include "lab/sizing.hpp"

#include <gtest/gtest.h>

#include <string>

#include "lab/fake_runs.hpp"

namespace heddle::lab {
namespace {

using test::FakeRun;

// A program whose rings need so much, whatever the schedule, and one task more under one seed of seven.
struct Needs {
  std::uint64_t window = 12, heap = 6 * 1024, pool = 7;
  bool varies = false;
};

Runner runner_of(const Needs& needs) {
  return [needs](const RunSpec& spec, Strategy& strategy, std::uint64_t seed, bool record) {
    FakeRun run(strategy, seed, record);
    const RingConfig& ring = spec.session.ring;
    const std::uint64_t window = needs.window + (needs.varies && seed % 7 == 0 ? 1 : 0);
    if (ring.task_window < window) return run.fail(Code::scope_deadlock, "window");
    if (ring.heap_bytes < needs.heap) return run.fail(Code::heap_ring_deadlock, "heap");
    if (ring.dep_pool < needs.pool) return run.fail(Code::dep_pool_overflow, "pool");
    return run.result;
  };
}

SizeReport sizes_of(const Runner& runner) {
  SizeConfig config;
  config.schedules = 30;
  Sizer sizer;
  sizer.runner = runner;
  sizer.strategies = test::fake_strategies();
  return find_sizes(config, sizer);
}

TEST(Sizing, finds_the_least_of_each_and_a_failure_one_step_below) {
  const SizeReport report = sizes_of(runner_of({}));
  ASSERT_TRUE(report.least);
  EXPECT_EQ((*report.least)[0].size, 12U);
  EXPECT_EQ((*report.least)[1].size, 6U * 1024);
  EXPECT_EQ((*report.least)[2].size, 7U);
  EXPECT_EQ(report.schedules, 30U);
  const Code codes[] = {Code::scope_deadlock, Code::heap_ring_deadlock, Code::dep_pool_overflow};
  for (std::size_t i = 0; i < 3; ++i) {
    const LeastSize& least = (*report.least)[i];
    ASSERT_TRUE(least.below) << name_of(least.resource);
    EXPECT_EQ(least.below->result.error->code(), codes[i]);
    EXPECT_EQ(size_of(least.below->spec.session.ring, least.resource), least.size - step_of(least.resource));
  }
}

TEST(Sizing, a_size_that_only_few_schedules_need_is_explored) {
  Needs needs;
  needs.varies = true;
  const SizeReport report = sizes_of(runner_of(needs));
  ASSERT_TRUE(report.least);
  EXPECT_EQ((*report.least)[0].size, 13U);
  ASSERT_TRUE((*report.least)[0].below);
  EXPECT_EQ((*report.least)[0].below->schedule.seed % 7, 0U);
}

TEST(Sizing, a_program_that_needs_nothing_gets_the_least_that_there_is) {
  const SizeReport report = sizes_of(runner_of({0, 0, 0, false}));
  ASSERT_TRUE(report.least);
  for (const LeastSize& least : *report.least) {
    EXPECT_EQ(least.size, step_of(least.resource));
    EXPECT_FALSE(least.below);
  }
}

TEST(Sizing, a_failure_by_something_else_is_told_and_no_size) {
  const SizeReport report = sizes_of([](const RunSpec&, Strategy& strategy, std::uint64_t seed, bool record) {
    return FakeRun(strategy, seed, record).fail(Code::signal_deadlock, "waits");
  });
  EXPECT_FALSE(report.least);
  ASSERT_TRUE(report.failure);
  EXPECT_EQ(report.failure->result.error->code(), Code::signal_deadlock);
}

TEST(Sizing, a_program_that_does_not_fit_at_the_sizes_given_is_told) {
  Needs needs;
  needs.pool = 20'000;
  const SizeReport report = sizes_of(runner_of(needs));
  ASSERT_TRUE(report.failure);
  EXPECT_EQ(report.failure->result.error->code(), Code::dep_pool_overflow);
}

TEST(Sizing, refuses_what_is_out_of_range_and_stops_when_asked) {
  SizeConfig config;
  Sizer sizer;
  sizer.runner = runner_of({});
  sizer.strategies = test::fake_strategies();
  config.schedules = 0;
  EXPECT_THROW(find_sizes(config, sizer), Error);
  config.schedules = 1;
  config.strategies.clear();
  EXPECT_THROW(find_sizes(config, sizer), Error);
  config.strategies = {"random"};
  sizer.interrupted = [] { return true; };
  EXPECT_TRUE(find_sizes(config, sizer).interrupted);
}

}  // namespace
}  // namespace heddle::lab
