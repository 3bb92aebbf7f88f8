// SPDX-License-Identifier: Apache-2.0
//
// The cells of an environment in virtual time. Each is a plain value of the one thread that runs all agents; what makes
// a difference is Step::step(), called before every access: nothing, so that an agent's accesses are one with what
// surrounds them, or a point at which another agent may run.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "base/host_environment.hpp"
#include "lab/simulator.hpp"

namespace heddle::lab {

// The members of std::atomic on a value somewhere in memory.
template <class T, class Step>
class SteppedAccess {
 public:
  explicit SteppedAccess(T& value) noexcept : value_(&value) {}

  T load(std::memory_order) const {
    Step::step();
    return *value_;
  }
  void store(T value, std::memory_order) const {
    Step::step();
    *value_ = value;
  }
  T exchange(T value, std::memory_order) const {
    return change([value](T) { return value; });
  }
  T fetch_add(T value, std::memory_order) const {
    return change([value](T old) { return static_cast<T>(old + value); });
  }
  T fetch_sub(T value, std::memory_order) const {
    return change([value](T old) { return static_cast<T>(old - value); });
  }
  T fetch_or(T value, std::memory_order) const {
    return change([value](T old) { return static_cast<T>(old | value); });
  }
  T fetch_and(T value, std::memory_order) const {
    return change([value](T old) { return static_cast<T>(old & value); });
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order, std::memory_order) const {
    Step::step();
    const bool equal = *value_ == expected;
    (equal ? *value_ : expected) = equal ? desired : *value_;
    return equal;
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order success, std::memory_order failure) const {
    return compare_exchange_strong(expected, desired, success, failure);
  }

 private:
  template <class Change>
  T change(Change&& changed) const {
    Step::step();
    const T old = *value_;
    *value_ = changed(old);
    return old;
  }

  T* value_;
};

template <class T, class Step>
class SteppedAtomic {
 public:
  SteppedAtomic() = default;
  SteppedAtomic(T value) noexcept : value_(value) {}  // NOLINT(google-explicit-constructor): as std::atomic
  SteppedAtomic(const SteppedAtomic&) = delete;
  SteppedAtomic& operator=(const SteppedAtomic&) = delete;

  T load(std::memory_order) const {
    Step::step();
    return value_;
  }
  void store(T value, std::memory_order order) { access().store(value, order); }
  T exchange(T value, std::memory_order order) { return access().exchange(value, order); }
  T fetch_add(T value, std::memory_order order) { return access().fetch_add(value, order); }
  T fetch_sub(T value, std::memory_order order) { return access().fetch_sub(value, order); }
  T fetch_or(T value, std::memory_order order) { return access().fetch_or(value, order); }
  T fetch_and(T value, std::memory_order order) { return access().fetch_and(value, order); }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order success, std::memory_order failure) {
    return access().compare_exchange_strong(expected, desired, success, failure);
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order success, std::memory_order failure) {
    return access().compare_exchange_weak(expected, desired, success, failure);
  }

 private:
  SteppedAccess<T, Step> access() noexcept { return SteppedAccess<T, Step>(value_); }

  T value_{};
};

// Shared data that something else orders.
template <class T, class Step>
class SteppedPlain : public base::HostPlain<T> {
 public:
  using base::HostPlain<T>::HostPlain;
  T load() const {
    Step::step();
    return base::HostPlain<T>::load();
  }
  void store(T value) {
    Step::step();
    base::HostPlain<T>::store(value);
  }
};

// Stores on their way are kept with the time from which on they are seen. One agent polls: what it has seen is
// forgotten.
template <class T, class Step>
class SteppedRegister {
 public:
  SteppedRegister() = default;
  explicit SteppedRegister(T value) : seen_(value) {}
  SteppedRegister(const SteppedRegister&) = delete;
  SteppedRegister& operator=(const SteppedRegister&) = delete;

  // Both return after how long the whole value is seen: later than asked for when an earlier store is on its way.
  std::uint64_t store(T value, std::uint64_t delay) {
    Step::step();
    send(value, Part::whole, arrival(delay));
    return from_now(last_);
  }

  std::uint64_t store_halves(T value, std::uint64_t delay_low, std::uint64_t delay_high) {
    static_assert(std::is_same_v<T, std::uint64_t>);
    Step::step();
    const std::uint64_t low = arrival(delay_low);
    const std::uint64_t high = arrival(delay_high);
    if (low == high) {
      send(value, Part::whole, low);
    } else if (low < high) {
      send(value, Part::low, low);
      send(value, Part::high, high);
    } else {
      send(value, Part::high, high);
      send(value, Part::low, low);
    }
    return from_now(last_);
  }

