// SPDX-License-Identifier: Apache-2.0
//
// The cheapest clock that the machine has, and how its ticks become nanoseconds.
#pragma once

#include <chrono>
#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace heddle::base {

// Ticks of a counter that runs at one rate on all cores. Not ordered with the loads and stores around it.
inline std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
  return __rdtsc();
#elif defined(__aarch64__)
  std::uint64_t value;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
#else
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

// Maps ticks to nanoseconds of the steady clock, by the straight line through two samples. The further apart they are
// (a millisecond is enough for 0.01 %), the truer the rate.
class TickClock {
 public:
  struct Sample {
    std::uint64_t ticks = 0;
    std::int64_t ns = 0;
  };

  // Both clocks at the same moment: of a few tries, the one in which the two readings lie closest together.
  static Sample sample() noexcept {
    Sample best;
    std::uint64_t least = UINT64_MAX;
    for (int i = 0; i < 5; ++i) {
      const std::uint64_t before = base::ticks();
      const std::int64_t ns =
          std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
              .count();
      const std::uint64_t took = base::ticks() - before;
      if (took < least) {
        least = took;
        best = {before + took / 2, ns};
      }
    }
    return best;
  }

  // One nanosecond a tick when the samples give no rate (equal, or the later one first).
  TickClock(const Sample& first, const Sample& second) noexcept : first_(first) {
    if (second.ticks > first.ticks && second.ns > first.ns)
      ns_per_tick_ = static_cast<double>(second.ns - first.ns) / static_cast<double>(second.ticks - first.ticks);
  }

  // Monotonic in `ticks`; also for ticks before the first sample.
  std::int64_t ns(std::uint64_t ticks) const noexcept {
    const auto since = static_cast<std::int64_t>(ticks - first_.ticks);
    return first_.ns + static_cast<std::int64_t>(static_cast<double>(since) * ns_per_tick_);
  }
  double ns_per_tick() const noexcept { return ns_per_tick_; }

 private:
  Sample first_;
  double ns_per_tick_ = 1.0;
};

}  // namespace heddle::base
