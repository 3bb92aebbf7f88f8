// SPDX-License-Identifier: Apache-2.0
#include "lab/hunt.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "lab/fake_runs.hpp"

namespace heddle::lab {
namespace {

using test::FakeRun;
using testing::HasSubstr;

// Fails for the seeds that `fails` says.
Hunter hunter_of(std::function<bool(std::uint64_t seed)> fails) {
  Hunter hunter;
  hunter.make_runner = [fails] {
    return [fails](const RunSpec&, Strategy& strategy, std::uint64_t seed, bool record) {
      FakeRun run(strategy, seed, record);
      run.choose("latency.put", 0, 0, 16);
      return fails(seed) ? run.fail(Code::signal_deadlock, "stuck") : run.result;
    };
  };
  hunter.strategies = test::fake_strategies();
  return hunter;
}

HuntConfig schedules(std::uint64_t count, int jobs) {
  HuntConfig config;
  config.schedules = count;
  config.jobs = jobs;
  return config;
}

TEST(Hunt, ReportsTheLowestFailingScheduleWhateverTheThreadsDo) {
  for (const int jobs : {1, 2, 8}) {
    for (const std::uint64_t offset : {0U, 1U, 40U}) {
      // Every seed from 50 on fails as well: some thread finds one of those first.
      const auto fails = [&](std::uint64_t seed) { return seed == 10 + offset || seed >= 50; };
      HuntConfig config = schedules(1000, jobs);
      config.seed = 10;
      Hunter hunter = hunter_of(fails);
      const HuntReport report = hunt(config, hunter);
      ASSERT_TRUE(report.failure);
      EXPECT_EQ(report.failure->number, offset);
      EXPECT_EQ(report.failure->schedule.seed, 10 + offset);
      EXPECT_EQ(report.failure->schedule.strategy, config.strategies[offset % 4]);
      EXPECT_TRUE(report.failure->is_repeatable);
      EXPECT_FALSE(report.interrupted);
      EXPECT_GE(report.counts.schedules, offset + 1);
      EXPECT_LE(report.counts.schedules, 1000U);
    }
  }
}

TEST(Hunt, RunsItsWholeBudgetWhenNothingFails) {
  for (const int jobs : {1, 3}) {
    std::mutex mutex;
    std::multiset<std::uint64_t> seeds;
    const HuntReport report = hunt(schedules(100, jobs), hunter_of([&](std::uint64_t seed) {
                                     const std::scoped_lock lock(mutex);
                                     seeds.insert(seed);
                                     return false;
                                   }));
    EXPECT_FALSE(report.failure);
    EXPECT_EQ(report.counts.schedules, 100U);
    EXPECT_EQ(report.counts.failures, 0U);
    EXPECT_EQ(report.counts.verdicts.at(Verdict::passed), 100U);
    ASSERT_EQ(report.counts.strategies.size(), 4U);
    for (const StrategyCount& each : report.counts.strategies) EXPECT_EQ(each.schedules, 25U) << each.name;
    EXPECT_EQ(std::set(seeds.begin(), seeds.end()).size(), 100U);
    EXPECT_EQ(seeds.size(), 100U);
  }
}

TEST(Hunt, CountsEveryFailureWhenItIsToldToGoOn) {
  HuntConfig config = schedules(100, 2);
  config.keep_going = true;
  const HuntReport report = hunt(config, hunter_of([](std::uint64_t seed) { return seed % 10 == 7; }));
  EXPECT_EQ(report.counts.schedules, 100U);
  EXPECT_EQ(report.counts.failures, 10U);
  EXPECT_EQ(report.counts.verdicts.at(Verdict::deadlock), 10U);
  ASSERT_TRUE(report.failure);
  EXPECT_EQ(report.failure->number, 6U);
}

TEST(Hunt, TellsEveryScheduleButTheFirstHowLongTheFirstWas) {
  std::mutex mutex;
  std::map<std::uint64_t, std::uint64_t> hints;
  class Hinted final : public Strategy {
   public:
    Hinted(std::mutex& mutex, std::map<std::uint64_t, std::uint64_t>& hints) : mutex_(mutex), hints_(hints) {}
    const char* name() const override { return "hinted"; }
    void begin(std::uint64_t seed, std::uint64_t hint) override {
      const std::scoped_lock lock(mutex_);
      hints_[seed] = hint;
    }
    std::uint32_t choose(const Choice&) override { return 0; }

   private:
    std::mutex& mutex_;
    std::map<std::uint64_t, std::uint64_t>& hints_;
  };
  Hunter hunter;
  hunter.strategies.named = [&](const std::string&) { return std::make_unique<Hinted>(mutex, hints); };
  hunter.make_runner = [] {
    return [](const RunSpec&, Strategy& strategy, std::uint64_t seed, bool record) {
      FakeRun run(strategy, seed, record);
      run.result.choices = seed == 1 ? 345 : seed;
      return run.result;
    };
  };
  hunt(schedules(30, 3), hunter);
  ASSERT_EQ(hints.size(), 30U);
  for (const auto& [seed, hint] : hints) EXPECT_EQ(hint, seed == 1 ? 0U : 345U);
}

TEST(Hunt, GoesThroughFidelitiesAndWidthsByTurns) {
  std::mutex mutex;
  std::set<std::tuple<std::string, Fidelity, std::uint64_t>> seen;
  Hunter hunter = hunter_of({});
  hunter.make_runner = [&] {
    return [&](const RunSpec& spec, Strategy& strategy, std::uint64_t seed, bool record) {
      FakeRun run(strategy, seed, record);
      const std::scoped_lock lock(mutex);
      seen.emplace(strategy.name(), spec.fidelity, spec.chip_set.at("clusters"));
      return run.result;
    };
  };
  HuntConfig config = schedules(24, 2);
  config.fidelities = {Fidelity::program, Fidelity::protocol};
  config.widths = {1, 2, 24};
  hunt(config, hunter);
  EXPECT_EQ(seen.size(), 24U);
}

// Tries the alternatives of two choices of three one after the other.
class Odometer final : public Strategy {
 public:
  const char* name() const override { return "dfs"; }
  void begin(std::uint64_t, std::uint64_t) override { at_ = 0; }
  std::uint32_t choose(const Choice&) override { return digits_.at(at_++); }
  bool by_time() const override { return false; }
  bool end() override {
    for (std::uint32_t& digit : digits_) {
      if (++digit < 3) return true;
      digit = 0;
    }
    return false;
  }

