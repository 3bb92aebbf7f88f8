// SPDX-License-Identifier: Apache-2.0
//
// Early dispatch, as far as the graph takes part in it. A task that allows it is *announced* once all its blocks run. A
// consumer whose producers are all announced or complete is a *candidate*: a chip may place it behind gates.
#pragma once

#include <cstdint>

#include "graph/slot.hpp"

namespace heddle::graph {

// The word of a gate says whose it is, by the task's reference, so that a candidate that has become another task in the
// meantime is told from what it was.
enum class GateState : std::uint64_t {
  waits,   // for its producers
  staged,  // some scheduler has taken it, to place its blocks behind gates
  ready,   // its producers are complete
};
inline constexpr std::uint64_t gate_stagers = 256;
constexpr std::uint64_t gate_word(TaskRef ref, GateState state, std::uint32_t stager = 0) {
  return (ref << 10U) | (std::uint64_t{stager} << 2U) | static_cast<std::uint64_t>(state);
}
constexpr GateState gate_state(std::uint64_t word) { return static_cast<GateState>(word & 3U); }
constexpr std::uint32_t gate_stager(std::uint64_t word) {
  return static_cast<std::uint32_t>(word >> 2U) % std::uint32_t{gate_stagers};
}

// One of the things that keep a task from being a candidate is gone. True when it was the last.
template <base::Environment E>
bool unbar(Slot<E>& slot, std::uint32_t count = 1) {
  // relaxed: what a scheduler needs of the slot was published by link(), and goes through the lock of the candidates.
  return slot.early.bars.fetch_sub(count, std::memory_order_relaxed) == count;
}

// All blocks of the producer run: called once, before the end of the last one is told. `candidate` gets the consumers
// that wait for nothing else. Consumers that are linked from now on are unbarred when the producer completes.
template <base::Environment E, class Candidate>
void announce(Slot<E>& producer, Candidate&& candidate) {
  // acquire: the edges; partner is the release in link().
  Edge<E>* const first = producer.fanout.load(E::order("early_announce", std::memory_order_acquire));
  producer.early.announced.store(first);
  for (Edge<E>* edge = first; edge != nullptr; edge = edge->next.load()) {
    Slot<E>& consumer = *edge->consumer;
    if ((consumer.flags & slot_starts_early) != 0 && unbar(consumer)) candidate(consumer);
  }
}

}  // namespace heddle::graph
