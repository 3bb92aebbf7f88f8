// SPDX-License-Identifier: Apache-2.0
#include "chip/gang.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/host_environment.hpp"
#include "lab/chip_scene.hpp"
#include "lab/lab_environment.hpp"
#include "lab/mutant_search.hpp"
#include "lab/seeds.hpp"

namespace heddle::chip {
namespace {

using base::HostEnvironment;
using lab::ChipTask;
using lab::LabEnvironment;
using lab::Machine;
using lab::Outcome;

// Gangs whose blocks meet: each waits for all others, so that they end only when all of them run at the same time.
template <base::Environment E>
class GangScene : public lab::ChipScene<E> {
 public:
  using Base = lab::ChipScene<E>;
  explicit GangScene(const Config& config) : Base(config) {}

  ChipTask<E>& add_gang(Cores cores, std::uint32_t blocks, bool first = true) {
    ChipTask<E>& task = this->add(cores, blocks, first);
    task.slot.flags |= graph::slot_sync_start;
    meetings_.push_back(std::make_unique<Meeting>());
    meetings_.back()->task = &task;
    return task;
  }
  // The first kernel does not return before the second has begun.
  void add_wait(ChipTask<E>& waiter, ChipTask<E>& awaited) {
    waits_.waiter = &waiter;
    waits_.awaited = &awaited;
  }

  void run(graph::Slot<E>& slot, std::uint32_t block, std::uint32_t part, Core<E>& core) override {
    for (auto& meeting : meetings_)
      if (&meeting->task->slot == &slot) meet(*meeting, slot);
    ChipTask<E>& task = Base::of(slot);
    if (waits_.awaited == &task) waits_.begun.unpark();
    if (waits_.waiter == &task) waits_.begun.park();
    Base::run(slot, block, part, core);
  }

 private:
  template <class T>
  using Atomic = typename E::template Atomic<T>;
  struct Meeting {
    ChipTask<E>* task = nullptr;
    Atomic<std::uint32_t> arrived{0};
  };
  struct Wait {
    ChipTask<E>* waiter = nullptr;
    ChipTask<E>* awaited = nullptr;
    typename E::Parker begun;
  };

  void meet(Meeting& meeting, const graph::Slot<E>& slot) {
    if (meeting.arrived.fetch_add(1, std::memory_order_acq_rel) == 0 && Machine::current() != nullptr) {
      std::uint32_t placed = 0;
      for (std::uint32_t i = 0; i < this->device().cores(); ++i)
        placed += this->device().seat(i).running.slot == &slot ? 1 : 0;
      lab::expect(placed == slot.block_count, "a block began before all were placed");
    }
    for (std::uint32_t i = 0; meeting.arrived.load(std::memory_order_acquire) < slot.block_count; ++i) E::pause(i);
  }

