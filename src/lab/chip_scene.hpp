// SPDX-License-Identifier: Apache-2.0
//
// A simulated chip with tasks that check what is promised about them. Test code only.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "chip/device.hpp"
#include "lab/machine.hpp"

namespace heddle::lab {

// On real threads nobody catches this: the process ends with the message.
inline void expect(bool condition, const char* what) {
  if (condition) return;
  if (Machine* const machine = Machine::current()) machine->fail(what);
  throw std::runtime_error(what);
}

inline chip::Config small_chip(std::uint32_t clusters, std::uint32_t schedulers) {
  chip::Config config;
  config.name = "small";
  config.geometry = {clusters, 2, schedulers};
  config.timing.dispatch_half_skew = 1;
  return config;
}

template <base::Environment E>
struct ChipTask {
  template <class T>
  using Atomic = typename E::template Atomic<T>;

  ChipTask(std::string task_name, Cores cores, std::uint32_t blocks) : name(std::move(task_name)) {
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
  std::vector<ChipTask*> then;                              // made ready at the end, by the scheduler that sees it
  typename E::template Plain<std::uint32_t> input;          // written before it is made ready
  std::vector<std::unique_ptr<Atomic<std::uint32_t>>> ran;  // of each part of each block
  std::vector<std::unique_ptr<typename E::template Plain<std::uint32_t>>> outputs;
  std::vector<std::unique_ptr<Atomic<std::uint32_t>>> clusters;  // of each block, plus one
  Atomic<std::uint32_t> begun{0};
  Atomic<std::uint32_t> started_at{0};  // counts the parts that were started on the device before its first
};

template <base::Environment E>
class ChipScene : public chip::Client<E> {
 public:
  explicit ChipScene(const chip::Config& config)
      : device_(config, *this, "device 0"), core_of_(config.geometry.cores()) {
    for (auto& core : core_of_) core = std::make_unique<typename E::template Plain<std::uint32_t>>();
  }
  virtual ~ChipScene() = default;

  chip::Device<E>& device() { return device_; }
  ChipTask<E>& add(Cores cores, std::uint32_t blocks, bool first = true) {
    tasks_.push_back(std::make_unique<ChipTask<E>>("task " + std::to_string(tasks_.size()), cores, blocks));
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
      ChipTask<E>* const before = first ? nullptr : tasks_[random() % tasks_.size()].get();
      const auto blocks = static_cast<std::uint32_t>(1 + random() % most_blocks);
      ChipTask<E>& task = add(chip::shapes[random() % chip::shape_count], blocks, first);
      task.runs = random() % 8 != 0;
      if (before != nullptr) before->then.push_back(&task);
    }
  }

  // The agent that stands for the orchestrator.
  void outside() {
    for (ChipTask<E>* task : first_) {
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
  void submit(ChipTask<E>& task) {
    task.input.store(7);
    device_.ready(task.slot);
  }

  // ---- Client ----
  bool begin(graph::Slot<E>& slot) override {
    ChipTask<E>& task = of(slot);
    expect(task.input.load() == 7, "a scheduler does not see what was written before the task was made ready");
    task.begun.fetch_add(1, std::memory_order_relaxed);
    if (!task.runs) end(task);
    return task.runs;
  }
  void run(graph::Slot<E>& slot, std::uint32_t block, std::uint32_t part, chip::Core<E>& core) override {
    ChipTask<E>& task = of(slot);
    const std::uint32_t parts = slot.parts();
    expect(block * parts + part < slot.block_count && part < parts, "there is no such part of a block");
    expect((core.kind() == Core::cube) == (part < slot.cores.cubes), "a part runs on the wrong kind of core");
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
    E::charge(cost_);
    task.outputs[block * parts + part]->store(core.index() + 1);
    task.ran[block * parts + part]->fetch_add(1, std::memory_order_relaxed);
  }
  void finished(graph::Slot<E>& slot) override {
    // acq_rel: a release sequence over the parts.
    if (slot.blocks_left.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    ChipTask<E>& task = of(slot);
    for (std::uint32_t i = 0; i < task.outputs.size(); ++i) {
      expect(task.outputs[i]->load() != 0, "a task ended whose blocks have not all run");
      for (std::uint32_t j = i - i % slot.parts(); j < i; ++j)
        expect(task.outputs[j]->load() != task.outputs[i]->load(), "two parts of a block ran on one core");
    }
    end(task);
  }

  std::vector<std::unique_ptr<ChipTask<E>>>& tasks() { return tasks_; }
  const std::vector<ChipTask<E>*>& first() const { return first_; }
  std::uint32_t left() const { return left_.load(std::memory_order_relaxed); }
  void wait() { done_.park(); }

  std::uint64_t cost_ = 0;  // of each part
  bool pace_ = false;       // each first task is submitted when the one before has ended

 protected:
  static ChipTask<E>& of(graph::Slot<E>& slot) { return *static_cast<ChipTask<E>*>(slot.rank); }
  void end(ChipTask<E>& task) {
    for (ChipTask<E>* next : task.then) submit(*next);
    if (pace_) paced_.unpark();
    // acq_rel: a release sequence over the tasks; the last one's unpark publishes all of them.
    if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) done_.unpark();
  }

  chip::Device<E> device_;
  std::vector<std::unique_ptr<ChipTask<E>>> tasks_;
  std::vector<ChipTask<E>*> first_;
  std::vector<std::unique_ptr<typename E::template Plain<std::uint32_t>>> core_of_;  // runs on each core
  typename E::template Atomic<std::uint32_t> parts_started_{0};
  typename E::template Atomic<std::uint32_t> left_{0};
  typename E::Parker done_;
  typename E::Parker paced_;
};

}  // namespace heddle::lab
