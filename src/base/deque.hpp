// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <type_traits>

#include "base/environment.hpp"

namespace heddle::base {

// A bounded work-stealing deque (the algorithm of Chase and Lev on a fixed array). One agent, the owner, pushes and
// pops at the bottom, newest first; any agent steals at the top, oldest first. Each item is handed out once, and what
// was written before push(item) is visible to whoever gets the item.
//
// top_ only grows, and only by compare-and-swap: an index belongs to whoever moved top_ past it. bottom_ is written by
// the owner alone. Items in flight are those with top_ <= index < bottom_.
template <Environment E, class Item>
class WorkDeque {
  static_assert(std::is_pointer_v<Item>, "items are pointers: null means that there is none");

 public:
  // `capacity` is a power of two. Throws std::invalid_argument otherwise.
  explicit WorkDeque(std::size_t capacity) : mask_(static_cast<std::int64_t>(capacity) - 1) {
    if (!std::has_single_bit(capacity)) throw std::invalid_argument("capacity of a work deque: not a power of two");
    slots_ = std::make_unique<Slot[]>(capacity);
  }
  WorkDeque(const WorkDeque&) = delete;
  WorkDeque& operator=(const WorkDeque&) = delete;

  // Owner only. False when the deque is full.
  bool push(Item item) {
    const std::int64_t bottom = bottom_.load(std::memory_order_relaxed);  // relaxed: own value
    // acquire: partner is the compare-and-swap in steal(), so that the thief has read a slot before it is written anew.
    const std::int64_t top = top_.load(std::memory_order_acquire);
    if (bottom - top > mask_) {
      E::mark("deque_full");
      return false;
    }
    slot(bottom).store(item, std::memory_order_relaxed);  // relaxed: published by bottom_
    // release: partner is the acquire of bottom_ in steal(); publishes the slot and the item's contents.
    bottom_.store(bottom + 1, E::order("deque_push_publish", std::memory_order_release));
    return true;
  }

  // Owner only. The newest item, or null.
  Item pop() {
    const std::int64_t bottom = bottom_.load(std::memory_order_relaxed) - 1;  // relaxed: own value
    // release: a thief that reads this value of bottom_ gets an item pushed earlier, and the order must reach it
    // through this store. Partner is the acquire of bottom_ in steal().
    bottom_.store(bottom, E::order("deque_pop_publish", std::memory_order_release));
    // seq_cst: partner is the fence in steal(). Either the thief sees the lowered bottom_, or top_ as read here already
    // counts its claim.
    E::fence(E::order("deque_pop_fence", std::memory_order_seq_cst));
    const std::int64_t top = top_.load(std::memory_order_relaxed);  // relaxed: ordered by the fence
    if (top > bottom) {
      bottom_.store(bottom + 1, std::memory_order_relaxed);  // relaxed: there is no item below it to publish
      return nullptr;
    }
    Item item = slot(bottom).load(std::memory_order_relaxed);  // relaxed: written by this agent
    if (top == bottom) {
      // The last item: contend for it with the thieves. seq_cst: partner is the compare-and-swap in steal().
      std::int64_t expected = top;
      if (!top_.compare_exchange_strong(expected, top + 1, std::memory_order_seq_cst, std::memory_order_relaxed)) {
        E::mark("deque_last_item_lost");
        item = nullptr;
      }
      bottom_.store(bottom + 1, std::memory_order_relaxed);  // relaxed: as above
    }
    return item;
  }

  // Any agent. The oldest item; null when there is none, or when another agent was faster.
  Item steal() {
    std::int64_t top = top_.load(std::memory_order_acquire);  // acquire: partner is the compare-and-swap of a thief
    // seq_cst: partner is the fence in pop(), see there.
    E::fence(std::memory_order_seq_cst);
    // acquire: partner is the release of bottom_ in push() and pop().
    const std::int64_t bottom = bottom_.load(E::order("deque_steal_acquire", std::memory_order_acquire));
    if (top >= bottom) return nullptr;
    const Item item = slot(top).load(std::memory_order_relaxed);  // relaxed: void unless the claim below succeeds
    // seq_cst: one total order of claims; its release part is the partner of the acquire of top_ in push().
    if (!top_.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst, std::memory_order_relaxed)) {
      E::mark("deque_steal_lost");
      return nullptr;
    }
    return item;
  }

  // A hint: how many items there are, and which is the oldest (its index grows with every item that is handed out at
  // the top).
  struct Glance {
    std::int64_t oldest = 0;
    std::int64_t count = 0;
  };
  Glance glance() const {
    // relaxed: nothing is read on the strength of this answer.
    const std::int64_t top = top_.load(std::memory_order_relaxed);
    return {top, bottom_.load(std::memory_order_relaxed) - top};
  }

  // A hint: exact only for the owner while nobody steals.
  bool empty() const {
    // relaxed: nothing is read on the strength of this answer.
    return bottom_.load(std::memory_order_relaxed) <= top_.load(std::memory_order_relaxed);
  }

 private:
  using Slot = typename E::template Atomic<Item>;

  Slot& slot(std::int64_t index) { return slots_[static_cast<std::size_t>(index & mask_)]; }

  // Thieves write top_, the owner writes bottom_: each on a line of its own.
  alignas(64) typename E::template Atomic<std::int64_t> top_{0};
  alignas(64) typename E::template Atomic<std::int64_t> bottom_{0};
  alignas(64) std::int64_t mask_;
  std::unique_ptr<Slot[]> slots_;
};

}  // namespace heddle::base
