// SPDX-License-Identifier: Apache-2.0
#include "chip/early.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/host_environment.hpp"
#include "chip/device.hpp"
#include "lab/chip_scene.hpp"
#include "lab/lab_environment.hpp"
#include "lab/mutant_search.hpp"
#include "lab/seeds.hpp"

namespace heddle::chip {
namespace {

using base::HostEnvironment;
using lab::LabEnvironment;
using lab::Machine;
using lab::Outcome;

struct Shape {
  Cores cores = vector_core;
  std::uint32_t blocks = 1;
  bool allows = true;
  std::vector<std::uint32_t> producers;  // earlier tasks
};

// Tasks in a window of few slots, so that slots are reused, linked as an orchestrator links them. Each part checks that
// all parts of all its task's producers are done.
template <base::Environment E>
class EarlyScene final : public Client<E> {
 public:
  using Slot = graph::Slot<E>;
  template <class T>
  using Atomic = typename E::template Atomic<T>;

  EarlyScene(const Config& config, std::uint32_t window, std::vector<Shape> shapes)
      : device_(config, *this, "device 0") {
    for (std::uint32_t i = 0; i < window; ++i) {
      slots_.push_back(std::make_unique<Slot>());
      edges_.push_back(std::make_unique<graph::Edge<E>[]>(edges_most));
    }
    for (Shape& shape : shapes) tasks_.push_back(std::make_unique<Task>(std::move(shape)));
  }

  Device<E>& device() { return device_; }

  // The agent that stands for the orchestrator.
  void outside() {
    for (std::uint32_t i = 0; i < tasks_.size(); ++i) {
      while (i >= slots_.size() && !done(i - static_cast<std::uint32_t>(slots_.size()))) changed_.park();
      submit(i);
    }
    for (std::uint32_t i = 0; i < tasks_.size(); ++i)
      while (!done(i)) changed_.park();
    device_.stop();
  }

