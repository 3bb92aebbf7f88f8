// SPDX-License-Identifier: Apache-2.0
//
// The environment: all that control-plane code needs from the machine that it runs on.
//
// Rings, wiring, ready queues, wait tables, the worker loop and its parking are templates over an Environment E and
// touch the machine through nothing else. HostEnvironment (base/host_environment.hpp) maps each member to the plain
// machine primitive at no cost. lab::LabEnvironment makes each of them a step of a simulated machine, in which a seed
// fixes the interleaving and stale or unordered reads are noticed.
//
// An *agent* is a thread of control of the environment: an OS thread on the host, a fiber in the lab. Agents may run
// fibers of their own (base/fiber.hpp); E::self() belongs to the agent and not to the fiber.
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>

#include "base/latency.hpp"

namespace heddle::base {

template <class E>
concept Environment = requires(
    typename E::template Atomic<std::uint32_t>& cell, const typename E::template Atomic<std::uint32_t>& constant,
    typename E::template Plain<std::uint32_t>& plain, typename E::Parker& parker, std::uint32_t& raw,
    std::uint32_t expected, typename E::template Register<std::uint64_t>& wire,
    const typename E::template Register<std::uint64_t>& polled) {
  // Shared cell with explicit memory orders; the members are those of std::atomic.
  { constant.load(std::memory_order_acquire) } -> std::same_as<std::uint32_t>;
  cell.store(1U, std::memory_order_release);
  { cell.exchange(1U, std::memory_order_acq_rel) } -> std::same_as<std::uint32_t>;
  { cell.fetch_add(1U, std::memory_order_acq_rel) } -> std::same_as<std::uint32_t>;
  { cell.fetch_sub(1U, std::memory_order_acq_rel) } -> std::same_as<std::uint32_t>;
  {
    cell.compare_exchange_strong(expected, 1U, std::memory_order_acq_rel, std::memory_order_relaxed)
  } -> std::same_as<bool>;

  // Shared data that is not atomic: whoever reads it must be ordered after whoever wrote it. Free on the host; in the
  // lab every access is checked against the happens-before order, so that a missing release is found in any run.
  { plain.load() } -> std::same_as<std::uint32_t>;
  plain.store(1U);

  // Atomic access to a cell of raw memory (a signal of a window); same members as Atomic.
  { E::atomic_ref(raw).load(std::memory_order_acquire) } -> std::same_as<std::uint32_t>;
  { E::atomic_ref(raw).fetch_add(1U, std::memory_order_acq_rel) } -> std::same_as<std::uint32_t>;
  { E::atomic_ref(raw).exchange(1U, std::memory_order_acq_rel) } -> std::same_as<std::uint32_t>;

  // Orders the agent's own accesses, as std::atomic_thread_fence does.
  E::fence(std::memory_order_seq_cst);

  // A cell that one agent writes and another polls over a wire. A store is seen after its delay (ns of virtual time,
  // where there is such), and never before the stores before it; whoever sees it also sees what its writer did before.
  // The 32-bit halves of one store may be seen apart, in either order. Returned is after how long all of it is seen.
  { wire.store(std::uint64_t{}, std::uint64_t{}) } -> std::same_as<std::uint64_t>;
  {
    wire.store_halves(std::uint64_t{}, std::uint64_t{}, std::uint64_t{})  // value, delay of the low half, of the high
  } -> std::same_as<std::uint64_t>;
  { polled.load() } -> std::same_as<std::uint64_t>;

  // One token per parker: park() takes it or blocks the agent until unpark() leaves one. An unpark before the park is
  // not lost, two of them count once. park_until returns false when the deadline (now() units) passed first.
  parker.park();
  { parker.park_until(std::uint64_t{}) } -> std::same_as<bool>;
  parker.unpark();
  // The token is there after so many nanoseconds of virtual time; at once where there is no such time.
  parker.unpark_in(std::uint64_t{});

  // A pointer-sized slot of the calling agent. Never cache the reference across a fiber switch.
  { E::self() } -> std::same_as<void*&>;

  // The n-th pause of a bounded spin. Never called without a bound.
  E::pause(1U);

  // Monotonic time in nanoseconds: steady clock, or virtual time.
  { E::now() } -> std::same_as<std::uint64_t>;

  // One of n alternatives that are all correct; label names the decision in a recorded schedule.
  { E::choose("label", 2U) } -> std::same_as<std::uint32_t>;

  // How long it takes this time, in nanoseconds of virtual time; label names the decision. 0 where time passes by
  // itself.
  { E::latency("label", Latency{}) } -> std::same_as<std::uint64_t>;

  // Everything that is earlier in virtual time than the calling agent happens before this returns. To be called before
  // the agent looks at, or changes, what others see too and what it does not reach through a Parker or a Register.
  E::catch_up();

  // Virtual cost in nanoseconds; a state that a test wants to have been reached.
  E::charge(std::uint64_t{});
  E::mark("state");

  // The memory order at a named place. Returns its second argument, except where a test build has put the fault with
  // that name in.
  { E::order("place", std::memory_order_release) } -> std::same_as<std::memory_order>;
};

}  // namespace heddle::base
