// SPDX-License-Identifier: Apache-2.0
//
// How an engine runs tasks: part of engine.hpp.
#pragma once

#include <cstring>

#include "base/cancelled.hpp"
#include "base/refused.hpp"
#include "host/block_services.hpp"
#include "host/engine.hpp"

namespace heddle::host {

// Whoever takes a slot from a queue owns its next_block until it queues the slot again, which it does before it runs
// the block: so other workers join in.
template <base::Environment E, class B>
void Engine<E, B>::run_task(graph::Slot<E>& slot) {
  const std::uint32_t index = slot.next_block.load();
  if (index == 0) {
    if (!begin_task(slot)) return;
  } else if (static_cast<Rank<E, B>*>(slot.rank)->cancelled()) {
    const std::uint32_t rest = slot.block_count - index;
    // acq_rel: as below.
    if (slot.blocks_left.fetch_sub(rest, std::memory_order_acq_rel) == rest) blocks_done(slot, true);
    return;
  }
  slot.next_block.store(index + 1);
  if (index + 1 < slot.block_count) pool_.ready(slot);
  run_block(slot, index);
  end_block(slot);
}

template <base::Environment E, class B>
bool Engine<E, B>::begin_task(graph::Slot<E>& slot) {
  if (static_cast<Rank<E, B>*>(slot.rank)->cancelled() || !wanted(slot)) {
    blocks_done(slot, true);
    return false;
  }
  poison(slot);
  return true;
}

template <base::Environment E, class B>
bool Engine<E, B>::prepare_task(graph::Slot<E>& slot) {
  if (static_cast<Rank<E, B>*>(slot.rank)->cancelled()) return false;
  poison(slot);
  return true;
}

template <base::Environment E, class B>
void Engine<E, B>::end_block(graph::Slot<E>& slot) {
  // acq_rel: a release sequence over the blocks; whoever ends the last one has seen all of them end.
  if (slot.block_count == 1 || slot.blocks_left.fetch_sub(1, E::order("block_done", std::memory_order_acq_rel)) == 1)
    blocks_done(slot, false);
}

// Whether the task runs its kernel at all.
template <base::Environment E, class B>
bool Engine<E, B>::wanted(const graph::Slot<E>& slot) const {
  if (slot.invoke.load() == nullptr) return false;
  return (slot.flags & graph::slot_has_predicate) == 0 || evaluate(*slot.predicate);
}

template <base::Environment E, class B>
void Engine<E, B>::run_block(graph::Slot<E>& slot, std::int64_t index) {
  auto& rank = *static_cast<Rank<E, B>*>(slot.rank);
  typename B::Services services(*this, rank, slot, index);
  Block block(services, identity(slot, index));
  services.begin();
  try {
    if constexpr (requires { services.before_kernel(); }) services.before_kernel();
    slot.invoke.load()(slot.closure, block);
  } catch (const base::Cancelled&) {
    E::mark("kernel_cancelled");  // the rank has its error already
  } catch (...) {
    fail(rank, kernel_error(slot, index, std::current_exception()));
  }
  services.end();
}

// What is handed out one by one are the parts of the blocks: the cube's, then the vector cores'.
template <base::Environment E, class B>
Block::Identity Engine<E, B>::identity(const graph::Slot<E>& slot, std::int64_t index) const {
  const auto& rank = *static_cast<const Rank<E, B>*>(slot.rank);
  const auto parts = static_cast<std::int64_t>(slot.parts());
  const auto part = static_cast<int>(index % parts);
  const bool on_cube = part < slot.cores.cubes;
  Block::Identity identity{index / parts, slot.block_count / parts, rank.index(), ranks(), rank.round(), slot.name};
  identity.core = on_cube ? Core::cube : Core::vector;
  identity.part = on_cube ? 0 : part - slot.cores.cubes;
  identity.values = pool_.values();
  return identity;
}

template <base::Environment E, class B>
Error Engine<E, B>::kernel_error(const graph::Slot<E>& slot, std::int64_t block,
                                 const std::exception_ptr& thrown) const {
  const auto failed = [&](std::string message) {
    return Error(Code::kernel_failed, std::move(message)).at_task(slot.name, block, slot.location);
  };
  try {
    std::rethrow_exception(thrown);
  } catch (const base::Refused& error) {
    return Error(error.code(), error.message()).at_task(slot.name, block, slot.location);
  } catch (const Error& error) {
    if (error.code() == Code::kernel_failed || error.code() == Code::queue_overflow)
      return Error(error.code(), error.message()).at_task(slot.name, block, slot.location);
    return failed("the kernel threw " + std::string(error.name()) + ": " + error.message());
  } catch (const std::exception& error) {
    return failed(std::string("the kernel threw: ") + error.what());
  } catch (...) {
    return failed("the kernel threw something that is not a std::exception");
  }
}

template <base::Environment E, class B>
void Engine<E, B>::blocks_done(graph::Slot<E>& slot, bool skipped) {
  const bool conditions = (slot.flags & graph::slot_has_conditions) != 0;
  if (conditions && !(skipped && static_cast<Rank<E, B>*>(slot.rank)->cancelled())) {
    defer(slot);
  } else {
    complete(slot, true);
  }
}

// The task's conditions wait in its memory, one count each and one for this loop.
template <base::Environment E, class B>
void Engine<E, B>::defer(graph::Slot<E>& slot) {
  auto& rank = *static_cast<Rank<E, B>*>(slot.rank);
  const std::uint32_t count = slot.condition_count;
  slot.blocks_left.store(count + 1, std::memory_order_relaxed);  // relaxed: published by the wait table's locks
  for (std::uint32_t i = 0; i < count; ++i) {
    std::byte* place = slot.conditions + i * graph::deferred_condition_bytes;
    const auto record = *reinterpret_cast<heddle::detail::ConditionRecord*>(place);
    auto* deferred = new (place) Deferred{record, {}};
    window::WaitNode& node = deferred->node;
    node.signal = record.signal;
    node.compare = record.compare;
    node.value = record.value;
    node.deferred = true;
    node.task = &slot;
    node.waiter = &slot;
    if (rank.waits().enter(node)) continue;
    if constexpr (B::watches) pool_.condition_met(node);
    condition_met(slot);
  }
  condition_met(slot);
}

template <base::Environment E, class B>
void Engine<E, B>::condition_met(graph::Slot<E>& slot) {
  // acq_rel: as the count of blocks.
  if (slot.blocks_left.fetch_sub(1, std::memory_order_acq_rel) == 1) complete(slot, false);
}

template <base::Environment E, class B>
void Engine<E, B>::complete(graph::Slot<E>& slot, bool tail) {
  auto& rank = *static_cast<Rank<E, B>*>(slot.rank);
  if constexpr (B::watches) pool_.completed(rank, slot);
  // Before the slot closes: a round whose last task has closed may be over and gone.
  if ((slot.flags & graph::slot_writes_window) != 0)
    rank.waits().rescan([this](window::WaitNode& node) { wake(node); });
  graph::complete(
      slot, [&](graph::Slot<E>& consumer) { ready(consumer, tail); },
      [&](graph::Slot<E>& unpinned) {
        auto* owner = static_cast<Rank<E, B>*>(unpinned.rank);
        pool_.resume(*static_cast<Fiber*>(owner->core().readers_waker()));
      },
      [&](graph::Slot<E>& consumer) {
        if constexpr (B::watches) {
          // relaxed: a hint; one that gets ready now is no candidate any more.
          if (graph::unbar(consumer) && consumer.fan_in.load(std::memory_order_relaxed) > 1) pool_.candidate(consumer);
        }
      });
}

template <base::Environment E, class B>
void Engine<E, B>::ready(graph::Slot<E>& slot, bool tail) {
  if (slot.kind == base::Work::Kind::wake) {
    pool_.resume(*static_cast<Fiber*>(slot.closure));
    return;
  }
  if (tail) {
    pool_.ready_next(slot);
  } else {
    pool_.ready(slot);
  }
}

template <base::Environment E, class B>
void Engine<E, B>::wake(window::WaitNode& node) {
  if (node.deferred) {
    if constexpr (B::watches) pool_.condition_met(node);
    condition_met(*static_cast<graph::Slot<E>*>(node.waiter));
  } else {
    pool_.resume(*static_cast<Fiber*>(node.waiter));
  }
}

}  // namespace heddle::host
