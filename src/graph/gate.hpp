// SPDX-License-Identifier: Apache-2.0
//
// Lets another thread look at what an orchestrator keeps, while its program goes on. The orchestrator stands inside its
// gate while it changes anything, and outside while it waits and while the program does other things.
//
//   orchestrator: inside = 1, look at asked; stays out while it is set
//   who looks:    asked + 1, a barrier on every thread of the process, then waits until inside is 0
//
// The orchestrator enters for each submit, who looks comes rarely: so the barrier between the store and the load, which
// one of the two sees the other by, is theirs for both sides (membarrier(2)).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include "base/host_environment.hpp"

namespace heddle::graph {

// Where nobody looks while it runs.
template <base::Environment E>
class Gate {
 public:
  void enter() {}
  void leave() {}
  bool is_inside() const { return false; }
};

template <>
class Gate<base::HostEnvironment> {
 public:
  void enter() noexcept {
    inside_.store(1, std::memory_order_relaxed);          // relaxed: see the barrier
    std::atomic_signal_fence(std::memory_order_seq_cst);  // the compiler's part of it; the machine's is in Look
    // acquire: partner is the release in ~Look(); what was looked at has been read before it changes.
    if (asked_.load(std::memory_order_acquire) != 0) step_back();
  }
  // release: partner is the acquire in Look(); who looks sees all that was changed.
  void leave() noexcept { inside_.store(0, std::memory_order_release); }
  // By the orchestrator itself.
  bool is_inside() const noexcept { return inside_.load(std::memory_order_relaxed) != 0; }

 private:
  friend class Look;
  void step_back() noexcept;

  base::HostEnvironment::Atomic<std::uint32_t> inside_{0};
  base::HostEnvironment::Atomic<std::uint32_t> asked_{0};  // how many look
};

// The orchestrator changes something.
template <base::Environment E>
class Inside {
 public:
  explicit Inside(Gate<E>& gate) : gate_(gate) { gate_.enter(); }
  ~Inside() { gate_.leave(); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  Gate<E>& gate_;
};

// In the middle of that it waits, or lets others look: all is whole.
template <base::Environment E>
class Outside {
 public:
  explicit Outside(Gate<E>& gate) : gate_(gate), was_inside_(gate.is_inside()) {
    if (was_inside_) gate_.leave();
  }
  ~Outside() {
    if (was_inside_) gate_.enter();
  }
  Outside(const Outside&) = delete;
  Outside& operator=(const Outside&) = delete;

 private:
  Gate<E>& gate_;
  bool was_inside_;
};

// Keeps these orchestrators outside of their gates while it lives: for a look of milliseconds.
class Look {
 public:
  // Waits at most so long for those that are inside.
  Look(std::vector<Gate<base::HostEnvironment>*> gates, std::chrono::milliseconds patience);
  ~Look();
  Look(const Look&) = delete;
  Look& operator=(const Look&) = delete;

  // Whether what this orchestrator keeps may be read.
  bool has(std::size_t gate) const { return has_[gate]; }

 private:
  std::vector<Gate<base::HostEnvironment>*> gates_;
  std::vector<bool> has_;
};

}  // namespace heddle::graph
