// SPDX-License-Identifier: Apache-2.0
//
// Access to the cells of windows, at their width.
#pragma once

#include <cstdint>
#include <heddle/block.hpp>

#include "base/environment.hpp"

namespace heddle::window {

// The cell's value. seq_cst: partner is the count in WaitTable (a waiter registers, then looks; a notifier changes the
// cell, then looks for waiters), and acquires what a released notify published.
template <base::Environment E>
std::int64_t load(const heddle::detail::SignalRef& signal) {
  const auto order = E::order("signal_load", std::memory_order_seq_cst);
  if (signal.wide) return E::atomic_ref(*static_cast<std::int64_t*>(signal.cell)).load(order);
  return E::atomic_ref(*static_cast<std::int32_t*>(signal.cell)).load(order);
}

template <base::Environment E>
bool satisfied(const heddle::detail::SignalRef& signal, Compare compare, std::int64_t value) {
  return holds(load<E>(signal), compare, value);
}

// seq_cst: a release for the block's puts, and partner of the waiter's look, see load(). A set is an exchange because a
// plain store could pass the look for waiters that follows it.
template <base::Environment E>
void update(const heddle::detail::SignalRef& signal, std::int64_t value, Notify how) {
  const auto order = E::order("signal_update", std::memory_order_seq_cst);
  const auto apply = [&](auto cell, auto operand) {
    if (how == Notify::add) {
      cell.fetch_add(operand, order);
    } else {
      cell.exchange(operand, order);
    }
  };
  if (signal.wide) {
    apply(E::atomic_ref(*static_cast<std::int64_t*>(signal.cell)), value);
  } else {
    apply(E::atomic_ref(*static_cast<std::int32_t*>(signal.cell)), static_cast<std::int32_t>(value));
  }
}

}  // namespace heddle::window
