// SPDX-License-Identifier: Apache-2.0
//
// The environment of real threads: every member is the machine primitive and nothing else.
#pragma once

#include <sched.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "base/environment.hpp"
#include "base/sanitizer.hpp"

#ifdef HEDDLE_MARKS
#include "base/marks.hpp"
#endif

namespace heddle::base {

// Shared data whose readers and writers are ordered by something else.
template <class T>
class HostPlain {
 public:
  HostPlain() = default;
  explicit HostPlain(T value) : value_(value) {}
  T load() const { return value_; }
  void store(T value) { value_ = value; }
  // For bulk access by whoever owns the data.
  T& raw() { return value_; }
  const T& raw() const { return value_; }

 private:
  T value_{};
};

template <class T>
class HostRegister {
 public:
  HostRegister() = default;
  explicit HostRegister(T value) : value_(value) {}

  // release: partner is the acquire in load().
  std::uint64_t store(T value, [[maybe_unused]] std::uint64_t delay) noexcept {
    value_.store(value, std::memory_order_release);
    return 0;
  }
  std::uint64_t store_halves(T value, std::uint64_t delay_low, [[maybe_unused]] std::uint64_t delay_high) noexcept {
    return store(value, delay_low);
  }
  T load() const noexcept { return value_.load(std::memory_order_acquire); }

 private:
  std::atomic<T> value_{};
};

class HostParker {
 public:
  void park() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return token_; });
    token_ = false;
  }

  bool park_until(std::uint64_t deadline) {
    const std::chrono::steady_clock::time_point when{
        std::chrono::nanoseconds(static_cast<std::int64_t>(deadline > max_deadline ? max_deadline : deadline))};
    std::unique_lock lock(mutex_);
    const bool found = changed_.wait_until(lock, when, [this] { return token_; });
    token_ = false;
    return found;
  }

  // Notifies under the lock: the parked agent may destroy the parker as soon as it has the token.
  void unpark() {
    const std::lock_guard lock(mutex_);
    token_ = true;
    changed_.notify_one();
  }
  void unpark_in([[maybe_unused]] std::uint64_t nanoseconds) { unpark(); }

 private:
  static constexpr std::uint64_t max_deadline = INT64_MAX;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool token_ = false;
};

struct HostEnvironment {
  template <class T>
  using Atomic = std::atomic<T>;
  template <class T>
  using Plain = HostPlain<T>;
  template <class T>
  using Register = HostRegister<T>;
  using Parker = HostParker;

  template <class T>
  static std::atomic_ref<T> atomic_ref(T& cell) noexcept {
    return std::atomic_ref<T>(cell);
  }

  static void fence(std::memory_order order) noexcept {
#if HEDDLE_TSAN
    // The thread sanitizer does not model fences. A read-modify-write of one common cell orders at least as much, so
    // it may hide a missing release next to a fence, but never reports a false race. (The lab models fences exactly.)
    static std::atomic<std::uint32_t> common{0};
    if (order != std::memory_order_relaxed) common.fetch_add(1, std::memory_order_seq_cst);
#else
    std::atomic_thread_fence(order);
#endif
  }

  // Not inlined, and with a barrier so that it is not taken for a pure function: fibers migrate between threads, and a
  // compiler that kept the slot's address across a switch would use another thread's.
  [[gnu::noinline]] static void*& self() noexcept {
    static thread_local void* slot = nullptr;
    asm volatile("" ::: "memory");
    return slot;
  }

  // Gives the core away at every 64th pause: the other side of the spin may need it.
  static void pause(std::uint32_t n) noexcept {
    if (n % 64 == 63) {
      ::sched_yield();
      return;
    }
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield" ::: "memory");
#endif
  }

  static std::uint64_t now() noexcept {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
            .count());
  }

  static std::uint32_t choose([[maybe_unused]] const char* label,
                              [[maybe_unused]] std::uint32_t alternatives) noexcept {
    return 0;
  }

  static std::uint64_t latency([[maybe_unused]] const char* label, [[maybe_unused]] const Latency& range) noexcept {
    return 0;
  }

  static void catch_up() noexcept {}

  static void charge([[maybe_unused]] std::uint64_t nanoseconds) noexcept {}

  static void mark([[maybe_unused]] const char* name) noexcept {
#ifdef HEDDLE_MARKS
    marks::reach(name);
#endif
  }

  [[gnu::always_inline]] static constexpr std::memory_order order([[maybe_unused]] const char* place,
                                                                  std::memory_order intended) noexcept {
    return intended;
  }
};

static_assert(Environment<HostEnvironment>);

}  // namespace heddle::base
