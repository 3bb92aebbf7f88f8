// SPDX-License-Identifier: Apache-2.0
//
// Symmetric fibers: a stack of its own and a switch that names both sides.
//
// A Fiber object is a handle in which one suspended context can be kept. Made with an entry it also owns a stack, on
// which that entry is waiting to start; made by adopt() it is empty. switch_to(from, to) puts *whatever context calls
// it* into `from` and continues the one in `to`. `from` need not be the handle that the caller was started from: a
// scheduler may keep the suspended context of an agent in a handle of its own, whichever fiber the agent is running.
//
//   * A context may be continued by another thread than the one that suspended it, except a thread's own context,
//     which only that thread may continue.
//   * `from` becomes valid on the other side of the switch. Whoever lets a third thread continue `from` must do so
//     from the context that was switched to (publish after the switch, not before), in an order that makes the
//     writes of that context visible to the third thread.
//   * A switch inside a catch block is allowed: the exceptions in flight belong to the context.
//   * References to thread-local objects must not be kept across a switch.
//   * An entry never returns and lets no exception out: it ends in exit_to() or in a switch that nobody returns from.
//     If it does return, the process terminates with a message.
//   * Destroying a Fiber gives its stack back without unwinding it. Nothing may be running on that stack, nor may a
//     context that lives on it be continued afterwards.
#pragma once

#include <cstddef>
#include <new>

namespace heddle::base {

// No memory, or no mapping left (vm.max_map_count), for a stack.
class FiberStackError : public std::bad_alloc {
 public:
  const char* what() const noexcept override { return "no memory for a fiber stack (limit: vm.max_map_count)"; }
};

class Fiber {
 public:
  // A stack of at least `stack_bytes` (whole pages, only those touched become resident, a guard page below) on which
  // entry(argument) runs when first switched to. Throws FiberStackError.
  Fiber(std::size_t stack_bytes, void (*entry)(void*), void* argument);
  ~Fiber();

  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // An empty handle without a stack, for the context that is running (a thread's own, or any other).
  static Fiber adopt() noexcept { return Fiber(); }

  // Suspends the running context into `from` and continues the context in `to`, which is empty afterwards. Returns
  // when somebody continues `from`. Terminates with a message if `to` holds nothing.
  static void switch_to(Fiber& from, Fiber& to) noexcept;

  // Leaves the running context for good and continues the context in `to`. The stack left may be destroyed from there.
  [[noreturn]] static void exit_to(Fiber& to) noexcept;

  // Whether a suspended context is kept here. A hint for assertions: it changes in the middle of a switch.
  bool holds_context() const noexcept { return context_ != nullptr; }

 private:
  struct Arrival;

  Fiber() = default;
  static void jump(Fiber* from, Fiber& to) noexcept;
  static void arrive(void* suspended, const Arrival& arrival, void* fake_stack) noexcept;
  [[noreturn]] static void run_entry(void* suspended, const Arrival& arrival) noexcept;
  friend struct FiberStart;

  void* context_ = nullptr;  // where the suspended context continues
  // Bookkeeping of the suspended context for the sanitizers: it goes with the stack that the context is on, which is
  // not always the stack that this object owns. Unused without them.
  const void* context_stack_ = nullptr;  // lowest address
  std::size_t context_stack_bytes_ = 0;
  void* context_tsan_ = nullptr;

  // What this object owns: nothing after adopt().
  void* mapping_ = nullptr;  // guard page and stack
  std::size_t mapping_bytes_ = 0;
  void* owned_tsan_ = nullptr;
  void (*entry_)(void*) = nullptr;
  void* argument_ = nullptr;
};

}  // namespace heddle::base
