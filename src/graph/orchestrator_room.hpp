// SPDX-License-Identifier: Apache-2.0
//
// How an orchestrator waits for room, and what it says when there never will be any: part of orchestrator.hpp.
#pragma once

#include "graph/orchestrator.hpp"

namespace heddle::graph {

template <base::Environment E>
bool OrchestratorCore<E>::make_map_room(const heddle::detail::TaskRequest& request) {
  const std::uint32_t count = accesses(request);
  if (count > map_.capacity()) {
    failed_ = true;
    host_.fail(region_map_too_small(count, map_.capacity(), request.name.text, request.name.location));
    return false;
  }
  while (!map_.reserve(count, live())) {
    if (stopped()) return false;
    TaskRef holder = 0;
    map_.for_each_holder(live(), [&](const Region&, Access, TaskRef ref) { holder = ref; });
    if (holder != 0)
      wait_for_task(*const_cast<Slot<E>*>(find(holder)), {OrchestratorWait::What::region_map, Resource::none, 0, holder,
                                                          request.name.text, request.name.location});
  }
  return true;
}

template <base::Environment E>
bool OrchestratorCore<E>::make_room(Ring<E>& ring, const RingRequest& need,
                                    const heddle::detail::TaskRequest& request) {
  while (ring.lacking(need) != Resource::none) {
    if (ring.advance()) continue;
    if (stopped()) return false;
    const Resource lacking = ring.lacking(need);
    if (const Resource held = ring.lacking_for_good(need); held != Resource::none) {
      deadlock(ring, held, need, request, false);
      return false;
    }
    wait_for(ring, {OrchestratorWait::What::ring, lacking, ring.index(), 0, request.name.text, request.name.location});
  }
  return true;
}

// Waits until some of the ring's oldest tasks may retire. A quarter of the window at a time, so that a program that
// runs ahead of its tasks is not woken for each of them.
template <base::Environment E>
void OrchestratorCore<E>::wait_for(Ring<E>& ring, OrchestratorWait wait) {
  ++waits_;
  if (wait.what == OrchestratorWait::What::ring) ring.count_wait();
  const std::uint64_t oldest = ring.tail();
  const std::uint64_t end = std::min(ring.open_from(), ring.head());
  std::uint64_t target = std::min(oldest + ring.config().task_window / 4, end - 1);
  if (ring.slot(target).complete()) target = oldest;
  wait.task = ring.slot(target).ref;
  Slot<E>& slot = ring.slot(target);
  if (!slot.complete()) {
    wait_for_task(slot, wait);
  } else if (!Ring<E>::retired(slot)) {
    wait_for_readers(slot, wait);
  }
}

template <base::Environment E>
void OrchestratorCore<E>::wait_for_task(Slot<E>& slot, const OrchestratorWait& wait) {
  E::mark("orchestrator_waited");
  waker_.closure = host_.current_fiber();
  // relaxed: published by the link.
  waker_.fan_in.store(1, std::memory_order_relaxed);
  waker_edge_.consumer = &waker_;
  waker_edge_.retained = nullptr;
  if (!link(slot, waker_edge_)) return;  // it has completed meanwhile
  ++waits_;
  wait_ = wait;
  host_.suspend();
  wait_ = {};
}

template <base::Environment E>
void OrchestratorCore<E>::wait_for_readers(Slot<E>& slot, const OrchestratorWait& wait) {
  E::mark("orchestrator_waited_for_readers");
  readers_waker_ = host_.current_fiber();
  // acq_rel: publishes readers_waker_ to the last reader; acquires its reads when it was faster.
  if (slot.pins.fetch_add(Slot<E>::waiting_pin, std::memory_order_acq_rel) != 0) {
    wait_ = wait;
    host_.suspend();
    wait_ = {};
  }
  slot.pins.fetch_sub(Slot<E>::waiting_pin, std::memory_order_relaxed);  // relaxed: only this orchestrator looks for it
}

template <base::Environment E>
void OrchestratorCore<E>::deadlock(Ring<E>& ring, Resource resource, const RingRequest& need,
                                   const heddle::detail::TaskRequest& request, bool exceeds) {
  const ScopeFrame* holder = scopes_.holder(ring.index());
  stuck_ = {};
  stuck_.resource = resource;
  stuck_.ring = ring.index();
  stuck_.request = need;
  stuck_.exceeds = exceeds;
  stuck_.one_scope = scopes_.holders(ring.index()) <= 1;
  stuck_.held_tasks = ring.head() - ring.open_from();
  stuck_.held_heap = ring.heap_held();
  stuck_.held_edges = ring.edges_held();
  stuck_.task = request.name.text;
  stuck_.location = request.name.location;
  if (holder != nullptr) stuck_.holder = holder->location;
  failed_ = true;
  note_scopes(0);
  sizing_ = true;
  for (auto& each : rings_) each->begin_pretending();
}

// The scopes from this depth on are about to end: what they hold they will not hold more of.
template <base::Environment E>
void OrchestratorCore<E>::note_scopes(std::size_t depth) {
  if (sizing_) return;  // rings pretend, and all scopes were noted before
  scopes_.for_each_from(depth, [this](const ScopeFrame& frame) {
    if (frame.first != 0) book_.held(frame.use, rings_[frame.ring]->taken_from(frame.first));
  });
}

template <base::Environment E>
RoomUse OrchestratorCore<E>::room_use() const {
  RoomUse use;
  for (std::uint32_t i = 0; i < ring_count; ++i) use.rings[i] = {rings_[i]->taken_at_most(), rings_[i]->waits()};
  use.scopes = book_.uses();
  return use;
}

// A rank that no longer runs: the program goes on to its end, so that a too small ring can be sized.
template <base::Environment E>
heddle::detail::Placement OrchestratorCore<E>::place_nothing(heddle::detail::TaskRequest& request) {
  std::uint64_t bytes = 0;
  for (auto& arg : request.args) {
    if (arg.tag != heddle::detail::Tag::scratch && arg.tag != heddle::detail::Tag::fresh) continue;
    arg.data = rings_[0]->heap_base();
    bytes += round_up(arg.bytes);
  }
  ScopeFrame& scope = scopes_.innermost();
  if (sizing_) {
    Ring<E>& ring = *rings_[scope.ring];
    if (scope.first == 0) scope.first = ring.head();
    ring.pretend({bytes + round_up(extra_bytes(request)), 0});
  }
  if (++refused_ > refused_most) throw base::Cancelled{};  // a program that never asks whether it should stop
  return {nullptr, {1}};
}

template <base::Environment E>
void OrchestratorCore<E>::report_sizing() {
  sizing_ = false;
  Ring<E>& ring = *rings_[stuck_.ring];
  stuck_.needed_window = ring.needed_window();
  stuck_.needed_heap = ring.needed_heap();
  for (auto& each : rings_) each->stop_pretending();
  host_.fail(ring_deadlock(stuck_, ring.config()));
}

}  // namespace heddle::graph
