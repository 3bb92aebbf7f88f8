// SPDX-License-Identifier: Apache-2.0
//
// Retirement: memory of a ring goes to the next task only when its last user is done with it.
#include "graph/ring.hpp"

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

// An orchestrator that submits pairs of tasks: one with an allocation, which one agent writes, and one that uses it,
// which another agent reads and completes. The heap has room for four allocations, the window for more.
template <base::Environment E>
class Pairs {
 public:
  explicit Pairs(std::uint32_t pairs)
      : ring_({.task_window = 16, .heap_bytes = places * heap_alignment, .dep_pool = 16}, 0),
        written_(pairs),
        ready_(pairs) {}

  void submit() {
    for (std::uint32_t pair = 0; pair < written_.size(); ++pair) {
      Slot<E>& writer = take({heap_alignment, 0}, slot_owns_memory);
      writer.pins.fetch_add(1, std::memory_order_relaxed);  // relaxed: the reader is not published yet
      writer.fan_in.store(0, std::memory_order_relaxed);
      Slot<E>& reader = take({0, 1}, slot_retains);
      reader.edge_count = 1;
      reader.next_block.store(pair);
      reader.memory = writer.memory;
      reader.fan_in.store(2, std::memory_order_relaxed);  // relaxed: published by the link
      Edge<E>& edge = reader.edge(0);
      edge.consumer = &reader;
      edge.retained = &writer;
      const bool linked = link(writer, edge);
      written_[pair].store(&writer, std::memory_order_release);  // release: partner is the acquire in write()
      if (satisfy(reader, linked ? 1 : 2)) publish(reader);
    }
  }

  void write() {
    for (std::uint32_t pair = 0; pair < written_.size(); ++pair) {
      Slot<E>& slot = await(written_[pair]);
      heap_[place(slot)].store(pair + 1);
      complete(slot, [this](Slot<E>& reader) { publish(reader); }, [](Slot<E>&) {});
    }
  }

  void read() {
    for (std::uint32_t pair = 0; pair < ready_.size(); ++pair) {
      Slot<E>& slot = await(ready_[pair]);
      expect(heap_[place(slot)].load() == pair + 1, "an allocation was overwritten while it was in use");
      complete(slot, [](Slot<E>&) {}, [](Slot<E>&) {});
    }
  }

 private:
  static constexpr std::uint32_t places = 4;
  using SlotCell = typename E::template Atomic<Slot<E>*>;

  Slot<E>& take(const RingRequest& request, std::uint32_t flags) {
    for (std::uint32_t n = 0; ring_.lacking(request) != Resource::none; ++n) {
      ring_.set_open_from(ring_.head());
      if (ring_.advance()) continue;
      E::mark("ring_full");
      E::pause(n);
    }
    Slot<E>& slot = ring_.take(request, nullptr);
    slot.fanout.store(nullptr, std::memory_order_relaxed);  // relaxed: the slot is published later
    slot.pins.store(0, std::memory_order_relaxed);
    slot.flags = flags;
    slot.edge_count = 0;
    return slot;
  }
  void publish(Slot<E>& reader) {
    ready_[reader.next_block.load()].store(&reader,
                                           std::memory_order_release);  // release: partner is the acquire in await()
  }
  static Slot<E>& await(SlotCell& cell) {
    for (std::uint32_t n = 0;; ++n) {
      if (Slot<E>* slot = cell.load(std::memory_order_acquire); slot != nullptr) return *slot;
      E::pause(n);
    }
  }
  std::size_t place(const Slot<E>& slot) {
    return static_cast<std::size_t>(slot.memory - ring_.heap_base()) / heap_alignment % places;
  }

  Ring<E> ring_;
  std::vector<SlotCell> written_;  // by pair: its tasks, once they may run
  std::vector<SlotCell> ready_;
  std::array<typename E::template Plain<std::uint32_t>, places> heap_;
};

Outcome in_lab(Machine& machine) {
  Pairs<LabEnvironment> pairs(12);
  machine.spawn("orchestrator", [&] { pairs.submit(); });
  machine.spawn("writer", [&] { pairs.write(); });
  machine.spawn("reader", [&] { pairs.read(); });
  return machine.run();
}

template <base::Environment E>
void on_threads(std::uint32_t count) {
  Pairs<E> pairs(count);
  std::thread writer([&] { pairs.write(); });
  std::thread reader([&] { pairs.read(); });
  pairs.submit();
  writer.join();
  reader.join();
}

const lab::Options options{.step_limit = 50'000};

TEST(Ring, memory_is_handed_out_again_only_when_its_last_user_is_done_in_the_lab) {
  std::set<std::string> reached;
  const Outcome outcome = lab::first_failure(
      lab::seeds(3000),
      [&](Machine& machine) {
        Outcome one = in_lab(machine);
        reached.insert(one.marks.begin(), one.marks.end());
        return one;
      },
      options);
  EXPECT_TRUE(outcome.finished()) << outcome.describe();
  for (const char* const state : {"ring_full", "ring_wrapped"}) EXPECT_EQ(reached.count(state), 1U) << state;
}

TEST(Ring, memory_is_handed_out_again_only_when_its_last_user_is_done_on_real_threads) {
  on_threads<HostEnvironment>(20'000);
}

constexpr lab::Mutant faults[] = {
    {"unpin", "a tensor's memory is handed out again while a reader is not done"},
    {"retire_acquire", "a tensor's memory is handed out again while a reader is not done"},
};

TEST(Ring, the_lab_catches_each_order_that_is_left_out) {
  for (const lab::Mutant& mutant : faults) {
    const Outcome outcome = lab::find_mutant(mutant, "Ring", 5000, in_lab, options);
    EXPECT_EQ(outcome.kind, Outcome::Kind::race) << mutant.place << " " << outcome.describe();
  }
}

#if defined(__x86_64__) && !HEDDLE_TSAN
// The same scenario, the same faults: real x86 cores publish in program order and see nothing.
TEST(Ring, real_threads_do_not_catch_dropped_orders_that_the_lab_catches) {
  for (const char* const place : {"unpin", "retire_acquire"}) {
    const base::mutants::Scope fault(place);
    on_threads<MutantHostEnvironment>(20'000);
    const Outcome outcome = lab::first_failure(5000, in_lab, options);
    EXPECT_EQ(outcome.kind, Outcome::Kind::race) << place << " " << outcome.describe();
  }
}
#endif

}  // namespace
}  // namespace heddle::graph
