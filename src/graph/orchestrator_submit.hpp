// SPDX-License-Identifier: Apache-2.0
//
// How an orchestrator checks, infers and writes a task: part of orchestrator.hpp.
#pragma once

#include "graph/orchestrator.hpp"

namespace heddle::graph {

template <base::Environment E>
void OrchestratorCore<E>::validate(const heddle::detail::TaskRequest& request) const {
  const auto refuse = [&](Code code, std::string message) {
    throw Error(code, std::move(message)).at_rank(rank).at_task(request.name.text, -1, request.name.location);
  };
  if (request.blocks < 1 || request.blocks > blocks_most)
    refuse(Code::invalid_argument,
           "spmd: " + std::to_string(request.blocks) + " blocks; allowed are 1 to " + std::to_string(blocks_most));
  const Cores cores = request.cores;
  if (cores.cubes > 1 || cores.vectors > 2 || cores.count() == 0)
    refuse(Code::invalid_argument, "cores: a block takes at most one cube and two vector cores, and at least one core");
  if (request.blocks * cores.count() > blocks_most)
    refuse(Code::invalid_argument, "spmd: " + std::to_string(request.blocks) + " blocks of " +
                                       std::to_string(cores.count()) + " cores; allowed are " +
                                       std::to_string(blocks_most) + " in all");
  if (request.sync_start && request.blocks > host_.width_for(cores))
    refuse(Code::sync_start_too_wide, "sync_start: " + std::to_string(request.blocks) +
                                          " blocks can never be placed together; the device is " +
                                          std::to_string(host_.width_for(cores)) + " wide");
  for (std::size_t i = 0; i < request.args.size(); ++i) {
    const auto& arg = request.args[i];
    if (arg.owner.task != 0 && !is_current(arg.owner.task))
      refuse(Code::invalid_argument,
             "argument " + std::to_string(i) + ": the tensor's scope has ended; its memory is no longer its own");
    const bool empty = std::any_of(arg.shape, arg.shape + arg.rank, [](std::int64_t extent) { return extent == 0; });
    if (arg.data == nullptr && !empty && arg.tag != heddle::detail::Tag::scratch &&
        arg.tag != heddle::detail::Tag::fresh)
      refuse(Code::invalid_argument, "argument " + std::to_string(i) + ": the tensor has no memory");
  }
  for (const auto& list : request.after) {
    for (const auto& handle : list) {
      if (handle.task == 0) refuse(Code::invalid_argument, "after: the handle names no task");
      if (!is_current(handle.task)) refuse(Code::invalid_argument, "after: the handle's scope has ended");
    }
  }
  if (request.predicate != nullptr) check_owner(request.predicate->owner, "when");
  if (request.conditions.size() > conditions_most)
    refuse(Code::invalid_argument, "completes_when: " + std::to_string(request.conditions.size()) +
                                       " conditions; a task has at most " + std::to_string(conditions_most) +
                                       ": give the others to a second task, after this one");
  for (const auto& condition : request.conditions)
    if (condition.signal.rank != rank)
      refuse(Code::invalid_argument, "completes_when: the signal belongs to rank " +
                                         std::to_string(condition.signal.rank) + ", not to this one");
}

// Finds the producers and sums up what the task takes from its ring. Changes nothing that is recorded.
template <base::Environment E>
RingRequest OrchestratorCore<E>::infer(const heddle::detail::TaskRequest& request, const ScopeFrame& scope) {
  begin_producers();
  RingRequest need;
  for (const auto& list : request.after)
    for (const auto& handle : list) add_producer(handle.task, true, false);
  for (const auto& arg : request.args) {
    if (arg.owner.task != 0)
      add_producer(arg.owner.task, !scope.manual && arg.tag != heddle::detail::Tag::no_dep, true);
    if (arg.tag == heddle::detail::Tag::scratch || arg.tag == heddle::detail::Tag::fresh)
      need.heap_bytes += round_up(arg.bytes);
    else if (!scope.manual && inferred(arg))
      map_.collect(region_of(arg), arg.tag == heddle::detail::Tag::in ? Access::read : Access::write, live(),
                   [this](TaskRef ref) { add_producer(ref, true, false); });
  }
  if (const auto* predicate = request.predicate; predicate != nullptr) {
    if (predicate->owner.task != 0) add_producer(predicate->owner.task, !scope.manual, true);
    if (!scope.manual)
      map_.collect(Region::contiguous(predicate->element, predicate->element_bytes), Access::read, live(),
                   [this](TaskRef ref) { add_producer(ref, true, false); });
  }
  need.heap_bytes += round_up(extra_bytes(request));
  need.edges = producers_.size();
  return need;
}

// Writes the slot, and hands out its memory: outputs and scratch first, then what does not fit inline.
template <base::Environment E>
void OrchestratorCore<E>::fill(Slot<E>& slot, heddle::detail::TaskRequest& request, const RingRequest& need) {
  const auto parts = static_cast<std::uint32_t>(request.blocks * request.cores.count());
  // relaxed: the slot is published by link() or by the ready queue.
  slot.fanout.store(nullptr, std::memory_order_relaxed);
  slot.pins.store(0, std::memory_order_relaxed);
  slot.blocks_left.store(parts, std::memory_order_relaxed);
  slot.kind = base::Work::Kind::task;
  slot.next_block.store(0);
  slot.block_count = parts;
  slot.cores = request.cores;
  slot.number = static_cast<std::uint32_t>(submitted_);
  slot.flags = need.heap_bytes > 0 ? slot_owns_memory : 0U;
  if (request.sync_start) slot.flags |= slot_sync_start;
  if (request.allow_early) slot.flags |= slot_never_waits;
  if (early_) fill_early(slot, request);
  slot.invoke.store(request.invoke);
  slot.name = request.name.text;
  slot.location = request.name.location;
  slot.destroy = request.destroy;
  slot.edge_count = static_cast<std::uint32_t>(producers_.size());
  slot.condition_count = 0;
  slot.memory_bytes = 0;
  slot.closure = slot.inline_closure;
  for (const auto& producer : producers_) {
    if (!producer.retain) continue;
    slot.flags |= slot_retains;
    producer.slot->pins.fetch_add(1, std::memory_order_relaxed);  // relaxed: only its own orchestrator retires it
  }
  for (const auto& arg : request.args)
    if (arg.tag != heddle::detail::Tag::in && arg.data != nullptr && host_.in_own_window(arg.data))
      slot.flags |= slot_writes_window;
  if (need.heap_bytes > 0) place_memory(slot, request);
}

template <base::Environment E>
void OrchestratorCore<E>::fill_early(Slot<E>& slot, const heddle::detail::TaskRequest& request) {
  if (request.allow_early && request.invoke != nullptr && request.conditions.empty()) slot.flags |= slot_allows_early;
  const bool waits = std::any_of(producers_.begin(), producers_.end(), [](const Producer& each) { return each.wait; });
  const bool allowed = std::all_of(producers_.begin(), producers_.end(), [](const Producer& each) {
    return !each.wait || (each.slot->flags & slot_allows_early) != 0;
  });
  // What decides at its start whether, or with whom, it runs is not placed before that.
  if (waits && allowed && request.invoke != nullptr && request.predicate == nullptr && !request.sync_start)
    slot.flags |= slot_starts_early;
  // relaxed: the slot is published by link(), by candidate() or by the ready queue.
  slot.early.unstarted.store(slot.block_count, std::memory_order_relaxed);
  slot.early.gate.store(gate_word(slot.ref, GateState::waits), std::memory_order_relaxed);
  slot.early.announced.store(nullptr);
}

template <base::Environment E>
void OrchestratorCore<E>::place_memory(Slot<E>& slot, heddle::detail::TaskRequest& request) {
  std::byte* next = slot.memory;
  for (auto& arg : request.args) {
    if (arg.tag != heddle::detail::Tag::scratch && arg.tag != heddle::detail::Tag::fresh) continue;
    arg.data = next;
    next += round_up(arg.bytes);
  }
  slot.memory_bytes = static_cast<std::uint64_t>(next - slot.memory);
  if (checked_ && slot.memory_bytes > 0) slot.flags |= slot_poison;
  if (request.predicate != nullptr) {
    slot.flags |= slot_has_predicate;
    slot.predicate = new (next) heddle::detail::PredicateRecord(*request.predicate);
    next += predicate_bytes;
  }
  if (!request.conditions.empty()) {
    slot.flags |= slot_has_conditions;
    slot.condition_count = static_cast<std::uint32_t>(request.conditions.size());
    slot.conditions = next;
    for (const auto& condition : request.conditions) {
      new (next) heddle::detail::ConditionRecord(condition);
      next += deferred_condition_bytes;
    }
  }
  if (closure_is_large(request)) {
    const auto align = static_cast<std::uintptr_t>(request.closure_align);
    slot.closure = reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(next) + align - 1) / align * align);
  }
}

}  // namespace heddle::graph
