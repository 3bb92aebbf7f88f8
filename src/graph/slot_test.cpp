// SPDX-License-Identifier: Apache-2.0
//
// Wiring: tasks that complete in several agents while an orchestrator links consumers to them.
#include "graph/slot.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/host_environment.hpp"
#include "base/mutant.hpp"
#include "base/sanitizer.hpp"
#include "lab/lab_environment.hpp"
#include "lab/mutant_search.hpp"

namespace heddle::graph {
namespace {

using base::HostEnvironment;
using base::MutantHostEnvironment;
using lab::LabEnvironment;
using lab::Machine;
using lab::Outcome;

void expect(bool condition, const char* what) {
  if (!condition) throw std::runtime_error(what);
}

// `sources` tasks that agents complete, and below each pair of neighbours one consumer, and so on down to a single
// task: a pyramid. Whoever makes a consumer ready runs and completes it at once.
template <base::Environment E>
class Pyramid {
 public:
  explicit Pyramid(std::uint32_t sources) : sources_(sources) {
    for (std::uint32_t width = sources; width > 0; --width) count_ += width;
    tasks_ = std::make_unique<Task[]>(count_);
    for (std::uint32_t i = 0; i < count_; ++i) {
      Slot<E>& slot = tasks_[i].slot;
      slot.rank = &tasks_[i];
      slot.edges = tasks_[i].edges;
      slot.edge_mask = 1;
    }
  }

  std::uint32_t sources() const { return sources_; }

  // An agent that completes one of the tasks that wait for nothing.
  void complete_source(std::uint32_t index) { run(tasks_[index].slot, 0); }

  // The orchestrator. It submits each consumer after its producers, in the order of the rows.
  void link_consumers() {
    std::uint32_t above = 0;
    std::uint32_t next = sources_;
    for (std::uint32_t width = sources_ - 1; width > 0; --width) {
      for (std::uint32_t i = 0; i < width; ++i) link_one(next + i, {above + i, above + i + 1});
      above = next;
      next += width;
    }
    // A task that is found complete needs no edge: what it did is visible.
    const Task& last = tasks_[count_ - 1];
    for (std::uint32_t n = 0; !last.slot.complete(); ++n) E::pause(n);
    expect(last.result.load() != 0, "a task was found complete before it had a result");
  }

  // After all agents have ended.
  std::string wrong() {
    for (std::uint32_t i = 0; i < count_; ++i) {
      if (tasks_[i].runs.load() != 1)
        return "task " + std::to_string(i) + " ran " + std::to_string(tasks_[i].runs.load()) + " times";
    }
    return tasks_[count_ - 1].result.load() == (std::uint64_t{1} << (sources_ - 1)) ? "" : "the result is wrong";
  }

 private:
  struct Task {
    Slot<E> slot;
    Edge<E> edges[2];
    Task* producers[2] = {};
    typename E::template Plain<std::uint64_t> result;
    typename E::template Plain<std::uint32_t> runs;
  };

  void link_one(std::uint32_t index, std::array<std::uint32_t, 2> producers) {
    Task& task = tasks_[index];
    task.slot.next_block.store(index);
    task.slot.edge_count = 2;
    task.slot.fan_in.store(3, std::memory_order_relaxed);  // relaxed: published by the links
    std::uint32_t satisfied = 1;
    for (std::uint32_t i = 0; i < 2; ++i) {
      task.producers[i] = &tasks_[producers[i]];
      Edge<E>& edge = task.slot.edge(i);
      edge.consumer = &task.slot;
      edge.retained = nullptr;
      if (!link(task.producers[i]->slot, edge)) {
        E::mark("link_was_too_late");
        ++satisfied;
      }
    }
    if (satisfy(task.slot, satisfied)) {
      E::mark("ready_by_the_orchestrator");
      run(task.slot, index);
    }
  }

