// SPDX-License-Identifier: Apache-2.0
#include "chip/device.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/host_environment.hpp"
#include "lab/chip_scene.hpp"
#include "lab/lab_environment.hpp"
#include "lab/mutant_search.hpp"

namespace heddle::chip {
namespace {

using lab::Machine;
using lab::Outcome;

using base::HostEnvironment;
using lab::LabEnvironment;

// ---- what is placed where: the schedulers alone; no core answers, so what they know is what they did ----

using LabScene = lab::ChipScene<LabEnvironment>;
using lab::ChipTask;
using lab::small_chip;

// Runs the schedulers until nothing can happen.
Snapshot<LabEnvironment> placed(LabScene& scene, std::uint64_t seed = 1) {
  Machine machine(seed);
  for (ChipTask<LabEnvironment>* task : scene.first()) scene.submit(*task);
  for (std::uint32_t i = 0; i < scene.device().schedulers(); ++i)
    machine.spawn("scheduler " + std::to_string(i), [&scene, i] { scene.device().run_scheduler(i); });
  const Outcome outcome = machine.run();
  EXPECT_EQ(outcome.kind, Outcome::Kind::deadlock) << outcome.describe();
  return scene.device().snapshot();
}

std::string running_on(const Snapshot<LabEnvironment>& snapshot, std::uint32_t core) {
  const auto& view = snapshot.cores[core];
  return view.running ? std::string(view.running.slot->name) + "." + std::to_string(view.running.block) : "-";
}

TEST(Device, mixed_tasks_go_before_single_ones_and_their_parts_into_one_cluster) {
  LabScene scene(small_chip(1, 1));
  scene.add(vector_core, 1);
  scene.add(cube_core, 1);
  scene.add(mixed_cores, 1);
  const auto snapshot = placed(scene);
  for (std::uint32_t core = 0; core < 3; ++core) EXPECT_EQ(running_on(snapshot, core), "task 2.0");
  ASSERT_EQ(snapshot.queued.size(), 2U);
  EXPECT_STREQ(snapshot.queued[0].name, "task 1");
  EXPECT_STREQ(snapshot.queued[1].name, "task 0");
  EXPECT_EQ(snapshot.cores[0].state, CoreState::dispatched);
}

TEST(Device, a_wave_takes_what_is_idle_and_leaves_the_rest_queued) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    LabScene scene(small_chip(3, 2));
    scene.add(vector_core, 10);
    scene.add(cube_core, 2);
    const auto snapshot = placed(scene, seed);
    std::set<std::string> running;
    for (std::uint32_t core = 0; core < 9; ++core) running.insert(running_on(snapshot, core));
    // 3 clusters: 6 vector cores, and a cube core to spare.
    EXPECT_EQ(running, (std::set<std::string>{"task 0.0", "task 0.1", "task 0.2", "task 0.3", "task 0.4", "task 0.5",
                                              "task 1.0", "task 1.1", "-"}));
    ASSERT_EQ(snapshot.queued.size(), 1U);
    EXPECT_EQ(snapshot.queued[0].next_block, 6U);
    EXPECT_EQ(snapshot.queued[0].blocks, 10U);
  }
}

TEST(Device, a_task_that_runs_nothing_ends_though_no_core_is_free) {
  LabScene scene(small_chip(1, 1));
  scene.add(vector_core, 9);
  ChipTask<LabEnvironment>& dummy = scene.add(vector_core, 1);
  dummy.runs = false;
  ChipTask<LabEnvironment>& later = scene.add(cube_core, 1, false);
  dummy.then.push_back(&later);
  const auto snapshot = placed(scene);
  EXPECT_EQ(running_on(snapshot, 0), "task 2.0");
  EXPECT_EQ(dummy.begun.load(std::memory_order_relaxed), 1U);
}

TEST(Device, says_how_wide_it_is_and_refuses_geometries_that_cannot_be) {
  LabScene scene(small_chip(4, 1));
  EXPECT_EQ(scene.device().width_for(vector_core), 8U);
  EXPECT_EQ(scene.device().width_for(cube_core), 4U);
  EXPECT_EQ(scene.device().width_for(mixed_cores), 4U);
  EXPECT_EQ(scene.device().width_for(Cores{0, 2}), 4U);
  EXPECT_EQ(scene.device().width_for(Cores{0, 0}), 0U);
  EXPECT_EQ(scene.device().width_for(Cores{1, 5}), 0U);
  EXPECT_THROW(LabScene(small_chip(2, 3)), Error);
  EXPECT_THROW(LabScene(small_chip(0, 0)), Error);
}

