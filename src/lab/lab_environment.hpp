// SPDX-License-Identifier: Apache-2.0
//
// The environment of a simulated machine (lab/machine.hpp): each member is a step of the machine that runs the calling
// agent. Outside of Machine::run() they act directly.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "base/environment.hpp"
#include "base/marks.hpp"
#include "base/mutant.hpp"
#include "lab/machine.hpp"

namespace heddle::lab {

// The members of std::atomic on a value somewhere in memory, and what the machine knows about it.
template <class T>
class CellAccess {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t));

 public:
  CellAccess(T& value, CellHistory* history) : value_(&value), history_(history) {}

  T load(std::memory_order order) const {
    Machine* const machine = Machine::current();
    if (machine == nullptr) return *value_;
    const std::uint64_t bits = machine->load(*history_, value_, sizeof(T), order);
    T value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }

  void store(T value, std::memory_order order) const {
    Machine* const machine = Machine::current();
    if (machine == nullptr) {
      *value_ = value;
      return;
    }
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    machine->store(*history_, value_, sizeof(T), bits, order);
  }

  T exchange(T value, std::memory_order order) const {
    return modify("exchange", order, [&](T) { return value; });
  }
  T fetch_add(T value, std::memory_order order) const {
    return modify("fetch_add", order, [&](T old) { return static_cast<T>(old + value); });
  }
  T fetch_sub(T value, std::memory_order order) const {
    return modify("fetch_sub", order, [&](T old) { return static_cast<T>(old - value); });
  }
  T fetch_or(T value, std::memory_order order) const {
    return modify("fetch_or", order, [&](T old) { return static_cast<T>(old | value); });
  }
  T fetch_and(T value, std::memory_order order) const {
    return modify("fetch_and", order, [&](T old) { return static_cast<T>(old & value); });
  }

  bool compare_exchange_strong(T& expected, T desired, std::memory_order success, std::memory_order failure) const {
    Machine* const machine = Machine::current();
    if (machine != nullptr) machine->begin_modify(*history_, value_, sizeof(T), "compare_exchange");
    const bool equal = std::memcmp(value_, &expected, sizeof(T)) == 0;
    if (equal) {
      *value_ = desired;
    } else {
      expected = *value_;
    }
    if (machine != nullptr) machine->end_modify(*history_, equal ? success : failure, equal);
    return equal;
  }

 private:
  template <class F>
  T modify(const char* what, std::memory_order order, F&& operation) const {
    Machine* const machine = Machine::current();
    if (machine != nullptr) machine->begin_modify(*history_, value_, sizeof(T), what);
    const T old = *value_;
    *value_ = operation(old);
    if (machine != nullptr) machine->end_modify(*history_, order, true);
    return old;
  }

  T* value_;
  CellHistory* history_;
};

template <class T>
class LabAtomic {
 public:
  LabAtomic() : LabAtomic(T{}) {}
  LabAtomic(T value) : value_(value) {  // NOLINT(google-explicit-constructor): as std::atomic
    if (Machine* const machine = Machine::current()) machine->born(history_);
  }
  ~LabAtomic() {
    if (Machine* const machine = Machine::current()) machine->gone(history_, &value_);
  }
  LabAtomic(const LabAtomic&) = delete;
  LabAtomic& operator=(const LabAtomic&) = delete;

  T load(std::memory_order order) const { return access().load(order); }
  void store(T value, std::memory_order order) { access().store(value, order); }
  T exchange(T value, std::memory_order order) { return access().exchange(value, order); }
  T fetch_add(T value, std::memory_order order) { return access().fetch_add(value, order); }
  T fetch_sub(T value, std::memory_order order) { return access().fetch_sub(value, order); }
  T fetch_or(T value, std::memory_order order) { return access().fetch_or(value, order); }
  T fetch_and(T value, std::memory_order order) { return access().fetch_and(value, order); }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order success, std::memory_order failure) {
    return access().compare_exchange_strong(expected, desired, success, failure);
  }
  // May fail for no reason, as on machines with load-linked and store-conditional.
  bool compare_exchange_weak(T& expected, T desired, std::memory_order success, std::memory_order failure) {
    Machine* const machine = Machine::current();
    if (machine != nullptr && machine->choose("weak_compare_exchange_fails", 16) == 1) {
      expected = load(failure);
      return false;
    }
    return compare_exchange_strong(expected, desired, success, failure);
  }

 private:
  CellAccess<T> access() const { return CellAccess<T>(value_, &history_); }

  mutable T value_;  // a load is a step, which may bring other agents' stores to memory
  mutable CellHistory history_;
};

