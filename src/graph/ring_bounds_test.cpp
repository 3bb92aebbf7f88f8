// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <vector>

#include "base/host_environment.hpp"
#include "graph/ring.hpp"

namespace heddle::graph {
namespace {

using E = base::HostEnvironment;
using TestRing = Ring<E>;
using TestSlot = Slot<E>;

constexpr std::uint64_t kib = 1024;

// A task that has just been submitted, as the orchestrator leaves its slot.
TestSlot& take(TestRing& ring, const RingRequest& request) {
  TestSlot& slot = ring.take(request, nullptr);
  slot.fanout.store(nullptr, std::memory_order_relaxed);
  slot.pins.store(0, std::memory_order_relaxed);
  slot.edge_count = 0;
  slot.destroy = nullptr;
  slot.flags = request.heap_bytes > 0 ? slot_owns_memory : 0U;
  return slot;
}
void end(TestSlot& slot) {
  complete(slot, [](TestSlot&) {}, [](TestSlot&) {});
}
// No scope is open any more.
bool drain(TestRing& ring) {
  ring.set_open_from(ring.head());
  ring.advance();
  return ring.empty();
}

TEST(RingBounds, AnEmptyRingServesItsWholeCapacityWhereverItIsParked) {
  // Five KiB are no whole number of pages: the heap's end lies inside of one.
  TestRing ring({3, 5 * kib, 6}, 1);
  for (std::uint64_t heap = 0; heap <= 5; ++heap) {
    for (std::uint64_t edges = 0; edges <= 6; ++edges) {
      end(take(ring, {heap * kib, edges}));
      ASSERT_TRUE(drain(ring));
      const RingRequest whole{5 * kib, 6};
      ASSERT_EQ(ring.lacking(whole), Resource::none) << heap << " KiB and " << edges << " edges before";
      TestSlot& slot = take(ring, whole);
      std::memset(slot.memory, 0x5a, whole.heap_bytes);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(slot.memory) % heap_alignment, 0U);
      EXPECT_EQ(slot.memory[whole.heap_bytes - 1], std::byte{0x5a});
      for (std::uint32_t i = 0; i < 6; ++i) slot.edge(i).consumer = &slot;
      EXPECT_EQ(ring.lacking({kib, 0}), Resource::heap);
      EXPECT_EQ(ring.lacking({0, 1}), Resource::dep_pool);
      EXPECT_EQ(ring.lacking({0, 0}), Resource::none) << "slots are left";
      end(slot);
      ASSERT_TRUE(drain(ring));
    }
  }
}

TEST(RingBounds, TheScarceResourceIsNamedAndNothingIsTaken) {
  TestRing ring({2, 4 * kib, 4}, 0);
  TestSlot& first = take(ring, {3 * kib, 3});
  EXPECT_EQ(ring.lacking({2 * kib, 0}), Resource::heap);
  EXPECT_EQ(ring.lacking({0, 2}), Resource::dep_pool);
  EXPECT_EQ(ring.heap_used(), 3 * kib);
  EXPECT_EQ(ring.edges_used(), 3U);
  TestSlot& second = take(ring, {kib, 1});
  EXPECT_EQ(ring.lacking({0, 0}), Resource::task_window);
  EXPECT_EQ(second.memory, first.memory + 3 * kib);
  EXPECT_EQ(ring.exceeding({4 * kib, 4}), Resource::none);
  EXPECT_EQ(ring.exceeding({5 * kib, 0}), Resource::heap);
  EXPECT_EQ(ring.exceeding({0, 5}), Resource::dep_pool);
  end(first);
  end(second);
}

TEST(RingBounds, TasksRetireInOrderOnceCompleteUnusedAndOutOfTheirScope) {
  TestRing ring({8, 8 * kib, 8}, 0);
  std::vector<TestSlot*> slots;
  for (int i = 0; i < 4; ++i) slots.push_back(&take(ring, {kib, 1}));
  ring.set_open_from(TestRing::serial_of(slots[3]->ref));  // only the last belongs to an open scope
  end(*slots[1]);
  EXPECT_FALSE(ring.advance()) << "the oldest still runs";
  slots[0]->pins.store(1, std::memory_order_relaxed);
  end(*slots[0]);
  EXPECT_FALSE(ring.advance()) << "a reader still uses the oldest's memory";
  slots[0]->pins.store(0, std::memory_order_relaxed);
  EXPECT_TRUE(ring.advance());
  EXPECT_EQ(ring.tail(), TestRing::serial_of(slots[2]->ref));
  EXPECT_EQ(ring.heap_used(), 2 * kib);
  EXPECT_EQ(ring.edges_used(), 2U);
  end(*slots[2]);
  end(*slots[3]);
  EXPECT_TRUE(ring.advance());
  EXPECT_EQ(ring.tail(), TestRing::serial_of(slots[3]->ref)) << "its scope is still open";
  EXPECT_TRUE(drain(ring));
}

TEST(RingBounds, WhatOnlyRunningTasksHoldIsLackingNowAndWhatAScopeHoldsForGood) {
  TestRing ring({2, 4 * kib, 4}, 0);
  TestSlot& running = take(ring, {3 * kib, 3});
  ring.set_open_from(ring.head());
  EXPECT_EQ(ring.lacking({2 * kib, 0}), Resource::heap);
  EXPECT_EQ(ring.lacking_for_good({4 * kib, 4}), Resource::none) << "it can retire";
  TestSlot& held = take(ring, {kib, 1});
  ring.set_open_from(TestRing::serial_of(held.ref));
  EXPECT_EQ(ring.lacking({0, 0}), Resource::task_window);
  EXPECT_EQ(ring.lacking_for_good({0, 0}), Resource::none);
  EXPECT_EQ(ring.lacking_for_good({3 * kib, 3}), Resource::none);
  EXPECT_EQ(ring.lacking_for_good({4 * kib, 0}), Resource::heap);
  EXPECT_EQ(ring.lacking_for_good({0, 4}), Resource::dep_pool);
  EXPECT_EQ(ring.heap_held(), kib);
  EXPECT_EQ(ring.edges_held(), 1U);
  end(running);
  end(held);
}

TEST(RingBounds, NoTwoTasksShareAnIdThoughTheyShareSlots) {
  TestRing first({3, kib, 1}, 1), second({3, kib, 1}, 3);
  std::set<TaskRef> ids;
  std::set<TestSlot*> slots;
  for (int i = 0; i < 100; ++i) {
    for (TestRing* ring : {&first, &second}) {
      TestSlot& slot = take(*ring, {});
      EXPECT_TRUE(ids.insert(slot.ref).second);
      EXPECT_EQ(TestRing::ring_of(slot.ref), ring->index());
      EXPECT_EQ(&ring->slot(TestRing::serial_of(slot.ref)), &slot);
      slots.insert(&slot);
      end(slot);
      ASSERT_TRUE(drain(*ring));
    }
  }
  EXPECT_LE(slots.size(), 8U) << "slots are reused";
}

TEST(RingBounds, SizingFindsTheMostThatScopesHoldAndLeavesTheRingAsItWas) {
  TestRing ring({4, 4 * kib, 4}, 0);
  TestSlot& held = take(ring, {2 * kib, 0});
  ring.set_open_from(TestRing::serial_of(held.ref));
  ring.begin_pretending();
  for (int i = 0; i < 9; ++i) ring.pretend({kib, 0});  // with the one that is held: 10 tasks, 11 KiB
  ring.set_open_from(ring.head());                     // that scope ends
  for (int i = 0; i < 12; ++i) {                       // each in a scope of its own
    ring.pretend({0, 0});
    ring.set_open_from(ring.head());
  }
  EXPECT_EQ(ring.needed_window(), 10U);
  EXPECT_EQ(ring.needed_heap(), 11 * kib);
  ring.stop_pretending();
  EXPECT_EQ(ring.head(), TestRing::serial_of(held.ref) + 1);
  EXPECT_EQ(ring.heap_used(), 2 * kib);
  end(held);
  EXPECT_TRUE(drain(ring));
}

}  // namespace
}  // namespace heddle::graph
