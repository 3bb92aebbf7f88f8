// SPDX-License-Identifier: Apache-2.0
//
// Who waits for which cell of one rank's windows. A waiter registers and then looks at the cell once more; a notifier
// changes the cell and then looks for waiters: one of the two sees the other, whatever the interleaving.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>

#include "base/environment.hpp"
#include "base/lock.hpp"
#include "window/half_wait.hpp"
#include "window/signal.hpp"

namespace heddle::window {

// A registered wait. Lives where the waiter does, from enter() until it is handed to `wake`, or enter() said no.
struct WaitNode {
  heddle::detail::SignalRef signal;
  Compare compare = Compare::eq;
  bool cancelled = false;  // woken because its rank is being cancelled
  bool linked = false;     // under its bucket's lock
  bool deferred = false;   // the condition of a task, not a parked block
  std::int64_t value = 0;
  void* waiter = nullptr;  // the fiber, or the slot of a deferred condition
  const void* task = nullptr;
  std::int64_t block = -1;
  const HalfWait* half = nullptr;  // the cell is a count of the halves of a mixed block, and no signal
  WaitNode* next = nullptr;
};

template <base::Environment E>
class WaitTable {
 public:
  // Registers a wait. False when it need not be waited for: satisfied, or (node.cancelled) the table is closed.
  bool enter(WaitNode& node) {
    Bucket& bucket = bucket_of(node.signal.cell);
    node.cancelled = false;
    {
      const std::lock_guard guard(bucket.lock);
      node.linked = true;
      node.next = bucket.first;
      bucket.first = &node;
      parked_.fetch_add(1, std::memory_order_seq_cst);  // seq_cst: partner is rescan()
      // seq_cst: before the look at the cell below; partner is the look at the count in notified().
      bucket.count.fetch_add(1, E::order("wait_register", std::memory_order_seq_cst));
    }
    // seq_cst: partner is the store in close().
    const bool closed = closed_.load(std::memory_order_seq_cst) != 0;
    if (!closed && !satisfied<E>(node.signal, node.compare, node.value)) return true;
    const std::lock_guard guard(bucket.lock);
    if (!node.linked) {
      E::mark("wait_taken_while_registering");
      return true;  // somebody has taken it and will wake it
    }
    unlink(bucket, node);
    node.cancelled = closed;
    return false;
  }

  // Takes back a wait that was entered, unless somebody has taken it and will wake it: then false.
  bool leave(WaitNode& node) {
    Bucket& bucket = bucket_of(node.signal.cell);
    const std::lock_guard guard(bucket.lock);
    if (!node.linked) return false;
    unlink(bucket, node);
    return true;
  }

  // After a change of the cell: hands every satisfied wait on it to `wake`.
  template <class Wake>
  void notified(const void* cell, Wake&& wake) {
    Bucket& bucket = bucket_of(cell);
    // seq_cst: after the change of the cell; partner is the registration in enter().
    if (bucket.count.load(std::memory_order_seq_cst) == 0) return;
    sweep(bucket, wake, [&](const WaitNode& node) {
      return node.signal.cell == cell && satisfied<E>(node.signal, node.compare, node.value);
    });
  }

  // After ordinary writes to [begin, end): the same for every cell in it. True when any wait was handed over.
  template <class Wake>
  bool rescan(const std::byte* begin, const std::byte* end, Wake&& wake) {
    if (parked() == 0) return false;
    bool any = false;
    for (Bucket& bucket : buckets_) {
      if (bucket.count.load(std::memory_order_seq_cst) == 0) continue;  // seq_cst: as in notified()
      any |= sweep(bucket, wake, [&](const WaitNode& node) {
        const auto* cell = static_cast<const std::byte*>(node.signal.cell);
        return cell >= begin && cell < end && satisfied<E>(node.signal, node.compare, node.value);
      });
    }
    return any;
  }
  template <class Wake>
  bool rescan(Wake&& wake) {
    return rescan(nullptr, reinterpret_cast<const std::byte*>(UINTPTR_MAX), wake);
  }

  // Hands every wait to `wake` as if it had been satisfied.
  template <class Wake>
  void release_all(Wake&& wake) {
    for (Bucket& bucket : buckets_) sweep(bucket, wake, [](const WaitNode&) { return true; });
  }

  // Cancels: every wait is handed to `wake` with `cancelled` set, and none is accepted until reopen().
  template <class Wake>
  void close(Wake&& wake) {
    closed_.store(1, std::memory_order_seq_cst);  // seq_cst: partner is the load in enter()
    for (Bucket& bucket : buckets_) {
      sweep(bucket, wake, [](WaitNode& node) {
        node.cancelled = true;
        return true;
      });
    }
  }
  void reopen() { closed_.store(0, std::memory_order_seq_cst); }

  // seq_cst: partner is the registration in enter().
  std::uint32_t parked() const { return parked_.load(std::memory_order_seq_cst); }

  // Each registered wait, under its bucket's lock.
  template <class Visit>
  void for_each(Visit&& visit) {
    for (Bucket& bucket : buckets_) {
      const std::lock_guard guard(bucket.lock);
      for (WaitNode* node = bucket.first; node != nullptr; node = node->next) visit(*node);
    }
  }

 private:
  static constexpr std::size_t bucket_count = 64;
  struct alignas(64) Bucket {
    base::SpinLock<E> lock;
    typename E::template Atomic<std::uint32_t> count{0};
    WaitNode* first = nullptr;
  };

  // Cells stand close together: neighbours go to different buckets. By offset in the page, so that a lab run does not
  // depend on where memory lies.
  Bucket& bucket_of(const void* cell) {
    return buckets_[(reinterpret_cast<std::uintptr_t>(cell) & 0xfffU) / 4 % bucket_count];
  }

  void unlink(Bucket& bucket, WaitNode& node) {
    WaitNode** place = &bucket.first;
    while (*place != &node) place = &(*place)->next;
    *place = node.next;
    node.linked = false;
    bucket.count.fetch_sub(1, std::memory_order_relaxed);  // relaxed: too high a count costs a look, no more
    parked_.fetch_sub(1, std::memory_order_relaxed);
  }

  template <class Wake, class Chosen>
  bool sweep(Bucket& bucket, Wake&& wake, Chosen&& chosen) {
    WaitNode* taken = nullptr;
    {
      const std::lock_guard guard(bucket.lock);
      for (WaitNode** place = &bucket.first; *place != nullptr;) {
        WaitNode* node = *place;
        if (!chosen(*node)) {
          place = &node->next;
          continue;
        }
        unlink(bucket, *node);
        node->next = taken;
        taken = node;
      }
    }
    const bool any = taken != nullptr;
    while (taken != nullptr) {
      WaitNode* next = taken->next;  // the node goes with its waiter
      wake(*taken);
      taken = next;
    }
    return any;
  }

  Bucket buckets_[bucket_count];
  typename E::template Atomic<std::uint32_t> parked_{0};
  typename E::template Atomic<std::uint32_t> closed_{0};
};

}  // namespace heddle::window