TEST(ReadyQueue, keeps_any_number_of_slots_in_order) {
  ReadyQueue<HostEnvironment> queue;
  std::vector<std::unique_ptr<graph::Slot<HostEnvironment>>> slots;
  for (int i = 0; i < 5000; ++i) slots.push_back(std::make_unique<graph::Slot<HostEnvironment>>());
  EXPECT_EQ(queue.pop(), nullptr);
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = 1; i < slots.size(); ++i) queue.push(*slots[i]);
    queue.push_front(*slots[0]);
    for (const auto& slot : slots) ASSERT_EQ(queue.pop(), slot.get());
    EXPECT_TRUE(queue.empty());
    queue.push_front(*slots[3]);
    queue.push(*slots[4]);
    EXPECT_EQ(queue.pop(), slots[3].get());
    EXPECT_EQ(queue.pop(), slots[4].get());
    EXPECT_EQ(queue.pop(), nullptr);
  }
}

// ---- everything together ----

void spawn_all(Machine& machine, LabScene& scene) {
  for (std::uint32_t i = 0; i < scene.device().schedulers(); ++i)
    machine.spawn("scheduler " + std::to_string(i), [&scene, i] { scene.device().run_scheduler(i); });
  for (std::uint32_t i = 0; i < scene.device().cores(); ++i)
    machine.spawn("core " + std::to_string(i), [&scene, i] { scene.device().run_core(i); });
}

Outcome some_graph(Machine& machine) {
  const auto clusters = static_cast<std::uint32_t>(1 + machine.seed() % 3);
  LabScene scene(small_chip(clusters, std::min(clusters, 2U)));
  scene.add_any(machine.seed(), 7, 6);
  spawn_all(machine, scene);
  machine.spawn("outside", [&] { scene.outside(); });
  return machine.run();
}

const lab::Options options{.step_limit = 100'000};

TEST(Device, every_block_runs_once_in_the_lab) {
  std::set<std::string> reached;
  const Outcome outcome = lab::first_failure(
      lab::seeds(2000),
      [&](Machine& machine) {
        Outcome one = some_graph(machine);
        reached.insert(one.marks.begin(), one.marks.end());
        return one;
      },
      options);
  EXPECT_TRUE(outcome.finished()) << outcome.describe();
  for (const char* const state :
       {"chip_half_seen", "chip_both_done", "chip_pending_runs", "chip_await_pending", "chip_running_done",
        "chip_may_fill", "chip_pending_filled", "chip_pending_taken_up", "chip_wave_left"})
    EXPECT_EQ(reached.count(state), 1U) << state;
  EXPECT_EQ(reached.count("chip_anomaly"), 0U);
}

// Tasks that run nothing, each submitted when the one before has ended: the scheduler is about to sleep.
Outcome one_by_one(Machine& machine) {
  LabScene scene(small_chip(1, 1));
  scene.pace_ = true;
  for (int i = 0; i < 6; ++i) scene.add(vector_core, 1).runs = false;
  machine.spawn("scheduler", [&scene] { scene.device().run_scheduler(0); });
  machine.spawn("outside", [&] { scene.outside(); });
  return machine.run();
}

TEST(Device, a_scheduler_never_sleeps_through_a_task_that_is_made_ready_in_the_lab) {
  const Outcome outcome = lab::first_failure(lab::seeds(2000), one_by_one, options);
  EXPECT_TRUE(outcome.finished()) << outcome.describe();
}

// Each task makes the next one ready at once, so that single ones would never leave a whole cluster free.
TEST(Device, single_tasks_do_not_overtake_a_mixed_one_for_ever_in_the_lab) {
  constexpr std::uint32_t singles = 60;
  const Outcome outcome = lab::first_failure(
      lab::seeds(200),
      [&](Machine& machine) {
        LabScene scene(small_chip(1, 1));
        for (std::uint32_t i = 0; i < singles; ++i) {
          scene.add(i % 3 == 0 ? cube_core : vector_core, 1, i < 6);
          if (i >= 6) scene.tasks()[i - 6]->then.push_back(scene.tasks()[i].get());
        }
        ChipTask<LabEnvironment>& mixed = scene.add(mixed_cores, 1, false);
        scene.tasks()[6]->then.push_back(&mixed);
        spawn_all(machine, scene);
        machine.spawn("outside", [&] {
          scene.outside();
          lab::expect(mixed.started_at.load(std::memory_order_relaxed) < 40,
                      "singles overtook the mixed task for too long");
        });
        return machine.run();
      },
      options);
  EXPECT_TRUE(outcome.finished()) << outcome.describe();
}

struct WithholdingScene : LabScene {
  using LabScene::LabScene;
  bool withhold_finish(std::uint32_t core) override { return finish_ && core == 2; }
  bool withhold_acknowledge(std::uint32_t core) override { return acknowledge_ && core == 2; }
  bool finish_ = false;
  bool acknowledge_ = false;
};

TEST(Device, a_withheld_finish_is_an_anomaly_and_its_task_ends_after_the_bound) {
  std::uint32_t found = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Machine machine(seed, options);
    WithholdingScene scene(small_chip(1, 1));
    scene.finish_ = true;
    scene.add(vector_core, 12);
    spawn_all(machine, scene);
    machine.spawn("outside", [&] { scene.outside(); });
    const Outcome outcome = machine.run();
    if (outcome.finished()) continue;  // that core never had a pending task in time
    ASSERT_EQ(outcome.kind, Outcome::Kind::deadlock) << outcome.describe();
    const auto snapshot = scene.device().snapshot();
    const auto& view = snapshot.cores[2];
    EXPECT_TRUE(view.withholds);
    EXPECT_EQ(view.anomalies, 1U);
    EXPECT_EQ(view.withheld, 1U);
    EXPECT_EQ(view.state, CoreState::dispatched);
    EXPECT_FALSE(view.pending);
    // Every other block has been counted, the one that was running before included.
    EXPECT_EQ(scene.tasks()[0]->slot.blocks_left.load(std::memory_order_relaxed), 1U);
    EXPECT_EQ(scene.tasks()[0]->ran[view.running.block]->load(std::memory_order_relaxed), 0U);
    EXPECT_GE(machine.now(), scene.device().config().timing.withheld_finish_bound);
    ++found;
  }
  EXPECT_GT(found, 0U);
}

