// SPDX-License-Identifier: Apache-2.0
//
// A task in flight. Slots live in rings and are reused in order.
//
// state       who moves it            how
// submitted   orchestrator            commit() links its edges and drops the guard of fan_in
// ready       whoever drops fan_in to zero (orchestrator or a completing worker) queues the slot; a queued slot is in
//             exactly one queue, and whoever takes it owns next_block until it queues it again
// complete    the worker that ends the last block or the last deferred condition: complete() closes `fanout`
// retired     orchestrator, in ring order: complete, no pins, and its scope has ended
#pragma once

#include <cstddef>
#include <cstdint>
#include <heddle/graph.hpp>

#include "base/environment.hpp"
#include "base/work.hpp"
#include "graph/region_map.hpp"

namespace heddle::graph {

// Room that a deferred condition takes in the task's memory, for the backend's use; its record stands first.
inline constexpr std::size_t deferred_condition_bytes = 160;
inline constexpr std::size_t conditions_most = 64;  // of one task

template <base::Environment E>
struct Slot;

// From a producer to a consumer; belongs to the consumer's ring and goes with it.
template <base::Environment E>
struct Edge {
  typename E::template Plain<Edge*> next{};  // in the producer's list; published with it
  Slot<E>* consumer = nullptr;
  Slot<E>* retained = nullptr;  // whose memory the consumer uses: unpinned when the consumer completes
};

enum SlotFlag : std::uint32_t {
  slot_has_predicate = 1U,
  slot_has_conditions = 2U,
  slot_owns_memory = 4U,    // others may pin it
  slot_writes_window = 8U,  // its completion may satisfy waits of its own rank
  slot_poison = 16U,
  slot_retains = 32U,        // some of its edges pin memory
  slot_sync_start = 64U,     // no block begins before all are placed
  slot_allows_early = 128U,  // its consumers may be placed behind gates while it runs
  slot_starts_early = 256U,  // all its producers allow that
  slot_never_waits = 512U,   // others rely on its kernel to end by itself
};

// What early dispatch keeps in a task; see graph/early.hpp.
template <base::Environment E>
struct Early {
  typename E::template Atomic<std::uint32_t> unstarted{0};  // parts that were not seen to run
  typename E::template Atomic<std::uint32_t> bars{
      0};  // producers neither announced nor complete (+ 1 of the orchestrator)
  typename E::template Atomic<std::uint64_t> gate{0};  // a gate_word()
  typename E::template Plain<Edge<E>*> announced{};    // first edge that announce() has seen
};

template <base::Environment E>
struct alignas(64) Slot : base::Work {
  static constexpr std::size_t inline_closure_bytes = 128;
  static constexpr std::uint32_t waiting_pin = 1U << 31U;

  explicit Slot(Kind work_kind = Kind::task) : Work(work_kind) {}

  // First line: what scheduling touches.
  typename E::template Atomic<Edge<E>*> fanout{nullptr};  // consumers; closed() once complete
  typename E::template Atomic<std::uint32_t> fan_in{0};   // producers left, and the orchestrator's guard
  typename E::template Atomic<std::uint32_t> blocks_left{0};
  typename E::template Atomic<std::uint32_t> pins{0};  // live tasks that use this task's memory (+ waiting_pin)
  typename E::template Plain<std::uint32_t> next_block{};
  std::uint32_t block_count = 1;  // what is handed out one by one: the parts of its blocks
  std::uint32_t flags = 0;
  typename E::template Plain<heddle::detail::Invoke> invoke{};
  void* closure = nullptr;

  // Second line: who it is.
  TaskRef ref = 0;
  void* rank = nullptr;  // of the backend
  const char* name = "";
  Location location;
  heddle::detail::Destroy destroy = nullptr;
  std::uint64_t first_edge = 0;
  std::uint32_t edge_count = 0;
  std::uint32_t condition_count = 0;
  std::uint64_t scope = 0;   // that it was submitted in
  std::uint32_t number = 0;  // of its rank's submits in this round, from 0
  Cores cores;               // that a block takes

  // Third line: only some tasks.
  heddle::detail::PredicateRecord* predicate = nullptr;
  std::byte* conditions = nullptr;  // condition_count times deferred_condition_bytes
  std::byte* memory = nullptr;      // runtime-allocated outputs and scratch
  std::uint64_t memory_bytes = 0;
  Edge<E>* edges = nullptr;  // the ring's edge pool
  std::uint64_t edge_mask = 0;

