// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <heddle/types.hpp>
#include <mutex>

#include "base/lock.hpp"
#include "chip/faulty.hpp"
#include "graph/slot.hpp"

namespace heddle::chip {

// The shapes of a block, in the order in which they are served: the wider ones would be starved by the narrower ones.
inline constexpr Cores shapes[] = {mixed_cores, mixed_pair, Cores{0, 2}, cube_core, vector_core};
inline constexpr std::uint32_t shape_count = 5;
inline constexpr std::uint32_t mixed_shape_count = 3;
inline constexpr std::uint32_t no_shape = shape_count;

constexpr std::uint32_t shape_of(Cores cores) noexcept {
  for (std::uint32_t shape = 0; shape < shape_count; ++shape)
    if (shapes[shape] == cores) return shape;
  return no_shape;
}

// Ready tasks, first in, first out. A slot is in at most one queue and is its own room there (base::Work::next): a
// queue holds as many as there are slots, needs no memory, and is never full.
template <base::Environment E>
class ReadyQueue {
 public:
  using Slot = graph::Slot<E>;

  void push(Slot& slot) {
    const std::lock_guard guard(lock_);
    slot.next = nullptr;
    // The fault: a queue that holds two is full, and nobody looks whether it took the task.
    if (faulty<E>("chip_lost_ready_task") && !empty() && first_.load() != last_.load()) return;
    if (first_.load() == nullptr) {
      first_.store(&slot);
    } else {
      last_.load()->next = &slot;
    }
    last_.store(&slot);
    count_.fetch_add(1,
                     std::memory_order_relaxed);  // relaxed: the lock orders, and the fence of whoever looks or pokes
  }

  // For a slot that has blocks left to hand out.
  void push_front(Slot& slot) {
    const std::lock_guard guard(lock_);
    slot.next = first_.load();
    if (slot.next == nullptr) last_.store(&slot);
    first_.store(&slot);
    count_.fetch_add(1, std::memory_order_relaxed);  // relaxed: as above
  }

  Slot* pop() {
    if (empty()) return nullptr;
    const std::lock_guard guard(lock_);
    Slot* slot = first_.load();
    if (slot == nullptr) return nullptr;
    first_.store(static_cast<Slot*>(slot->next));
    count_.fetch_sub(1, std::memory_order_relaxed);  // relaxed: as above
    return slot;
  }

  // A hint, unless a fence stands between it and what the answer decides.
  bool empty() const { return count_.load(std::memory_order_relaxed) == 0; }

  // For reports, when no agent runs.
  template <class F>
  void for_each(F&& visit) const {
    for (const base::Work* work = first_.load(); work != nullptr; work = work->next)
      visit(*static_cast<const Slot*>(work));
  }

 private:
  base::SpinLock<E> lock_;
  typename E::template Plain<Slot*> first_{};
  typename E::template Plain<Slot*> last_{};
  typename E::template Atomic<std::uint32_t> count_{0};
};

}  // namespace heddle::chip