TEST(Device, a_dispatch_that_is_never_acknowledged_shows) {
  Machine machine(3, options);
  WithholdingScene scene(small_chip(1, 1));
  scene.acknowledge_ = true;
  scene.add(vector_core, 4);
  spawn_all(machine, scene);
  machine.spawn("outside", [&] { scene.outside(); });
  EXPECT_EQ(machine.run().kind, Outcome::Kind::deadlock);
  const auto snapshot = scene.device().snapshot();
  EXPECT_EQ(snapshot.cores[2].state, CoreState::dispatched);
  EXPECT_TRUE(snapshot.cores[2].withholds);
  EXPECT_EQ(place_of(snapshot.cores[2].cluster, snapshot.cores[2].lane), "cluster 0 vector 1");
  EXPECT_EQ(scene.tasks()[0]->slot.blocks_left.load(std::memory_order_relaxed), 1U);
}

TEST(Device, the_lab_catches_each_order_that_is_left_out) {
  const lab::Mutant lost_pokes[] = {
      {"chip_park_fence", "a scheduler sleeps while a task is ready"},
      {"chip_poke_fence", "a scheduler sleeps while a task is ready"},
  };
  for (const lab::Mutant& mutant : lost_pokes) {
    const Outcome outcome = lab::find_mutant(mutant, "Device, one by one", 10'000, one_by_one, options);
    EXPECT_EQ(outcome.kind, Outcome::Kind::deadlock) << mutant.place << " " << outcome.describe();
  }
  const lab::Mutant faults[] = {
      {"register_store", "a core runs the payload of an earlier task"},
      {"register_load", "a core runs the payload of an earlier task"},
      {"lock_release", "two schedulers take the same task"},
  };
  for (const lab::Mutant& mutant : faults) {
    const Outcome outcome = lab::find_mutant(mutant, "Device, some graph", 10'000, some_graph, options);
    EXPECT_FALSE(outcome.finished()) << mutant.place << " " << outcome.describe();
  }
}

TEST(Device, every_block_runs_once_on_real_threads) {
  for (std::uint32_t clusters = 1; clusters <= 3; ++clusters) {
    const std::uint64_t seed = 17 + clusters;
    SCOPED_TRACE("seed " + std::to_string(seed));
    lab::ChipScene<HostEnvironment> scene(small_chip(clusters, clusters));
    scene.add_any(seed, 400, 20);
    std::vector<std::thread> threads;
    for (std::uint32_t i = 0; i < clusters; ++i) threads.emplace_back([&, i] { scene.device().run_scheduler(i); });
    for (std::uint32_t i = 0; i < scene.device().cores(); ++i)
      threads.emplace_back([&, i] { scene.device().run_core(i); });
    scene.outside();
    for (std::thread& thread : threads) thread.join();
    const auto snapshot = scene.device().snapshot();
    for (const auto& core : snapshot.cores) EXPECT_EQ(core.state, CoreState::idle);
  }
}

}  // namespace
}  // namespace heddle::chip
