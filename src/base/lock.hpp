// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/environment.hpp"

namespace heddle::base {

// A lock for critical sections of a few instructions; use it through std::lock_guard. Whoever holds it neither parks,
// nor switches fibers, nor calls foreign code, so that a waiter's spin is bounded by the holder's few instructions.
template <Environment E>
class SpinLock {
 public:
  SpinLock() = default;
  SpinLock(const SpinLock&) = delete;
  SpinLock& operator=(const SpinLock&) = delete;

  void lock() {
    std::uint32_t n = 0;
    while (!try_lock()) {
      do {
        E::pause(n++);
        // relaxed: only waits until try_lock, which orders, is worth another exclusive access to the line.
      } while (held_.load(std::memory_order_relaxed) != 0);
    }
  }

  bool try_lock() {
    // acquire: partner is the release in unlock(); what the last holder wrote is visible to this one.
    return held_.exchange(1, E::order("lock_acquire", std::memory_order_acquire)) == 0;
  }

  void unlock() {
    // release: partner is the acquire in try_lock().
    held_.store(0, E::order("lock_release", std::memory_order_release));
  }

 private:
  typename E::template Atomic<std::uint32_t> held_{0};
};

}  // namespace heddle::base