  bool begin(Slot& slot) override {
    of(slot).begun.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  bool prepare(Slot& slot) override {
    if (of(slot).shape.blocks == 3) return false;  // as when its rank is cancelled
    return begin(slot);
  }
  void run(Slot& slot, std::uint32_t block, std::uint32_t part, Core<E>&) override {
    Task& task = of(slot);
    for (const std::uint32_t producer : task.shape.producers)
      for (auto& output : tasks_[producer]->outputs)
        lab::expect(output->load() == 1, "a task began before a producer's end");
    auto& mine = *task.outputs[block * slot.parts() + part];
    lab::expect(mine.load() == 0, "a part ran twice");
    mine.store(1);
  }
  void finished(Slot& slot) override {
    // acq_rel: a release sequence over the parts.
    if (slot.blocks_left.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    Task& task = of(slot);
    lab::expect(task.begun.load(std::memory_order_relaxed) == 1, "a task was not begun once");
    graph::complete(
        slot, [this](Slot& next) { device_.ready(next); }, [](Slot&) {},
        [this](Slot& next) {
          if (graph::unbar(next) && next.fan_in.load(std::memory_order_relaxed) > 1) device_.candidate(next);
        });
    task.done.store(1, std::memory_order_release);  // release: partner is done()
    changed_.unpark();
  }

 private:
  static constexpr std::uint32_t edges_most = 8;

  struct Task {
    explicit Task(Shape its_shape) : shape(std::move(its_shape)) {
      const auto parts = shape.blocks * static_cast<std::uint32_t>(shape.cores.count());
      for (std::uint32_t i = 0; i < parts; ++i)
        outputs.push_back(std::make_unique<typename E::template Plain<std::uint32_t>>());
    }
    Shape shape;
    std::vector<std::unique_ptr<typename E::template Plain<std::uint32_t>>> outputs;  // of each part
    Atomic<std::uint32_t> begun{0};
    Atomic<std::uint32_t> done{0};
  };

  static Task& of(Slot& slot) { return *static_cast<Task*>(slot.rank); }
  bool done(std::uint32_t task) const { return tasks_[task]->done.load(std::memory_order_acquire) != 0; }

  void submit(std::uint32_t index) {
    Task& task = *tasks_[index];
    Slot& slot = *slots_[index % slots_.size()];
    slot.ref = index + 1;
    slot.rank = &task;
    slot.cores = task.shape.cores;
    slot.block_count = static_cast<std::uint32_t>(task.outputs.size());
    slot.edges = edges_[index % slots_.size()].get();
    slot.edge_mask = edges_most - 1;
    slot.fanout.store(nullptr, std::memory_order_relaxed);
    slot.blocks_left.store(slot.block_count, std::memory_order_relaxed);
    slot.next_block.store(0);
    std::vector<Slot*> producers;
    for (const std::uint32_t producer : task.shape.producers)
      if (slots_[producer % slots_.size()]->ref == producer + 1)
        producers.push_back(slots_[producer % slots_.size()].get());
    const bool early = !producers.empty() && std::all_of(producers.begin(), producers.end(), [](const Slot* each) {
      return (each->flags & graph::slot_allows_early) != 0;
    });
    slot.flags = (task.shape.allows ? graph::slot_allows_early : 0U) | (early ? graph::slot_starts_early : 0U);
    slot.early.unstarted.store(slot.block_count, std::memory_order_relaxed);
    slot.early.gate.store(graph::gate_word(slot.ref, graph::GateState::waits), std::memory_order_relaxed);
    slot.early.announced.store(nullptr);
    const auto count = static_cast<std::uint32_t>(producers.size());
    slot.early.bars.store(count + 1, std::memory_order_relaxed);
    slot.fan_in.store(count + 1, std::memory_order_relaxed);
    std::uint32_t satisfied = 1;
    for (std::uint32_t i = 0; i < count; ++i) {
      slot.edge(i).consumer = &slot;
      if (!graph::link(*producers[i], slot.edge(i))) ++satisfied;
    }
    if (early && graph::unbar(slot, satisfied)) device_.candidate(slot);
    if (graph::satisfy(slot, satisfied)) device_.ready(slot);
  }

  Device<E> device_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<std::unique_ptr<graph::Edge<E>[]>> edges_;
  std::vector<std::unique_ptr<Task>> tasks_;
  typename E::Parker changed_;
};

using Scene = EarlyScene<LabEnvironment>;
const lab::Options options{.step_limit = 400'000};

std::vector<Shape> any_tasks(std::uint64_t seed, std::uint32_t count, std::uint32_t window) {
  std::mt19937_64 random(seed);
  std::vector<Shape> all;
  for (std::uint32_t i = 0; i < count; ++i) {
    Shape shape;
    shape.cores = shapes[random() % shape_count];
    shape.blocks = static_cast<std::uint32_t>(1 + random() % 4);
    shape.allows = random() % 8 != 0;
    std::set<std::uint32_t> producers;
    for (std::uint64_t k = random() % 4; k > 0 && i > 0; --k)
      producers.insert(i - 1 - static_cast<std::uint32_t>(random() % std::min(i, window)));
    shape.producers.assign(producers.begin(), producers.end());
    all.push_back(std::move(shape));
  }
  return all;
}

Outcome run_scene(Machine& machine, Scene& scene) {
  for (std::uint32_t i = 0; i < scene.device().schedulers(); ++i)
    machine.spawn("scheduler " + std::to_string(i), [&scene, i] { scene.device().run_scheduler(i); });
  for (std::uint32_t i = 0; i < scene.device().cores(); ++i)
    machine.spawn("core " + std::to_string(i), [&scene, i] { scene.device().run_core(i); });
  machine.spawn("outside", [&scene] {
    scene.outside();
    const auto snapshot = scene.device().snapshot();
    lab::expect(snapshot.gated == snapshot.rings, "a gate was not rung exactly once");
  });
  return machine.run();
}

Outcome some_tasks(Machine& machine) {
  const auto clusters = static_cast<std::uint32_t>(1 + machine.seed() % 3);
  Config config = lab::small_chip(clusters, std::min(clusters, 2U));
  config.early.share = machine.seed() % 2 == 0 ? 50 : 100;
  Scene scene(config, 6, any_tasks(machine.seed(), 16, 6));
  return run_scene(machine, scene);
}

TEST(Early, no_task_begins_before_its_producers_end_in_the_lab) {
  std::set<std::string> reached;
  const Outcome outcome = lab::first_failure(
      lab::seeds(2000),
      [&](Machine& machine) {
        Outcome one = some_tasks(machine);
        reached.insert(one.marks.begin(), one.marks.end());
        return one;
      },
      options);
  EXPECT_TRUE(outcome.finished()) << outcome.describe();
  for (const char* const state :
       {"chip_announced", "chip_staged", "chip_gate_opened", "chip_gate_wave_left", "chip_candidate_stale"})
    EXPECT_EQ(reached.count(state), 1U) << state;
  EXPECT_EQ(reached.count("chip_anomaly"), 0U);
}

// Each task waits for the one before.
std::vector<Shape> chain_of(std::uint32_t count, bool allows) {
  std::vector<Shape> tasks(count);
  for (std::uint32_t i = 0; i < count; ++i) tasks[i].allows = allows;
  for (std::uint32_t i = 1; i < count; ++i) tasks[i].producers = {i - 1};
  return tasks;
}

// Two tasks follow each pair of tasks, and neither scheduler may stage both.
Outcome early_pairs(Machine& machine) {
  std::vector<Shape> tasks(12);
  for (std::uint32_t i = 2; i < tasks.size(); ++i) tasks[i].producers = {i / 2 * 2 - 2, i / 2 * 2 - 1};
  Scene scene(lab::small_chip(2, 2), 12, tasks);
  return run_scene(machine, scene);
}

// One producer, which comes late, and more consumers than there is room for candidates.
Outcome many_consumers(Machine& machine) {
  constexpr std::uint32_t before = 40;
  std::vector<Shape> tasks = chain_of(before, false);
  tasks.resize(before + Candidates<LabEnvironment>::room + 4);
  tasks[before - 1].allows = true;
  for (std::size_t i = before; i < tasks.size(); ++i) tasks[i].producers = {before - 1};
  Scene scene(lab::small_chip(1, 1), static_cast<std::uint32_t>(tasks.size()), tasks);
  return run_scene(machine, scene);
}

TEST(Early, more_candidates_than_there_is_room_for_are_dispatched_when_they_are_ready_in_the_lab) {
  std::set<std::string> reached;
  const Outcome outcome = lab::first_failure(
      lab::seeds(200),
      [&](Machine& machine) {
        Outcome one = many_consumers(machine);
        reached.insert(one.marks.begin(), one.marks.end());
        return one;
      },
      options);
  EXPECT_TRUE(outcome.finished()) << outcome.describe();
  EXPECT_EQ(reached.count("chip_candidate_forgotten"), 1U);
}

// The first producer has more blocks than the chip has cores, and its consumers are enough to fill them all.
Outcome wide_producer(Machine& machine) {
  std::vector<Shape> tasks(1 + 8);
  tasks[0].blocks = 8;
  for (std::size_t i = 1; i < tasks.size(); ++i) tasks[i].producers = {0};
  Scene scene(lab::small_chip(2, 1), static_cast<std::uint32_t>(tasks.size()), tasks);
  return run_scene(machine, scene);
}

TEST(Early, gated_tasks_leave_their_producer_its_cores_in_the_lab) {
  const Outcome outcome = lab::first_failure(lab::seeds(1000), wide_producer, options);
  EXPECT_TRUE(outcome.finished()) << outcome.describe();
}

TEST(Early, the_lab_catches_each_fault_that_is_put_in) {
  using Row = lab::MutantRow<Outcome (*)(Machine&)>;
  const std::initializer_list<Row> rows = {
      {{"chip_gates_fill_cores", "gated tasks are bounded for each edge, and not in all"},
       wide_producer,
       "wide producer"},
      {{"chip_queue_full_spins", "a full queue of candidates is asked again for ever"},
       many_consumers,
       "many consumers"},
      {{"chip_candidate_any_generation", "a candidate is taken for the task that its slot holds now"},
       some_tasks,
       "some tasks"},
      {{"chip_release_fence", "a scheduler sleeps while a gate is to be opened"}, early_pairs, "pairs"},
      {{"early_announce", "a scheduler follows an edge that is not written yet"}, some_tasks, "some tasks"},
  };
  EXPECT_EQ(lab::missed_mutants("Early", rows, 10'000, options), "");
}

TEST(Early, no_task_begins_before_its_producers_end_on_real_threads) {
  EarlyScene<HostEnvironment> scene(lab::small_chip(2, 2), 12, any_tasks(11, 400, 12));
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < scene.device().schedulers(); ++i)
    threads.emplace_back([&, i] { scene.device().run_scheduler(i); });
  for (std::uint32_t i = 0; i < scene.device().cores(); ++i)
    threads.emplace_back([&, i] { scene.device().run_core(i); });
  scene.outside();
  for (std::thread& thread : threads) thread.join();
  const auto snapshot = scene.device().snapshot();
  EXPECT_EQ(snapshot.gated, snapshot.rings);
}

}  // namespace
}  // namespace heddle::chip
