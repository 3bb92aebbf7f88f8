// SPDX-License-Identifier: Apache-2.0
#include "chip/device.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/host_environment.hpp"
#include "lab/lab_environment.hpp"
#include "lab/mutant_search.hpp"

namespace heddle::chip {
namespace {

using lab::Machine;
using lab::Outcome;

using base::HostEnvironment;
using lab::LabEnvironment;

// On real threads nobody catches this: the process ends with the message.
inline void expect(bool condition, const char* what) {
  if (condition) return;
  if (lab::Machine* const machine = lab::Machine::current()) machine->fail(what);
  throw std::runtime_error(what);
}

inline Config small_chip(std::uint32_t clusters, std::uint32_t schedulers) {
  Config config;
  config.name = "small";
  config.geometry = {clusters, 2, schedulers};
  config.timing.dispatch_half_skew = 1;
  return config;
}

template <base::Environment E>
struct Task {
  template <class T>
  using Atomic = typename E::template Atomic<T>;

  Task(std::string task_name, Cores cores, std::uint32_t blocks) : name(std::move(task_name)) {
    slot.name = name.c_str();
    slot.cores = cores;
    slot.block_count = blocks * slot.parts();
    slot.blocks_left.store(slot.block_count, std::memory_order_relaxed);
    for (std::uint32_t i = 0; i < slot.block_count; ++i) ran.push_back(std::make_unique<Atomic<std::uint32_t>>(0U));
    for (std::uint32_t i = 0; i < slot.block_count; ++i)
      outputs.push_back(std::make_unique<typename E::template Plain<std::uint32_t>>());
    for (std::uint32_t i = 0; i < blocks; ++i) clusters.push_back(std::make_unique<Atomic<std::uint32_t>>(0U));
  }

  std::string name;
  graph::Slot<E> slot;
  bool runs = true;                                         // false: begin() says no
  std::vector<Task*> then;                                  // made ready at the end, by the scheduler that sees it
  typename E::template Plain<std::uint32_t> input;          // written before it is made ready
  std::vector<std::unique_ptr<Atomic<std::uint32_t>>> ran;  // of each part of each block
  std::vector<std::unique_ptr<typename E::template Plain<std::uint32_t>>> outputs;
  std::vector<std::unique_ptr<Atomic<std::uint32_t>>> clusters;  // of each block, plus one
  Atomic<std::uint32_t> begun{0};
  Atomic<std::uint32_t> started_at{0};  // counts the parts that were started on the device before its first
};

template <base::Environment E>
class Scene : public Client<E> {
 public:
  explicit Scene(const Config& config) : device_(config, *this, "device 0"), core_of_(config.geometry.cores()) {
    for (auto& core : core_of_) core = std::make_unique<typename E::template Plain<std::uint32_t>>();
  }
  virtual ~Scene() = default;

  Device<E>& device() { return device_; }
  Task<E>& add(Cores cores, std::uint32_t blocks, bool first = true) {
    tasks_.push_back(std::make_unique<Task<E>>("task " + std::to_string(tasks_.size()), cores, blocks));
    tasks_.back()->slot.rank = tasks_.back().get();
    if (first) first_.push_back(tasks_.back().get());
    left_.store(static_cast<std::uint32_t>(tasks_.size()), std::memory_order_relaxed);
    return *tasks_.back();
  }
  // Any shapes, blocks and chains.
  void add_any(std::uint64_t seed, std::uint32_t count, std::uint32_t most_blocks) {
    std::mt19937_64 random(seed);
    for (std::uint32_t i = 0; i < count; ++i) {
      const bool first = tasks_.empty() || random() % 2 == 0;
      Task<E>* const before = first ? nullptr : tasks_[random() % tasks_.size()].get();
      const auto blocks = static_cast<std::uint32_t>(1 + random() % most_blocks);
      Task<E>& task = add(shapes[random() % shape_count], blocks, first);
      task.runs = random() % 8 != 0;
      if (before != nullptr) before->then.push_back(&task);
    }
  }

  // The agent that stands for the orchestrator.
  void outside() {
    for (Task<E>* task : first_) {
      submit(*task);
      if (pace_) paced_.park();
    }
    done_.park();
    for (const auto& task : tasks_) {
      expect(task->begun.load(std::memory_order_relaxed) == 1, "a task was begun more than once, or never");
      for (const auto& each : task->ran)
        expect(each->load(std::memory_order_relaxed) == (task->runs ? 1U : 0U), "a block did not run exactly once");
    }
    device_.stop();
  }
  void submit(Task<E>& task) {
    task.input.store(7);
    device_.ready(task.slot);
  }

