// SPDX-License-Identifier: Apache-2.0
//
// Faults put in on purpose, to prove that a test notices them. Test code only.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "base/environment.hpp"
#include "base/host_environment.hpp"

namespace heddle::base {

namespace mutants {

// Weakens the memory order at `place` (a string literal named by an E::order) to relaxed, until clear(). At most 8
// places at once. Call these two only while no other thread runs code under test.
void activate(const char* place);
void clear() noexcept;
bool active(std::string_view place) noexcept;

inline std::memory_order order(std::string_view place, std::memory_order intended) noexcept {
  return active(place) ? std::memory_order_relaxed : intended;
}

// One fault for the lifetime of the object.
class Scope {
 public:
  explicit Scope(const char* place) { activate(place); }
  ~Scope() { clear(); }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
};

}  // namespace mutants

// std::atomic for orders known only at run time. Compilers may take such an order for seq_cst, which would undo the
// fault: here each order is a constant where it is used.
template <class T>
class MutantAtomic {
 public:
  MutantAtomic() = default;
  MutantAtomic(T value) : cell_(value) {}  // NOLINT(google-explicit-constructor): as std::atomic

  T load(std::memory_order order) const noexcept {
    if (order == std::memory_order_relaxed) return cell_.load(std::memory_order_relaxed);
    if (order == std::memory_order_acquire) return cell_.load(std::memory_order_acquire);
    return cell_.load(std::memory_order_seq_cst);
  }
  void store(T value, std::memory_order order) noexcept {
    if (order == std::memory_order_relaxed) return cell_.store(value, std::memory_order_relaxed);
    if (order == std::memory_order_release) return cell_.store(value, std::memory_order_release);
    return cell_.store(value, std::memory_order_seq_cst);
  }
  T exchange(T value, std::memory_order order) noexcept {
    return modify(order, [&](auto constant) { return cell_.exchange(value, constant()); });
  }
  T fetch_add(T value, std::memory_order order) noexcept {
    return modify(order, [&](auto constant) { return cell_.fetch_add(value, constant()); });
  }
  T fetch_sub(T value, std::memory_order order) noexcept {
    return modify(order, [&](auto constant) { return cell_.fetch_sub(value, constant()); });
  }
  T fetch_or(T value, std::memory_order order) noexcept {
    return modify(order, [&](auto constant) { return cell_.fetch_or(value, constant()); });
  }
  T fetch_and(T value, std::memory_order order) noexcept {
    return modify(order, [&](auto constant) { return cell_.fetch_and(value, constant()); });
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order success, std::memory_order) noexcept {
    return modify(success, [&](auto constant) {
      // Some compilers want no failure order that is stronger than a relaxed success.
      constexpr std::memory_order order = constant();
      constexpr std::memory_order failure =
          order == std::memory_order_relaxed ? std::memory_order_relaxed : std::memory_order_acquire;
      return cell_.compare_exchange_strong(expected, desired, order, failure);
    });
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order success, std::memory_order failure) noexcept {
    return compare_exchange_strong(expected, desired, success, failure);
  }

 private:
  template <std::memory_order O>
  struct Constant {
    constexpr std::memory_order operator()() const { return O; }
  };
  template <class F>
  static auto modify(std::memory_order order, F&& operation) {
    if (order == std::memory_order_relaxed) return operation(Constant<std::memory_order_relaxed>());
    if (order == std::memory_order_acquire) return operation(Constant<std::memory_order_acquire>());
    if (order == std::memory_order_release) return operation(Constant<std::memory_order_release>());
    if (order == std::memory_order_acq_rel) return operation(Constant<std::memory_order_acq_rel>());
    return operation(Constant<std::memory_order_seq_cst>());
  }

  std::atomic<T> cell_;
};

// HostEnvironment with the active faults in.
struct MutantHostEnvironment : HostEnvironment {
  template <class T>
  using Atomic = MutantAtomic<T>;

  static void fence(std::memory_order order) noexcept {
    if (order == std::memory_order_relaxed) return;
    HostEnvironment::fence(order);
  }
  static std::memory_order order(const char* place, std::memory_order intended) noexcept {
    return mutants::order(place, intended);
  }
};

static_assert(Environment<MutantHostEnvironment>);

}  // namespace heddle::base