  // A pyramid of results: Pascal's triangle, without its rim.
  void run(Slot<E>& slot, std::uint32_t index) {
    Task& task = *static_cast<Task*>(slot.rank);
    expect(index < sources_ || slot.next_block.load() == index, "what the orchestrator wrote was not seen");
    task.runs.store(task.runs.load() + 1);
    std::uint64_t sum = 0;
    for (Task* producer : task.producers) {
      if (producer == nullptr) continue;
      const std::uint64_t value = producer->result.load();
      expect(value != 0, "a consumer ran before its producer");
      sum += value;
    }
    task.result.store(task.producers[0] == nullptr ? 1 : sum);
    complete(slot, [this](Slot<E>& consumer) { run(consumer, consumer.next_block.load()); }, [](Slot<E>&) {});
  }

  std::uint32_t sources_;
  std::uint32_t count_ = 0;
  std::unique_ptr<Task[]> tasks_;
};

Outcome in_lab(Machine& machine) {
  Pyramid<LabEnvironment> pyramid(4);
  machine.spawn("orchestrator", [&] { pyramid.link_consumers(); });
  for (std::uint32_t i = 0; i < pyramid.sources(); ++i)
    machine.spawn("worker " + std::to_string(i), [&pyramid, i] { pyramid.complete_source(i); });
  Outcome outcome = machine.run();
  if (outcome.finished() && !pyramid.wrong().empty()) {
    outcome.kind = Outcome::Kind::exception;
    outcome.detail = pyramid.wrong();
  }
  return outcome;
}

template <base::Environment E>
void on_threads(int times) {
  for (int i = 0; i < times; ++i) {
    Pyramid<E> pyramid(40);
    std::thread other([&] {
      for (std::uint32_t source = 0; source < pyramid.sources(); source += 2) pyramid.complete_source(source);
    });
    std::thread another([&] {
      for (std::uint32_t source = 1; source < pyramid.sources(); source += 2) pyramid.complete_source(source);
    });
    pyramid.link_consumers();
    other.join();
    another.join();
    ASSERT_EQ(pyramid.wrong(), "");
  }
}

const lab::Options options{.step_limit = 50'000};

TEST(Wiring, each_consumer_is_made_ready_once_and_after_its_producers_in_the_lab) {
  std::set<std::string> reached;
  const Outcome outcome = lab::first_failure(
      lab::seeds(10'000),
      [&](Machine& machine) {
        Outcome one = in_lab(machine);
        reached.insert(one.marks.begin(), one.marks.end());
        return one;
      },
      options);
  EXPECT_TRUE(outcome.finished()) << outcome.describe();
  for (const char* const state : {"link_was_too_late", "ready_by_the_orchestrator"})
    EXPECT_TRUE(reached.count(state) == 1) << state;
}

TEST(Wiring, each_consumer_is_made_ready_once_and_after_its_producers_on_real_threads) {
  on_threads<HostEnvironment>(300);
}

constexpr lab::Mutant faults[] = {
    {"fan_in_drop", "a task starts and reads stale inputs of a producer that another core completed"},
    {"link_publish", "a completing core follows an edge that is not written yet"},
    {"slot_close", "a task that is submitted after its producer completed reads stale inputs"},
    {"slot_complete_acquire", "a task is taken for complete before its effects are visible"},
};

TEST(Wiring, the_lab_catches_each_order_that_is_left_out) {
  for (const lab::Mutant& mutant : faults) {
    const Outcome outcome = lab::find_mutant(mutant, "Wiring", 5000, in_lab, options);
    EXPECT_EQ(outcome.kind, Outcome::Kind::race) << mutant.place << " " << outcome.describe();
  }
}

#if defined(__x86_64__) && !HEDDLE_TSAN
// The same scenario, the same faults: real x86 cores publish in program order and see nothing.
TEST(Wiring, real_threads_do_not_catch_dropped_orders_that_the_lab_catches) {
  for (const char* const place : {"fan_in_drop", "link_publish", "slot_close"}) {
    const base::mutants::Scope fault(place);
    on_threads<MutantHostEnvironment>(100);
    const Outcome outcome = lab::first_failure(1000, in_lab, options);
    EXPECT_EQ(outcome.kind, Outcome::Kind::race) << place << " " << outcome.describe();
  }
}
#endif

}  // namespace
}  // namespace heddle::graph