  std::vector<std::unique_ptr<Meeting>> meetings_;
  Wait waits_;
};

using Scene = GangScene<LabEnvironment>;

const lab::Options options{.step_limit = 200'000};

void spawn_all(Machine& machine, Scene& scene) {
  for (std::uint32_t i = 0; i < scene.device().schedulers(); ++i)
    machine.spawn("scheduler " + std::to_string(i), [&scene, i] { scene.device().run_scheduler(i); });
  for (std::uint32_t i = 0; i < scene.device().cores(); ++i)
    machine.spawn("core " + std::to_string(i), [&scene, i] { scene.device().run_core(i); });
  machine.spawn("outside", [&scene] { scene.outside(); });
}

Config chip_of(std::uint32_t clusters, std::uint32_t schedulers) {
  Config config = lab::small_chip(clusters, schedulers);
  config.timing.sync_start_bound = 2'000;
  return config;
}

// Gangs of any width among other tasks.
Outcome some_gangs(Machine& machine) {
  const auto clusters = static_cast<std::uint32_t>(1 + machine.seed() % 3);
  Scene scene(chip_of(clusters, std::min(clusters, 2U)));
  scene.add_any(machine.seed(), 4, 4);
  scene.add_gang(vector_core, 2 * clusters);
  scene.add_gang(machine.seed() % 2 == 0 ? mixed_cores : cube_core, clusters);
  scene.add_gang(vector_core, 1 + static_cast<std::uint32_t>(machine.seed() / 3 % (2 * clusters)));
  spawn_all(machine, scene);
  return machine.run();
}

TEST(Gang, all_blocks_are_placed_before_one_begins_in_the_lab) {
  std::set<std::string> reached;
  const Outcome outcome = lab::first_failure(
      lab::seeds(1000),
      [&](Machine& machine) {
        Outcome one = some_gangs(machine);
        reached.insert(one.marks.begin(), one.marks.end());
        return one;
      },
      options);
  EXPECT_TRUE(outcome.finished()) << outcome.describe();
  for (const char* const state : {"chip_gang_alone", "chip_gang_together"})
    EXPECT_EQ(reached.count(state), 1U) << state;
  EXPECT_EQ(reached.count("chip_anomaly"), 0U);
}

// What runs waits for a task that stands behind the gang, which needs the core.
Outcome gang_in_between(Machine& machine) {
  Scene scene(chip_of(2, 2));
  ChipTask<LabEnvironment>& waiter = scene.add(cube_core, 1);
  ChipTask<LabEnvironment>& awaited = scene.add(vector_core, 1, false);
  scene.add_gang(cube_core, 2);
  ChipTask<LabEnvironment>& before = scene.add(vector_core, 1);
  before.then.push_back(&awaited);
  scene.add_wait(waiter, awaited);
  spawn_all(machine, scene);
  return machine.run();
}

TEST(Gang, draining_for_one_does_not_keep_back_what_others_wait_for_in_the_lab) {
  std::set<std::string> reached;
  const Outcome outcome = lab::first_failure(
      lab::seeds(1000),
      [&](Machine& machine) {
        Outcome one = gang_in_between(machine);
        reached.insert(one.marks.begin(), one.marks.end());
        return one;
      },
      options);
  EXPECT_TRUE(outcome.finished()) << outcome.describe();
  EXPECT_EQ(reached.count("chip_gang_failed"), 1U);
}

// Each task makes the next one ready at once, so that the cores would never be free together.
Outcome gang_among_singles(Machine& machine) {
  constexpr std::uint32_t singles = 40;
  Scene scene(chip_of(2, 2));
  for (std::uint32_t i = 0; i < singles; ++i) {
    scene.add(vector_core, 1, i < 6);
    if (i >= 6) scene.tasks()[i - 6]->then.push_back(scene.tasks()[i].get());
  }
  ChipTask<LabEnvironment>& gang = scene.add_gang(vector_core, 4, false);
  scene.tasks()[4]->then.push_back(&gang);
  for (std::uint32_t i = 0; i < scene.device().schedulers(); ++i)
    machine.spawn("scheduler " + std::to_string(i), [&scene, i] { scene.device().run_scheduler(i); });
  for (std::uint32_t i = 0; i < scene.device().cores(); ++i)
    machine.spawn("core " + std::to_string(i), [&scene, i] { scene.device().run_core(i); });
  machine.spawn("outside", [&] {
    scene.outside();
    lab::expect(gang.started_at.load(std::memory_order_relaxed) < 30, "singles overtook the gang for too long");
  });
  return machine.run();
}

TEST(Gang, single_tasks_do_not_overtake_it_for_ever_in_the_lab) {
  const Outcome outcome = lab::first_failure(lab::seeds(300), gang_among_singles, options);
  EXPECT_TRUE(outcome.finished()) << outcome.describe();
}

TEST(Gang, the_lab_catches_each_fault_that_is_put_in) {
  using Row = lab::MutantRow<Outcome (*)(Machine&)>;
  const std::initializer_list<Row> rows = {
      {{"chip_drain_aba", "an acknowledgement counts whichever attempt it was of"}, some_gangs, "some gangs"},
      {{"chip_drain_no_exit", "a drain has no bound"}, gang_in_between, "in between"},
      {{"chip_overtaken_gang", "nothing is kept back for a gang"}, gang_among_singles, "among singles"},
      {{"chip_gang_fence", "a scheduler sleeps through an announcement"}, some_gangs, "some gangs"},
  };
  EXPECT_EQ(lab::missed_mutants("Gang", rows, 10'000, options), "");
}

TEST(Gang, all_blocks_run_together_on_real_threads) {
  GangScene<HostEnvironment> scene(chip_of(2, 2));
  scene.add_any(5, 30, 4);
  for (int i = 0; i < 10; ++i) {
    scene.add_gang(vector_core, 4);
    scene.add_gang(mixed_cores, 2);
  }
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < scene.device().schedulers(); ++i)
    threads.emplace_back([&, i] { scene.device().run_scheduler(i); });
  for (std::uint32_t i = 0; i < scene.device().cores(); ++i)
    threads.emplace_back([&, i] { scene.device().run_core(i); });
  scene.outside();
  for (std::thread& thread : threads) thread.join();
  for (const auto& core : scene.device().snapshot().cores) EXPECT_EQ(core.state, CoreState::idle);
}

}  // namespace
}  // namespace heddle::chip
