// SPDX-License-Identifier: Apache-2.0
//
// The environment at program fidelity: virtual time (lab/simulator.hpp), and shared accesses that are part of an atomic
// step. An agent runs undisturbed until it catches up or parks, so an Atomic is a plain value and costs nothing. What
// takes time on its way is a Register or an unpark_in(). Outside of a simulator's run() the members act directly.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "base/environment.hpp"
#include "base/host_environment.hpp"
#include "base/marks.hpp"
#include "base/mutant.hpp"
#include "lab/simulator.hpp"
#include "lab/stepped_cells.hpp"

namespace heddle::lab {

// What virtual time gives an environment, whatever happens before its accesses.
template <class Step>
struct VirtualEnvironment {
  template <class T>
  using Atomic = SteppedAtomic<T, Step>;
  template <class T>
  using Plain = SteppedPlain<T, Step>;
  template <class T>
  using Register = SteppedRegister<T, Step>;
  using Parker = SteppedParker<Step>;

  template <class T>
  static SteppedAccess<T, Step> atomic_ref(T& cell) noexcept {
    return SteppedAccess<T, Step>(cell);
  }

  // An access that is no member of these.
  static void step() { Step::step(); }

  static void fence(std::memory_order) noexcept {}

  static void*& self() {
    static thread_local void* outside = nullptr;
    Simulator* const simulator = Simulator::current();
    return simulator == nullptr ? outside : simulator->self();
  }

  static std::uint64_t now() {
    Simulator* const simulator = Simulator::current();
    return simulator == nullptr ? 0 : simulator->now();
  }

  static std::uint32_t choose(const char* label, std::uint32_t alternatives) {
    Simulator* const simulator = Simulator::current();
    return simulator == nullptr ? 0 : simulator->choose(label, ChoiceKind::placement, alternatives);
  }

  static std::uint64_t latency(const char* label, const base::Latency& range) {
    Simulator* const simulator = Simulator::current();
    return simulator == nullptr ? 0 : simulator->latency(label, range);
  }

  static void catch_up() {
    if (Simulator* const simulator = Simulator::current()) simulator->catch_up();
  }

  static void charge(std::uint64_t nanoseconds) {
    if (Simulator* const simulator = Simulator::current()) simulator->charge(nanoseconds);
  }

  // See chip::ask_again().
  static void ask_again(const char* what) {
    if (Simulator* const simulator = Simulator::current()) simulator->let_others(what);
  }

  static void mark(const char* name) { base::marks::reach(name); }

  static constexpr std::memory_order order(const char*, std::memory_order intended) noexcept { return intended; }

  // Whether a test has put the fault with this name in: see chip::faulty().
  static bool mutant(const char* name) { return base::mutants::active(name); }
};

struct Undisturbed {
  static void step() noexcept {}
};

struct ProgramEnvironment : VirtualEnvironment<Undisturbed> {
  static constexpr bool disturbed = false;

  // Virtual time goes on at each pause: what is waited for may happen.
  static void pause(std::uint32_t) {
    Simulator* const simulator = Simulator::current();
    if (simulator == nullptr) return;
    simulator->charge(pause_ns);
    simulator->catch_up();
  }

  static constexpr std::uint64_t pause_ns = 10;
};

static_assert(base::Environment<ProgramEnvironment>);

}  // namespace heddle::lab
