// SPDX-License-Identifier: Apache-2.0
//
// The chip in virtual time: what its table's latencies make of a run.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>

#include "base/marks.hpp"
#include "chip/device.hpp"
#include "lab/chip_scene.hpp"
#include "lab/program_environment.hpp"
#include "lab/simulator.hpp"

namespace heddle::chip {
namespace {

using lab::ProgramEnvironment;
using lab::Simulator;
using ProgramScene = lab::ChipScene<ProgramEnvironment>;
using ProgramTask = lab::ChipTask<ProgramEnvironment>;

// Seed 0: the default of everything.
class Dice final : public lab::Strategy {
 public:
  explicit Dice(std::uint64_t seed) : seed_(seed), random_(seed) {}
  const char* name() const override { return "dice"; }
  void begin(std::uint64_t, std::uint64_t) override {}
  std::uint32_t choose(const lab::Choice& choice) override {
    return seed_ == 0 ? 0 : static_cast<std::uint32_t>(random_() % choice.alternatives);
  }

 private:
  std::uint64_t seed_;
  std::mt19937_64 random_;
};

Config timed_chip(std::uint32_t clusters, std::uint32_t schedulers) {
  Config config = lab::small_chip(clusters, schedulers);
  config.timing.scheduler_turn = {1'000, 2'000, 3'000};
  config.timing.status_load = {90, 100, 110};
  config.timing.dispatch_issue = 20;
  config.timing.dispatch_burst = 5;
  config.timing.dispatch_visible = {100, 140, 300};
  config.timing.dispatch_half_skew = 20;
  config.timing.status_visible = {200, 600, 1'200};
  config.timing.cached_poll = {10, 40, 40};
  config.timing.task_switch = {500, 800, 900};
  config.timing.withheld_finish_bound = 1'000'000;
  return config;
}

struct Result {
  Simulator::End end;
  std::uint64_t hash;
  std::uint64_t ns;
};

template <class Outside>
Result simulate(ProgramScene& scene, std::uint64_t seed, Outside&& outside) {
  Dice dice(seed);
  Simulator simulator(dice);
  for (std::uint32_t i = 0; i < scene.device().schedulers(); ++i)
    simulator.spawn("scheduler " + std::to_string(i), [&scene, i] { scene.device().run_scheduler(i); });
  for (std::uint32_t i = 0; i < scene.device().cores(); ++i)
    simulator.spawn("core " + std::to_string(i), [&scene, i] { scene.device().run_core(i); });
  simulator.spawn("outside", outside);
  const Simulator::End end = simulator.run();
  return {end, simulator.hash(), simulator.now()};
}

TEST(DeviceInVirtualTime, one_task_takes_what_the_table_says) {
  ProgramScene scene(timed_chip(1, 1));
  scene.cost_ = 50'000;
  scene.add(cube_core, 1);
  std::uint64_t ended = 0;
  simulate(scene, 0, [&] {
    ProgramEnvironment::charge(10'000);  // the scheduler sleeps
    ProgramEnvironment::catch_up();
    scene.outside();
    ended = ProgramEnvironment::now();
  });
  // Poke, turn, store, visible, switch, kernel, visible, turn with one load.
  EXPECT_EQ(ended, 10'000U + 40 + 2'000 + 20 + 140 + 800 + 50'000 + 600 + 2'000 + 100);
}

TEST(DeviceInVirtualTime, every_block_runs_once_and_the_same_seed_is_the_same_run) {
  base::marks::clear();
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::uint64_t hash = 0;
    for (int again = 0; again < 2; ++again) {
      const auto clusters = static_cast<std::uint32_t>(1 + seed % 4);
      ProgramScene scene(timed_chip(clusters, std::min(clusters, 2U)));
      scene.cost_ = 3'000;
      scene.add_any(seed, 30, 12);
      const Result result = simulate(scene, seed, [&] { scene.outside(); });
      ASSERT_EQ(result.end, Simulator::End::idle);
      ASSERT_EQ(scene.left(), 0U) << "the run stopped before every task had ended";
      if (again == 1) {
        ASSERT_EQ(result.hash, hash);
      }
      hash = result.hash;
    }
  }
  for (const char* const state : {"chip_half_seen", "chip_pending_runs", "chip_await_pending", "chip_running_done",
                                  "chip_may_fill", "chip_pending_filled", "chip_pending_taken_up", "chip_wave_left"})
    EXPECT_GT(base::marks::count(state), 0U) << state;
  EXPECT_EQ(base::marks::count("chip_anomaly"), 0U);
}

TEST(DeviceInVirtualTime, idle_cores_of_another_scheduler_come_before_pending_slots) {
  constexpr std::uint64_t kernel_ns = 1'000'000;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ProgramScene scene(timed_chip(2, 2));
    scene.cost_ = kernel_ns;
    for (int i = 0; i < 2; ++i) scene.add(vector_core, 2);
    const Result result = simulate(scene, seed, [&] {
      scene.submit(*scene.first()[0]);
      ProgramEnvironment::charge(kernel_ns / 10);  // seen to run
      ProgramEnvironment::catch_up();
      scene.submit(*scene.first()[1]);
      scene.wait();
      scene.device().stop();
    });
    EXPECT_EQ(scene.left(), 0U);
    EXPECT_LT(result.ns, kernel_ns + kernel_ns / 2);
  }
}

struct WithholdingScene : ProgramScene {
  using ProgramScene::ProgramScene;
  bool withhold_finish(std::uint32_t core) override { return core == 1; }
};

TEST(DeviceInVirtualTime, a_withheld_finish_is_given_up_after_its_bound_and_not_before) {
  WithholdingScene scene(timed_chip(1, 1));
  scene.cost_ = 20'000;
  ProgramTask& task = scene.add(vector_core, 6);
  const Result result = simulate(scene, 0, [&] { scene.outside(); });
  EXPECT_EQ(result.end, Simulator::End::idle);
  EXPECT_GE(result.ns, 1'000'000U);
  EXPECT_LT(result.ns, 1'200'000U);
  const auto snapshot = scene.device().snapshot();
  EXPECT_EQ(snapshot.cores[1].withheld, 1U);
  EXPECT_EQ(snapshot.cores[1].state, CoreState::dispatched);
  EXPECT_TRUE(snapshot.cores[1].withholds);
  EXPECT_EQ(task.slot.blocks_left.load(std::memory_order_relaxed), 1U);
  EXPECT_EQ(snapshot.cores[2].state, CoreState::idle);
}

TEST(DeviceInVirtualTime, a_scheduler_that_is_late_only_costs_time) {
  struct Late : ProgramScene {
    using ProgramScene::ProgramScene;
    std::uint64_t scheduler_delay(std::uint32_t scheduler) override {
      return scheduler == 0 && ++turns_ == 3 ? 100'000'000 : 0;
    }
    std::uint32_t turns_ = 0;
  };
  Late scene(timed_chip(2, 2));
  scene.cost_ = 2'000;
  scene.add_any(5, 20, 6);
  const Result result = simulate(scene, 0, [&] { scene.outside(); });
  EXPECT_EQ(scene.left(), 0U);
  EXPECT_GE(result.ns, 100'000'000U);
}

}  // namespace
}  // namespace heddle::chip
