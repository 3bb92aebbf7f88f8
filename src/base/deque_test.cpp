// SPDX-License-Identifier: Apache-2.0
#include "base/deque.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/host_environment.hpp"
#include "base/marks.hpp"
#include "base/mutant.hpp"
#include "base/sanitizer.hpp"
#include "lab/lab_environment.hpp"
#include "lab/mutant_search.hpp"

namespace heddle::base {
namespace {

using lab::LabEnvironment;
using lab::Machine;
using lab::Outcome;

// An owner that pushes all items and takes some back, and thieves that take the rest. Every item carries a payload
// that only the order of the deque makes visible, and counts how often it was taken.
template <Environment E>
class Scenario {
 public:
  Scenario(std::uint32_t items, std::size_t capacity) : deque_(capacity), items_(items), left_(items) {}

  void own() {
    for (std::uint32_t index = 0; index < items_.size(); ++index) {
      items_[index].payload.store(index + 1);
      while (!deque_.push(&items_[index])) take(deque_.pop());
      if (index % 3 == 2) take(deque_.pop());
    }
    while (Item* const item = deque_.pop()) take(item);
  }

  void thieve() {
    for (std::uint32_t n = 0; left_.load(std::memory_order_acquire) != 0; ++n) {
      if (Item* const item = deque_.steal()) {
        take(item);
      } else {
        E::pause(n);
      }
    }
  }

  // Items that were not taken exactly once, or seen without their payload. After all agents ended.
  std::uint32_t wrong() {
    std::uint32_t count = 0;
    for (std::uint32_t index = 0; index < items_.size(); ++index) {
      if (items_[index].taken.load() != 1 || items_[index].seen.load() != index + 1) ++count;
    }
    return count;
  }

 private:
  struct Item {
    typename E::template Plain<std::uint32_t> payload;
    typename E::template Plain<std::uint32_t> seen;
    typename E::template Plain<std::uint32_t> taken;
  };

  void take(Item* item) {
    if (item == nullptr) return;
    item->seen.store(item->payload.load());
    item->taken.store(item->taken.load() + 1);
    left_.fetch_sub(1, std::memory_order_acq_rel);  // acq_rel: partner is the acquire in thieve()
  }

  WorkDeque<E, Item*> deque_;
  std::vector<Item> items_;
  typename E::template Atomic<std::uint32_t> left_;
};

template <Environment E>
std::uint32_t wrong_on_threads(std::uint32_t items, std::size_t capacity) {
  Scenario<E> scenario(items, capacity);
  std::vector<std::thread> threads;
  for (int thief = 0; thief < 2; ++thief) threads.emplace_back([&] { scenario.thieve(); });
  scenario.own();
  for (std::thread& thread : threads) thread.join();
  return scenario.wrong();
}

Outcome run_in_lab(Machine& machine) {
  Scenario<LabEnvironment> scenario(10, 4);
  machine.spawn("owner", [&] { scenario.own(); });
  machine.spawn("thief 1", [&] { scenario.thieve(); });
  machine.spawn("thief 2", [&] { scenario.thieve(); });
  Outcome outcome = machine.run();
  if (outcome.finished() && scenario.wrong() != 0) {
    outcome.kind = Outcome::Kind::exception;
    outcome.detail = std::to_string(scenario.wrong()) + " items lost, taken twice or seen without their payload";
  }
  return outcome;
}

Outcome first_failure(std::uint64_t seeds) {
  return lab::first_failure(seeds, run_in_lab, lab::Options{.step_limit = 20'000});
}

TEST(WorkDeque, gives_the_newest_to_its_owner_and_the_oldest_to_thieves) {
  std::array<int, 4> items{};
  WorkDeque<HostEnvironment, int*> deque(4);
  EXPECT_TRUE(deque.empty());
  EXPECT_EQ(deque.pop(), nullptr);
  EXPECT_EQ(deque.steal(), nullptr);
  for (int& item : items) EXPECT_TRUE(deque.push(&item));
  EXPECT_FALSE(deque.push(&items[0]));
  EXPECT_EQ(deque.steal(), &items[0]);
  EXPECT_EQ(deque.pop(), &items[3]);
  EXPECT_EQ(deque.steal(), &items[1]);
  EXPECT_EQ(deque.pop(), &items[2]);
  EXPECT_EQ(deque.pop(), nullptr);
  EXPECT_TRUE(deque.empty());
}

TEST(WorkDeque, refuses_a_capacity_that_is_not_a_power_of_two) {
  using Deque = WorkDeque<HostEnvironment, int*>;
  EXPECT_THROW(Deque(3), std::invalid_argument);
  EXPECT_THROW(Deque(0), std::invalid_argument);
}

TEST(WorkDeque, each_item_is_taken_once_on_real_threads) {
  for (int round = 0; round < 20; ++round) EXPECT_EQ(wrong_on_threads<HostEnvironment>(5000, 16), 0U);
}

TEST(WorkDeque, each_item_is_taken_once_in_the_lab) {
  marks::clear();
  const Outcome outcome = first_failure(3000);
  EXPECT_TRUE(outcome.finished()) << outcome.describe();
  for (const char* const state : {"deque_full", "deque_last_item_lost", "deque_steal_lost"}) {
    EXPECT_TRUE(marks::reached(state)) << state;
  }
}

// Orders that guard an item are needed: without one of them the lab finds a run that is wrong. (What would need loads
// that overtake each other, as the fence in steal(), is beyond the lab's memory model.)
constexpr lab::Mutant faults[] = {
    {"deque_push_publish", "a thief runs a task whose arguments are not written yet"},
    {"deque_steal_acquire", "a thief runs a task whose arguments are not written yet"},
    {"deque_pop_publish", "a thief runs a task whose arguments are not written yet"},
    {"deque_pop_fence", "a task runs twice: its owner and a thief both take it"},
};

TEST(WorkDeque, the_lab_catches_each_order_that_is_left_out) {
  for (const lab::Mutant& mutant : faults) {
    const Outcome outcome = lab::find_mutant(mutant, "WorkDeque", 3000, run_in_lab, lab::Options{.step_limit = 20'000});
    EXPECT_EQ(outcome.kind, Outcome::Kind::race) << mutant.place << " " << outcome.describe();
  }
}

#if defined(__x86_64__) && !HEDDLE_TSAN
// The same scenario, the same fault: real x86 cores publish in program order and see nothing.
TEST(WorkDeque, real_threads_do_not_catch_a_dropped_release_that_the_lab_catches) {
  const mutants::Scope fault("deque_push_publish");
  for (int round = 0; round < 20; ++round) EXPECT_EQ(wrong_on_threads<MutantHostEnvironment>(5000, 16), 0U);
  const Outcome outcome = first_failure(100);
  EXPECT_EQ(outcome.kind, Outcome::Kind::race) << outcome.describe();
}
#endif

}  // namespace
}  // namespace heddle::base
