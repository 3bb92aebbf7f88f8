// SPDX-License-Identifier: Apache-2.0
// The plain threads of the floors: the caller and one helper, bound to a CPU each, spinning between two runs.
#pragma once

#include <immintrin.h>

#include <atomic>
#include <functional>
#include <thread>
#include <utility>

#include "common/harness.hpp"

namespace heddle::bench {

/// A barrier of `thread_count` threads that spins, and gives its CPU away when the other one is long in coming.
class SpinBarrier {
 public:
  void wait() {
    const unsigned phase = phase_.load(std::memory_order_relaxed);  // cannot move before this thread arrives
    // Pairs with itself: the last to arrive sees what the others wrote before.
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == thread_count) {
      arrived_.store(0, std::memory_order_relaxed);
      phase_.store(phase + 1, std::memory_order_release);  // pairs with the acquire below
      return;
    }
    for (int spins = 0; phase_.load(std::memory_order_acquire) == phase; ++spins) {
      if (spins % spins_before_yield == spins_before_yield - 1)
        std::this_thread::yield();
      else
        _mm_pause();
    }
  }

 private:
  static constexpr int spins_before_yield = 4'096;
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) std::atomic<unsigned> phase_{0};
};

/// Runs `body(thread)` on both threads, and returns when both are through.
class Team {
 public:
  Team() {
    helper_ = std::thread([this] {
      bind_thread(1);
      end_.wait();  // the helper reads the process's CPUs before the caller gives up its own
      for (;;) {
        start_.wait();
        if (!body_) return;
        body_(1);
        end_.wait();
      }
    });
    end_.wait();
    bind_thread(0);
  }
  ~Team() {
    body_ = nullptr;
    start_.wait();
    helper_.join();
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  void run(std::function<void(int)> body) {
    body_ = std::move(body);
    start_.wait();
    body_(0);
    end_.wait();
  }

  /// A barrier for the use of `body`.
  SpinBarrier& barrier() { return inner_; }

 private:
  SpinBarrier start_, end_, inner_;
  std::function<void(int)> body_;  ///< written by the caller between `end_` and `start_` only
  std::thread helper_;
};

}  // namespace heddle::bench
