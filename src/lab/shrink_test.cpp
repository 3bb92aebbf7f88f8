// SPDX-License-Identifier: Apache-2.0
#include "lab/shrink.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "lab/choice_words.hpp"
#include "lab/fake_runs.hpp"

namespace heddle::lab {
namespace {

using test::FakeRun;
using testing::HasSubstr;
using testing::SizeIs;

// What a made-up program needs to fail.
struct Needs {
  int ranks = 4;
  std::int64_t rounds = 2;
  std::int64_t size = 3;
  std::uint64_t clusters = 0;
  std::uint32_t faults = 0;
  std::uint32_t put = 9;    // taken at least, by agent 1's put number 2
  std::uint32_t ready = 1;  // taken at least, by agent 3's placement number 0
};

std::int64_t size_in(const Settings& settings) {
  std::int64_t size = 12;
  for (const auto& [name, value] : settings)
    if (name == "size") size = std::atoll(value.c_str());
  return size;
}

RunResult run_program(const Needs& needs, std::int64_t size, const RunSpec& spec, FakeRun run) {
  std::uint32_t put = 0, ready = 0;
  for (std::uint32_t rank = 0; rank < static_cast<std::uint32_t>(spec.ranks); ++rank) {
    for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(size); ++i) {
      const std::uint32_t taken = run.choose("latency.put", rank, i, 16);
      if (rank == 1 && i == 2) put = taken;
    }
    const std::uint32_t taken = run.choose("placement", rank, 0, 4);
    if (rank == 3) ready = taken;
  }
  run.result.tasks = static_cast<std::uint64_t>(spec.ranks * size);
  const auto clusters = spec.chip_set.find("clusters");
  const auto fault = spec.faults.find("lost_notify");
  const bool fails = spec.ranks >= needs.ranks && spec.rounds >= needs.rounds && size >= needs.size &&
                     (clusters == spec.chip_set.end() || clusters->second >= needs.clusters) &&
                     (fault == spec.faults.end() ? 0 : fault->second) >= needs.faults && put >= needs.put &&
                     ready >= needs.ready;
  run.result.rounds_done = fails ? needs.rounds - 1 : spec.rounds;
  return fails ? run.fail(Code::signal_deadlock, "stuck") : run.result;
}

Shrinker shrinker_of(const Needs& needs) {
  Shrinker shrinker;
  shrinker.make_runner = [needs](const Settings& settings) {
    return [needs, size = size_in(settings)](const RunSpec& spec, Strategy& strategy, std::uint64_t seed, bool record) {
      return run_program(needs, size, spec, FakeRun(strategy, seed, record));
    };
  };
  shrinker.group_of = [](const Settings&) { return 2; };
  shrinker.strategies = test::fake_strategies();
  return shrinker;
}

// A failure that was found with the first seed that shows it.
ShrinkConfig found(const Needs& needs, const RunSpec& spec) {
  const Shrinker shrinker = shrinker_of(needs);
  ShrinkConfig config;
  config.parameters = {{"size", 12, 1}};
  for (std::uint64_t seed = 1; seed < 1000; ++seed) {
    Schedule schedule;
    schedule.seed = seed;
    const ScheduledRun run = run_schedule(shrinker.make_runner({}), shrinker.strategies, spec, schedule, false);
    if (run.result.passed()) continue;
    config.failure = to_failure(spec, schedule, run.result);
    config.failure.program = "made_up";
    return config;
  }
  ADD_FAILURE() << "no seed fails";
  return config;
}

RunSpec large() {
  RunSpec spec;
  spec.ranks = 16;
  spec.rounds = 100;
  return spec;
}

TEST(Shrink, LeavesOnlyWhatTheFailureNeeds) {
  const Needs needs;
  const ShrinkConfig config = found(needs, large());
  const ShrinkReport report = shrink(config, shrinker_of(needs));
  ASSERT_TRUE(report.is_shown);
  EXPECT_TRUE(report.is_minimal);
  EXPECT_EQ(report.before.ranks, 16);
  EXPECT_EQ(report.after.ranks, 4);
  EXPECT_EQ(report.after.rounds, 2);
  EXPECT_EQ(size_in(report.failure.settings), 3);
  EXPECT_GT(report.before.choices, 100U);
  EXPECT_EQ(report.after.choices, 2U);
  ASSERT_THAT(report.words, SizeIs(2));
  EXPECT_THAT(report.words[0], HasSubstr("agent 1: the latency of put number 3"));
  EXPECT_THAT(report.words[1], HasSubstr("agent 3: block number 1 with a choice of clusters"));
  EXPECT_EQ(report.failure.program, "made_up");
  EXPECT_EQ(report.failure.verdict, Verdict::deadlock);
}

TEST(Shrink, NamesOneChoiceThatThePassHangsOn) {
  const Needs needs;
  const ShrinkReport report = shrink(found(needs, large()), shrinker_of(needs));
  ASSERT_TRUE(report.nearest);
  EXPECT_THAT(report.nearest->without, testing::ElementsAre(report.words[0]));
  EXPECT_THAT(report.nearest->with, SizeIs(0));
}

// It fails on an ordinary day: something out of the ordinary has to happen for it to pass.
TEST(Shrink, NamesWhatMustHappenForAPass) {
  Shrinker shrinker = shrinker_of({});
  shrinker.make_runner = [](const Settings&) {
    return [](const RunSpec& spec, Strategy& strategy, std::uint64_t seed, bool record) {
      FakeRun run(strategy, seed, record);
      std::uint32_t third = 0;
      for (std::uint32_t i = 0; i < 40; ++i) {
        const std::uint32_t taken = run.choose("latency.put", 1, i, 16);
        if (i == 2) third = taken;
      }
      run.result.rounds_done = third > 4 ? spec.rounds : 0;
      return third > 4 ? run.result : run.fail(Code::signal_deadlock, "stuck");
    };
  };
  ShrinkConfig config;
  Schedule schedule;
  schedule.is_list = true;
  const ScheduledRun run = run_schedule(shrinker.make_runner({}), shrinker.strategies, {}, schedule, false);
  config.failure = to_failure({}, schedule, run.result);
  const ShrinkReport report = shrink(config, shrinker);
  ASSERT_TRUE(report.nearest);
  EXPECT_THAT(report.nearest->without, SizeIs(0));
  ASSERT_THAT(report.nearest->with, SizeIs(1));
  EXPECT_THAT(report.nearest->with[0], HasSubstr("agent 1: the latency of put number 3"));
}

TEST(Shrink, SaysNothingOfAPassWhenThereIsNone) {
  Shrinker shrinker = shrinker_of({});
  shrinker.make_runner = [](const Settings&) {
    return [](const RunSpec&, Strategy& strategy, std::uint64_t seed, bool record) {
      FakeRun run(strategy, seed, record);
      (void)run.choose("latency.put", 1, 0, 16);
      return run.fail(Code::signal_deadlock, "stuck");
    };
  };
  ShrinkConfig config;
  Schedule schedule;
  schedule.is_list = true;
  const ScheduledRun run = run_schedule(shrinker.make_runner({}), shrinker.strategies, {}, schedule, false);
  config.failure = to_failure({}, schedule, run.result);
  EXPECT_FALSE(shrink(config, shrinker).nearest);
}

TEST(Shrink, TheSmallFailureIsShownByItsOwnFile) {
  const Needs needs;
  const ShrinkReport report = shrink(found(needs, large()), shrinker_of(needs));
  const Failure again = parse_failure(to_text(report.failure));
  const Shrinker shrinker = shrinker_of(needs);
  const ScheduledRun run =
      run_schedule(shrinker.make_runner(again.settings), shrinker.strategies, again.spec, again.schedule, false);
  EXPECT_EQ(run.result.trace_hash, again.trace_hash);
  EXPECT_EQ(run.result.verdict, again.verdict);
}

TEST(Shrink, AFailureOfAnOrdinaryDayNeedsNoChoice) {
  Needs needs;
  needs.put = needs.ready = 0;
  const ShrinkReport report = shrink(found(needs, large()), shrinker_of(needs));
  EXPECT_TRUE(report.failure.schedule.is_list);
  EXPECT_THAT(report.failure.schedule.choices, SizeIs(0));
  EXPECT_THAT(report.words, SizeIs(0));
}

TEST(Shrink, NarrowsTheChipOnlyIfItsWidthWasSet) {
  Needs needs;
  needs.clusters = 3;
  EXPECT_FALSE(shrink(found(needs, large()), shrinker_of(needs)).failure.spec.chip_set.contains("clusters"));
  RunSpec spec = large();
  spec.chip_set["clusters"] = 24;
  EXPECT_EQ(shrink(found(needs, spec), shrinker_of(needs)).failure.spec.chip_set.at("clusters"), 3U);
}

TEST(Shrink, KeepsOnlyTheFaultsThatItNeeds) {
  Needs needs;
  needs.faults = 2;
  RunSpec spec = large();
  spec.faults = {{"lost_notify", 5}, {"late_rank", 1}};
  const ShrinkReport report = shrink(found(needs, spec), shrinker_of(needs));
  EXPECT_EQ(report.failure.spec.faults, (std::map<std::string, std::uint32_t>{{"lost_notify", 2}}));
}

TEST(Shrink, StaysWithinItsBudgetAndKeepsWhatItHas) {
  const Needs needs;
  ShrinkConfig config = found(needs, large());
  for (const std::uint64_t runs : {1U, 2U, 5U, 30U}) {
    config.runs = runs;
    const ShrinkReport report = shrink(config, shrinker_of(needs));
    EXPECT_TRUE(report.is_shown);
    EXPECT_FALSE(report.is_minimal);
    EXPECT_LE(report.runs, runs);
    EXPECT_EQ(report.result.verdict, Verdict::deadlock);
  }
}

TEST(Shrink, TriesNothingWhenTheFailureIsNotShown) {
  const Needs needs;
  ShrinkConfig config = found(needs, large());
  config.failure.schedule.is_list = true;
  const ShrinkReport report = shrink(config, shrinker_of(needs));
  EXPECT_FALSE(report.is_shown);
  EXPECT_EQ(report.runs, 1U);
  EXPECT_TRUE(report.result.passed());
}

TEST(Shrink, StopsInOrderWhenItIsInterrupted) {
  const Needs needs;
  Shrinker shrinker = shrinker_of(needs);
  int asked = 0;
  shrinker.interrupted = [&] { return ++asked > 10; };
  const ShrinkReport report = shrink(found(needs, large()), shrinker);
  EXPECT_TRUE(report.interrupted);
  EXPECT_FALSE(report.is_minimal);
}

TEST(Shrink, PassesOverSizesThatTheProgramRefuses) {
  const Needs needs;
  Shrinker shrinker = shrinker_of(needs);
  const auto make_runner = shrinker.make_runner;
  shrinker.make_runner = [make_runner](const Settings& settings) {
    if (size_in(settings) < 6) throw Error(Code::invalid_argument, "size is at least 6");
    return make_runner(settings);
  };
  EXPECT_EQ(size_in(shrink(found(needs, large()), shrinker).failure.settings), 6);
}

TEST(ChoiceWords, SayWhatIsOutOfTheOrdinary) {
  EXPECT_EQ(in_words({"latency.put", "rank 3, cluster 0 vector 1", 1, 15}),
            "rank 3, cluster 0 vector 1: the latency of put number 2 is the most it can be, instead of the mean");
  EXPECT_EQ(in_words({"latency.put", "rank 3", 1, 5}),
            "rank 3: the latency of put number 2 is 5 of 15 between its least and its most, instead of the mean");
  EXPECT_EQ(in_words({"fault.lost_notify", "run", 0, 7}),
            "fault lost_notify: a notify never arrives, at opportunity 7");
  EXPECT_EQ(in_words({"anything", "rank 1", 4, 2}),
            "rank 1: anything number 5 is alternative 2 instead of the default");
}

}  // namespace
}  // namespace heddle::lab