 private:
  std::vector<std::uint32_t> digits_ = {0, 0};
  std::size_t at_ = 0;
};

Hunter exhaustive(std::uint32_t bad) {
  Hunter hunter = hunter_of({});
  hunter.strategies.named = [](const std::string&) { return std::make_unique<Odometer>(); };
  hunter.make_runner = [bad] {
    return [bad](const RunSpec&, Strategy& strategy, std::uint64_t seed, bool record) {
      FakeRun run(strategy, seed, record);
      const std::uint32_t first = run.choose("next", 0, 0, 3), second = run.choose("next", 1, 0, 3);
      return first * 10 + second == bad ? run.fail(Code::core_deadlock, "stuck") : run.result;
    };
  };
  return hunter;
}

TEST(Hunt, SaysWhenDfsIsComplete) {
  HuntConfig config = schedules(1000, 4);
  config.strategies = {"dfs"};
  const HuntReport report = hunt(config, exhaustive(99));
  EXPECT_TRUE(report.complete);
  EXPECT_EQ(report.counts.schedules, 9U);
  config.schedules = 5;
  EXPECT_FALSE(hunt(config, exhaustive(99)).complete);
}

TEST(Hunt, NamesTheChoicesOfWhatDfsHasFound) {
  HuntConfig config = schedules(1000, 1);
  config.strategies = {"dfs"};
  const HuntReport report = hunt(config, exhaustive(12));
  ASSERT_TRUE(report.failure);
  const std::vector<TakenChoice> expected{{"next", "agent 0", 0, 1}, {"next", "agent 1", 0, 2}};
  EXPECT_TRUE(report.failure->schedule.is_list);
  EXPECT_FALSE(report.failure->schedule.by_time);
  EXPECT_EQ(report.failure->schedule.choices, expected);
  EXPECT_TRUE(report.failure->is_repeatable);
}

TEST(Hunt, NoticesAFailureThatDoesNotRepeat) {
  std::atomic<int> runs{0};
  Hunter hunter = hunter_of({});
  hunter.make_runner = [&] {
    return [&](const RunSpec&, Strategy& strategy, std::uint64_t seed, bool record) {
      FakeRun run(strategy, seed, record);
      run.result.trace_hash += static_cast<std::uint64_t>(runs.fetch_add(1, std::memory_order_relaxed));
      return run.fail(Code::signal_deadlock, "stuck");
    };
  };
  const HuntReport report = hunt(schedules(10, 1), hunter);
  ASSERT_TRUE(report.failure);
  EXPECT_FALSE(report.failure->is_repeatable);
}

TEST(Hunt, StopsInOrderWhenItIsInterrupted) {
  std::atomic<int> runs{0};
  Hunter hunter = hunter_of([&](std::uint64_t) {
    runs.fetch_add(1, std::memory_order_relaxed);
    return false;
  });
  hunter.interrupted = [&] { return runs.load(std::memory_order_relaxed) > 0; };
  HuntConfig config;
  config.time = std::chrono::hours(24);
  const HuntReport report = hunt(config, hunter);
  EXPECT_TRUE(report.interrupted);
  EXPECT_GT(report.counts.schedules, 0U);
}

TEST(Hunt, EndsWithItsTime) {
  HuntConfig config;
  config.time = std::chrono::milliseconds(30);
  config.jobs = 2;
  bool told = false;
  Hunter hunter = hunter_of([](std::uint64_t) { return false; });
  hunter.progress = [&](const HuntCounts& counts) { told = told || counts.schedules > 0; };
  const HuntReport report = hunt(config, hunter);
  EXPECT_FALSE(report.interrupted);
  EXPECT_GE(report.counts.elapsed, std::chrono::milliseconds(30));
  EXPECT_GT(report.counts.per_second(), 0);
}

TEST(Hunt, HandsOnWhatTheRunnerThrows) {
  Hunter hunter = hunter_of([](std::uint64_t seed) -> bool {
    if (seed == 5) throw Error(Code::invalid_argument, "no chip constant \"clsters\"");
    return false;
  });
  for (const int jobs : {1, 4}) {
    try {
      hunt(schedules(1000, jobs), hunter);
      FAIL() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_THAT(error.message(), HasSubstr("clsters"));
    }
  }
}

// The kernel of the run blocks its thread, which virtual time cannot notice.
TEST(Hunt, NamesWhatRunsInAThreadThatDoesNotComeBack) {
  struct Gate {
    std::mutex mutex;
    std::condition_variable changed;
    bool open = false;
    int waiting = 0;
  };
  const auto gate = std::make_shared<Gate>();
  Hunter hunter = hunter_of({});
  hunter.make_runner = [gate] {
    return [gate](const RunSpec&, Strategy& strategy, std::uint64_t seed, bool record) {
      const RunningNow::Run running;
      FakeRun run(strategy, seed, record);
      if (seed != 3) return run.result;
      RunningNow::here().enter({"kernel", "gate", 2, 7});
      std::unique_lock lock(gate->mutex);
      ++gate->waiting;
      gate->changed.wait(lock, [&] { return gate->open; });
      --gate->waiting;
      gate->changed.notify_all();
      return run.result;
    };
  };
  HuntConfig config = schedules(1000, 1);
  config.patience = std::chrono::milliseconds(50);
  const HuntReport report = hunt(config, hunter);
  ASSERT_TRUE(report.stalled);
  EXPECT_EQ(report.stalled->what, "the kernel of task \"gate\", rank 2, block 7");
  EXPECT_EQ(report.stalled->number, 2U);
  EXPECT_EQ(report.stalled->seed, 3U);
  EXPECT_EQ(report.stalled->strategy, "delay");
  std::unique_lock lock(gate->mutex);
  gate->open = true;
  gate->changed.notify_all();
  gate->changed.wait(lock, [&] { return gate->waiting == 0; });
}

TEST(Hunt, RefusesWhatIsOutOfRange) {
  const Hunter hunter = hunter_of([](std::uint64_t) { return false; });
  std::vector<HuntConfig> bad(7);
  bad[1].schedules = 0;
  bad[2].time = std::chrono::nanoseconds(0);
  bad[3] = schedules(1, 0);
  bad[4] = schedules(1, 1);
  bad[4].strategies.clear();
  bad[5] = schedules(1, 1);
  bad[5].strategies = {"random", "dfs"};
  bad[6] = schedules(1, 1);
  bad[6].strategies = {"dfs"};
  bad[6].widths = {1, 2};
  for (const HuntConfig& config : bad) EXPECT_THROW(hunt(config, hunter), Error);
}

}  // namespace
}  // namespace heddle::lab