template <class T>
class LabPlain {
 public:
  LabPlain() : LabPlain(T{}) {}
  explicit LabPlain(T value) : value_(value) {
    if (Machine* const machine = Machine::current()) machine->write(history_, this, false);
  }
  // Destroying is a write, too: it must be ordered after the others' accesses.
  ~LabPlain() {
    if (Machine* const machine = Machine::current()) machine->write(history_, this, false);
  }
  LabPlain(const LabPlain&) = delete;
  LabPlain& operator=(const LabPlain&) = delete;

  T load() const {
    if (Machine* const machine = Machine::current()) machine->read(history_, this, true);
    return value_;
  }
  void store(T value) {
    if (Machine* const machine = Machine::current()) machine->write(history_, this, true);
    value_ = value;
  }
  // Taken as a write at this moment.
  T& raw() {
    if (Machine* const machine = Machine::current()) machine->write(history_, this, true);
    return value_;
  }
  const T& raw() const {
    if (Machine* const machine = Machine::current()) machine->read(history_, this, true);
    return value_;
  }

 private:
  T value_;
  mutable PlainHistory history_;
};

// Delays are what the machine does anyway: a store reaches memory at some later step.
template <class T>
class LabRegister {
 public:
  LabRegister() : LabRegister(T{}) {}
  explicit LabRegister(T value) : cell_(value), written_(value) {}

  // release: partner is the acquire in load().
  std::uint64_t store(T value, [[maybe_unused]] std::uint64_t delay) {
    written_ = value;
    cell_.store(value, base::mutants::order("register_store", std::memory_order_release));
    return 0;
  }

  std::uint64_t store_halves(T value, std::uint64_t delay_low, std::uint64_t delay_high) {
    static_assert(std::is_same_v<T, std::uint64_t>);
    constexpr T low = 0xffffffffU;
    Machine* const machine = Machine::current();
    const T first = machine != nullptr && machine->choose("high_half_first", 2) == 1 ? ~low : low;
    store((written_ & ~first) | (value & first), first == low ? delay_low : delay_high);
    return store(value, first == low ? delay_high : delay_low);
  }

  T load() const { return cell_.load(base::mutants::order("register_load", std::memory_order_acquire)); }

 private:
  LabAtomic<T> cell_;
  T written_;  // the writer's own: what its last store wrote
};

class LabParker {
 public:
  void park() { (void)park_until(Machine::no_deadline); }

  // False only when no agent could run until the deadline; virtual time then jumps to it.
  bool park_until(std::uint64_t deadline) {
    if (Machine* const machine = Machine::current()) return machine->park(history_, deadline);
    const bool found = history_.token;
    history_.token = false;
    return found;
  }

  void unpark() {
    if (Machine* const machine = Machine::current()) {
      machine->unpark(history_);
    } else {
      history_.token = true;
    }
  }
  void unpark_in([[maybe_unused]] std::uint64_t nanoseconds) { unpark(); }

 private:
  ParkerHistory history_;
};

struct LabEnvironment {
  template <class T>
  using Atomic = LabAtomic<T>;
  template <class T>
  using Plain = LabPlain<T>;
  template <class T>
  using Register = LabRegister<T>;
  using Parker = LabParker;

  template <class T>
  static CellAccess<T> atomic_ref(T& cell) {
    Machine* const machine = Machine::current();
    return CellAccess<T>(cell, machine == nullptr ? nullptr : &machine->raw_cell(&cell));
  }

  static void fence(std::memory_order order) {
    if (Machine* const machine = Machine::current()) machine->fence(order);
  }

  static void*& self() {
    static thread_local void* outside = nullptr;
    Machine* const machine = Machine::current();
    return machine == nullptr ? outside : machine->self();
  }

  // The agent asks for a change of what it polled: another agent runs, if one can.
  static void pause([[maybe_unused]] std::uint32_t n) {
    if (Machine* const machine = Machine::current()) machine->step("pause", true);
  }

  static std::uint64_t now() {
    Machine* const machine = Machine::current();
    return machine == nullptr ? 0 : machine->now();
  }

  static std::uint32_t choose(const char* label, std::uint32_t alternatives) {
    Machine* const machine = Machine::current();
    return machine == nullptr ? 0 : machine->choose(label, alternatives);
  }

  static std::uint64_t latency([[maybe_unused]] const char* label, [[maybe_unused]] const base::Latency& range) {
    return 0;
  }

  static void catch_up() {
    if (Machine* const machine = Machine::current()) machine->step("catch_up");
  }

  static void charge(std::uint64_t nanoseconds) {
    if (Machine* const machine = Machine::current()) machine->charge(nanoseconds);
  }

  static bool mutant(const char* name) { return base::mutants::active(name); }
  static void mark(const char* name) {
    base::marks::reach(name);
    if (Machine* const machine = Machine::current()) machine->mark(name);
  }

  static std::memory_order order(const char* place, std::memory_order intended) {
    return base::mutants::order(place, intended);
  }
};

static_assert(base::Environment<LabEnvironment>);

}  // namespace heddle::lab