  T load() const {
    Step::step();
    if (count_ != 0) look();
    return seen_;
  }

 private:
  enum class Part : std::uint8_t { whole, low, high };
  struct Change {
    std::uint64_t time;
    T value;
    Part part;
  };
  static constexpr std::size_t inline_most = 4;

  static std::uint64_t now() noexcept {
    const Simulator* const simulator = Simulator::current();
    return simulator == nullptr ? UINT64_MAX : simulator->now();
  }
  static std::uint64_t from_now(std::uint64_t time) noexcept {
    const std::uint64_t current = now();
    return time > current ? time - current : 0;
  }
  std::uint64_t arrival(std::uint64_t delay) const noexcept {
    const std::uint64_t time = now();
    return std::max(last_, time == UINT64_MAX ? 0 : time + delay);
  }

  Change& at(std::size_t index) const { return index < inline_most ? near_[index] : far_[index - inline_most]; }

  void send(T value, Part part, std::uint64_t time) {
    if (count_ >= inline_most) far_.resize(count_ - inline_most + 1);
    last_ = time;
    at(count_++) = Change{time, value, part};
  }

  // Takes over what has arrived.
  void look() const {
    const std::uint64_t time = now();
    std::size_t arrived = 0;
    for (; arrived < count_ && at(arrived).time <= time; ++arrived) apply(at(arrived));
    if (arrived == 0) return;
    for (std::size_t index = arrived; index < count_; ++index) at(index - arrived) = at(index);
    count_ -= arrived;
  }

  void apply(const Change& change) const noexcept {
    if constexpr (std::is_same_v<T, std::uint64_t>) {
      constexpr T low = 0xffffffffU;
      const T mask = change.part == Part::whole ? ~T{0} : change.part == Part::low ? low : ~low;
      seen_ = (seen_ & ~mask) | (change.value & mask);
    } else {
      seen_ = change.value;
    }
  }

  mutable T seen_{};
  mutable std::size_t count_ = 0;  // changes on their way, in the order of their times
  mutable Change near_[inline_most];
  mutable std::vector<Change> far_;  // those that find no room in near_
  std::uint64_t last_ = 0;           // when the last store is seen
};

template <class Step>
class SteppedParker {
 public:
  SteppedParker() = default;
  SteppedParker(const SteppedParker&) = delete;
  SteppedParker& operator=(const SteppedParker&) = delete;

  void park() { (void)park_until(never); }

  bool park_until(std::uint64_t deadline) {
    Step::step();
    Simulator* const simulator = Simulator::current();
    if (simulator == nullptr) {
      const bool found = token_ != never;
      take(never - 1);
      return found;
    }
    for (;;) {
      const std::uint64_t now = simulator->now();
      if (token_ <= now) {
        take(now);
        return true;
      }
      if (deadline <= now) return false;
      waiter_ = simulator->running();
      until_ = std::min(deadline, token_);
      if (until_ == never) {
        simulator->park();
      } else {
        (void)simulator->park_until(until_);
      }
      waiter_ = Simulator::nobody;
    }
  }

  void unpark() { unpark_in(0); }

  void unpark_in(std::uint64_t nanoseconds) {
    Step::step();
    Simulator* const simulator = Simulator::current();
    const std::uint64_t time = simulator == nullptr ? 0 : simulator->now() + nanoseconds;
    if (time == token_) return;
    if (time > token_) {
      later_.push_back(time);
      return;
    }
    if (token_ != never) later_.push_back(token_);
    token_ = time;
    // A token that comes after the waiter's deadline is for the next park.
    if (simulator != nullptr && waiter_ != Simulator::nobody && time < until_) simulator->wake(waiter_, time);
  }

 private:
  static constexpr std::uint64_t never = UINT64_MAX;

  // Takes what is there at `now`: of several tokens one remains, as always. Those of later wakes are still to come,
  // since each announces something that is not there before.
  void take(std::uint64_t now) {
    std::erase_if(later_, [now](std::uint64_t time) { return time <= now; });
    const auto next = std::min_element(later_.begin(), later_.end());
    token_ = next == later_.end() ? never : *next;
    if (next != later_.end()) later_.erase(next);
  }

  std::uint64_t token_ = never;  // from when on there is one
  std::vector<std::uint64_t> later_;
  std::uint64_t until_ = never;  // when the waiter goes on by itself
  AgentId waiter_ = Simulator::nobody;
};

}  // namespace heddle::lab