  Early<E> early;

  alignas(64) std::byte inline_closure[inline_closure_bytes];

  static Edge<E>* closed() { return reinterpret_cast<Edge<E>*>(std::uintptr_t{1}); }

  // acquire: partner is the exchange in complete(); who sees it closed sees all that the task did.
  bool complete() const {
    return fanout.load(E::order("slot_complete_acquire", std::memory_order_acquire)) == closed();
  }

  // Cores that a block takes: its kernel runs once on each of them.
  std::uint32_t parts() const { return static_cast<std::uint32_t>(cores.count()); }

  Edge<E>& edge(std::uint32_t i) { return edges[(first_edge + i) & edge_mask]; }
};

// Receives slots that became ready. Called by the orchestrator and by workers.
template <base::Environment E>
class ReadySink {
 public:
  virtual void ready(Slot<E>& slot) = 0;

 protected:
  ~ReadySink() = default;
};

// Drops one of the things that a slot waits for. True when that was the last.
template <base::Environment E>
bool satisfy(Slot<E>& slot, std::uint32_t count = 1) {
  // acq_rel: a release sequence over all producers; whoever drops the last sees what every one of them published.
  return slot.fan_in.fetch_sub(count, E::order("fan_in_drop", std::memory_order_acq_rel)) == count;
}

struct NothingStartsEarly {
  template <class S>
  void operator()(S&) const {}
};

// Ends a task whose blocks and conditions are done: gives back what it holds, then releases its consumers. The slot may
// be reused by its orchestrator as soon as `fanout` is closed, so that comes last. `unbarred` gets the consumers that
// an early start need not wait for any more on account of this task.
template <base::Environment E, class Ready, class Unpinned, class Unbarred = NothingStartsEarly>
void complete(Slot<E>& slot, Ready&& ready, Unpinned&& unpinned, Unbarred&& unbarred = {}) {
  if (slot.destroy != nullptr && slot.closure != nullptr) slot.destroy(slot.closure);
  for (std::uint32_t i = 0; (slot.flags & slot_retains) != 0 && i < slot.edge_count; ++i) {
    Slot<E>* retained = slot.edge(i).retained;
    // acq_rel: partner is the acquire of pins by the retiring orchestrator, which then reuses the memory.
    if (retained != nullptr &&
        retained->pins.fetch_sub(1, E::order("unpin", std::memory_order_acq_rel)) == (Slot<E>::waiting_pin | 1U))
      unpinned(*retained);
  }
  const bool bars = (slot.flags & slot_allows_early) != 0;
  const Edge<E>* const announced = bars ? slot.early.announced.load() : nullptr;
  bool known = false;
  // acq_rel: acquires the edges that the orchestrator linked; releases the task's effects to whoever sees it closed.
  Edge<E>* edge = slot.fanout.exchange(Slot<E>::closed(), E::order("slot_close", std::memory_order_acq_rel));
  while (edge != nullptr) {
    Edge<E>* next = edge->next.load();  // the edge goes with its consumer, which may run to its end once satisfied
    Slot<E>& consumer = *edge->consumer;
    known |= edge == announced;
    if (bars && !known && (consumer.flags & slot_starts_early) != 0) unbarred(consumer);
    if (satisfy(consumer)) ready(consumer);
    edge = next;
  }
}

// Makes `edge.consumer` wait for the producer. False when the producer is complete already.
template <base::Environment E>
bool link(Slot<E>& producer, Edge<E>& edge) {
  Edge<E>* head = producer.fanout.load(std::memory_order_relaxed);  // relaxed: checked by the compare-and-swap
  while (head != Slot<E>::closed()) {
    edge.next.store(head);
    // release: partner is the exchange in complete(), which reads the edge. acquire on failure: it may be closed.
    if (producer.fanout.compare_exchange_strong(head, &edge, E::order("link_publish", std::memory_order_release),
                                                std::memory_order_acquire))
      return true;
  }
  // acquire: partner is the exchange in complete(), when the first load already saw it closed.
  return producer.fanout.load(std::memory_order_acquire) != Slot<E>::closed();
}

}  // namespace heddle::graph
