// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>

#include "base/lock.hpp"
#include "chip/faulty.hpp"
#include "chip/ready_queue.hpp"
#include "graph/early.hpp"

namespace heddle::chip {

// Tasks that may be placed behind gates. An entry is a hint: it may have become ready, or another task, since. When
// there are more than `room`, the oldest is forgotten: its task is dispatched when it is ready.
template <base::Environment E>
class Candidates {
 public:
  using Slot = graph::Slot<E>;
  static constexpr std::uint32_t room = 64;

  struct Entry {
    Slot* slot = nullptr;
    graph::TaskRef ref = 0;
    std::uint32_t shape = 0;
  };

  void push(Slot& slot) {
    for (;;) {
      {
        const std::lock_guard guard(lock_);
        if (size() < room || !faulty<E>("chip_queue_full_spins")) {
          if (size() == room) {
            E::mark("chip_candidate_forgotten");
            ++first_;
          }
          entries_[last_++ % room].store({&slot, slot.ref, shape_of(slot.cores)});
          count_.store(size(), std::memory_order_relaxed);  // relaxed: the lock orders
          break;
        }
      }
      // The fault: asks again until somebody makes room, who may be the asker itself.
      ask_again<E>("room in the queue of candidates, which is full");
    }
    pushes_.fetch_add(1, std::memory_order_relaxed);  // relaxed: the fence of whoever looks or pokes orders it
  }

  // The oldest entry for which fits(shape), taken out.
  template <class Fits>
  bool take(Entry& out, Fits&& fits) {
    if (empty()) return false;
    const std::lock_guard guard(lock_);
    for (std::uint32_t i = first_; i != last_; ++i) {
      out = entries_[i % room].load();
      if (!fits(out.shape)) continue;
      for (std::uint32_t j = i; j != first_; --j) entries_[j % room].store(entries_[(j - 1) % room].load());
      ++first_;
      count_.store(size(), std::memory_order_relaxed);  // relaxed: as above
      return true;
    }
    return false;
  }

  // Hints.
  bool empty() const { return count_.load(std::memory_order_relaxed) == 0; }
  std::uint32_t pushes() const { return pushes_.load(std::memory_order_relaxed); }

 private:
  std::uint32_t size() const { return last_ - first_; }

  base::SpinLock<E> lock_;
  typename E::template Plain<Entry> entries_[room];
  std::uint32_t first_ = 0;  // with last_: under the lock
  std::uint32_t last_ = 0;
  typename E::template Atomic<std::uint32_t> count_{0};
  typename E::template Atomic<std::uint32_t> pushes_{0};
};

}  // namespace heddle::chip