  // ---- Client ----
  bool begin(graph::Slot<E>& slot) override {
    Task<E>& task = of(slot);
    expect(task.input.load() == 7, "a scheduler does not see what was written before the task was made ready");
    task.begun.fetch_add(1, std::memory_order_relaxed);
    if (!task.runs) end(task);
    return task.runs;
  }
  void run(graph::Slot<E>& slot, std::uint32_t block, std::uint32_t part, Core<E>& core) override {
    Task<E>& task = of(slot);
    const std::uint32_t parts = slot.parts();
    expect(block * parts + part < slot.block_count && part < parts, "there is no such part of a block");
    expect((core.kind() == heddle::Core::cube) == (part < slot.cores.cubes), "a part runs on the wrong kind of core");
    expect(task.input.load() == 7, "a core does not see what was written before the task was made ready");
    const std::uint32_t before = parts_started_.fetch_add(1, std::memory_order_relaxed);
    std::uint32_t unset = 0;
    (void)task.started_at.compare_exchange_strong(unset, before + 1, std::memory_order_relaxed,
                                                  std::memory_order_relaxed);
    // Unordered accesses of two kernels on one core would be a race.
    core_of_[core.index()]->store(core_of_[core.index()]->load() + 1);
    std::uint32_t nowhere = 0;
    if (!task.clusters[block]->compare_exchange_strong(nowhere, core.cluster() + 1, std::memory_order_relaxed,
                                                       std::memory_order_relaxed))
      expect(nowhere == core.cluster() + 1, "the parts of a block run in different clusters");
    task.outputs[block * parts + part]->store(core.index() + 1);
    task.ran[block * parts + part]->fetch_add(1, std::memory_order_relaxed);
  }
  void finished(graph::Slot<E>& slot) override {
    // acq_rel: a release sequence over the parts.
    if (slot.blocks_left.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    Task<E>& task = of(slot);
    for (std::uint32_t i = 0; i < task.outputs.size(); ++i) {
      expect(task.outputs[i]->load() != 0, "a task ended whose blocks have not all run");
      for (std::uint32_t j = i - i % slot.parts(); j < i; ++j)
        expect(task.outputs[j]->load() != task.outputs[i]->load(), "two parts of a block ran on one core");
    }
    end(task);
  }

  std::vector<std::unique_ptr<Task<E>>>& tasks() { return tasks_; }
  const std::vector<Task<E>*>& first() const { return first_; }

  bool pace_ = false;  // each first task is submitted when the one before has ended

 protected:
  static Task<E>& of(graph::Slot<E>& slot) { return *static_cast<Task<E>*>(slot.rank); }
  void end(Task<E>& task) {
    for (Task<E>* next : task.then) submit(*next);
    if (pace_) paced_.unpark();
    // acq_rel: a release sequence over the tasks; the last one's unpark publishes all of them.
    if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) done_.unpark();
  }

  Device<E> device_;
  std::vector<std::unique_ptr<Task<E>>> tasks_;
  std::vector<Task<E>*> first_;
  std::vector<std::unique_ptr<typename E::template Plain<std::uint32_t>>> core_of_;  // runs on each core
  typename E::template Atomic<std::uint32_t> parts_started_{0};
  typename E::template Atomic<std::uint32_t> left_{0};
  typename E::Parker done_;
  typename E::Parker paced_;
};

// ---- what is placed where: the schedulers alone; no core answers, so what they know is what they did ----

using LabScene = Scene<LabEnvironment>;

// Runs the schedulers until nothing can happen.
Snapshot<LabEnvironment> placed(LabScene& scene, std::uint64_t seed = 1) {
  Machine machine(seed);
  for (Task<LabEnvironment>* task : scene.first()) scene.submit(*task);
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
  Task<LabEnvironment>& dummy = scene.add(vector_core, 1);
  dummy.runs = false;
  Task<LabEnvironment>& later = scene.add(cube_core, 1, false);
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
      lab::seeds(600),
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
        Task<LabEnvironment>& mixed = scene.add(mixed_cores, 1, false);
        scene.tasks()[6]->then.push_back(&mixed);
        spawn_all(machine, scene);
        machine.spawn("outside", [&] {
          scene.outside();
          expect(mixed.started_at.load(std::memory_order_relaxed) < 40, "singles overtook the mixed task for too long");
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
    Scene<HostEnvironment> scene(small_chip(clusters, clusters));
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
