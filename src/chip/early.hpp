// SPDX-License-Identifier: Apache-2.0
//
// Early dispatch: a task whose producers all run is placed on idle cores behind gates, which open when it is ready.
// That saves the way from a scheduler's turn to the core.
//
// Gated cores never keep anything from going on:
//   - Each producer of a gated task is complete, or all its blocks were seen to run on cores, and its kernel does not
//   wait
//     (slot_never_waits). So each gate opens by itself, whatever else is or is not placed.
//   - Tasks are gated only when nothing is ready, and on no more than a share of a scheduler's cores of one kind.
//
// A gate has one owner, the scheduler of the core, and only that one rings it. Whoever makes a staged task ready hands
// it to the scheduler that has staged it. The task's gate word (graph/early.hpp) decides who was first: whoever stages
// it, or whoever makes it ready.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "chip/candidates.hpp"
#include "chip/client.hpp"
#include "chip/geometry.hpp"
#include "chip/ready_queue.hpp"
#include "graph/early.hpp"

namespace heddle::chip {

// Takes note that a task is ready. Its stager, when a scheduler has placed it already, or gate_stagers.
template <base::Environment E>
std::uint32_t take_note_ready(graph::Slot<E>& slot) {
  if ((slot.flags & graph::slot_starts_early) == 0) return graph::gate_stagers;
  // relaxed: decides who was first. The stager goes on with what it did itself.
  const std::uint64_t before =
      slot.early.gate.exchange(graph::gate_word(slot.ref, graph::GateState::ready), std::memory_order_relaxed);
  return graph::gate_state(before) == graph::GateState::staged ? graph::gate_stager(before)
                                                               : std::uint32_t{graph::gate_stagers};
}

// A scheduler's part in it. What it asks of its scheduler S:
//   idle_room(shape)              idle lanes, in blocks of this shape
//   place_gated(slot, i, shape)   places block i on idle lanes, behind gates
//   ring_gates_of(slot)           rings the gates of the slot's parts
//   queue_ready(slot)             what is left of a task that is begun goes to the ready tasks
template <base::Environment E, class S>
class EarlyMember {
 public:
  using Slot = graph::Slot<E>;

  EarlyMember(Candidates<E>& candidates, Client<E>& client, S& scheduler, std::uint32_t index)
      : candidates_(candidates), client_(client), scheduler_(scheduler), index_(index) {}

  void set_bounds(const EarlyDispatch& rules, std::uint32_t cubes, std::uint32_t vectors) {
    on_ = rules.on;
    cubes_left_ = cubes * rules.share / 100;
    vectors_left_ = vectors * rules.share / 100;
  }

  // ---- from any agent: a task is ready that this scheduler has staged ----
  void release(Slot& slot) { released_.push(slot); }

  // ---- the scheduler itself ----

  bool has_gated() const { return staged_ != 0; }

  // Parts of the task were seen to run, or to have run: in the latter case nothing is announced, the end comes at once.
  void part_started(Slot& slot, bool runs) {
    if ((slot.flags & graph::slot_allows_early) == 0) return;
    // relaxed: announce() reads nothing that others wrote on account of their parts.
    const std::uint32_t left = slot.early.unstarted.fetch_sub(1, std::memory_order_relaxed) - 1;
    const std::uint32_t last = faulty<E>("chip_gates_fill_cores") ? slot.block_count - 1 : 0;
    if (left != last || !runs) return;
    E::mark("chip_announced");
    graph::announce(slot, [this](Slot& consumer) {
      pushed_ = true;
      candidates_.push(consumer);
    });
  }

  // Opens the gates of what is ready.
  void open_gates() {
    if (staged_ == 0) return;
    while (Slot* const slot = released_.pop()) {
      --staged_;
      const std::uint32_t placed = slot->next_block.load() / slot->parts();
      if (placed == 0) {  // it could not be prepared
        if (client_.begin(*slot)) scheduler_.queue_ready(*slot);
        continue;
      }
      give_back(slot->cores, placed);
      const bool more = slot->next_block.load() < slot->block_count;
      E::mark("chip_gate_opened");
      // Before its blocks run: with the last of them the slot may become another task.
      Slot& ready = *slot;
      scheduler_.ring_gates_of(ready);
      if (more) {
        E::mark("chip_gate_wave_left");
        scheduler_.queue_ready(ready);
      }
    }
  }

  // In each turn, after what is ready: places candidates, if nothing is ready. What came while something was is looked
  // at again in the next turn, for whatever reason that one comes.
  template <class Nothing>
  void stage(Nothing&& nothing_ready) {
    if (!may_stage()) return;
    seen_ = candidates_.pushes();
    if (!nothing_ready()) return;
    typename Candidates<E>::Entry entry;
    while (candidates_.take(entry, [this](std::uint32_t shape) { return room(shape) != 0; }))
      if (claim(entry)) place(*entry.slot, entry.shape);
  }

  // Instead of stage() in a turn that hands out nothing: a later one looks, and comes for another reason.
  void pass() {
    if (may_stage()) seen_ = candidates_.pushes();
  }

  // Whether this scheduler has found candidates since the last call and somebody else may still take one.
  bool leaves_some() { return std::exchange(pushed_, false) && !candidates_.empty(); }

  // Whether stage() may find something to place.
  bool may_stage() const { return on_ && !candidates_.empty() && has_room(); }

  // Whether there is something to do, asked before the scheduler sleeps, after its fence.
  bool something() const {
    if (staged_ != 0 && !released_.empty()) return true;
    return on_ && !candidates_.empty() && candidates_.pushes() != seen_ && has_room();
  }

 private:
  bool has_room() const {
    for (std::uint32_t shape = 0; shape < shape_count; ++shape)
      if (room(shape) != 0) return true;
    return false;
  }
  std::uint32_t room(std::uint32_t shape) const {
    std::uint32_t room = scheduler_.idle_room(shape);
    if (faulty<E>("chip_gates_fill_cores")) return room;
    const Cores cores = shapes[shape];
    if (cores.cubes != 0) room = std::min(room, cubes_left_ / cores.cubes);
    if (cores.vectors != 0) room = std::min(room, vectors_left_ / cores.vectors);
    return room;
  }

  bool claim(const typename Candidates<E>::Entry& entry) {
    auto& gate = entry.slot->early.gate;
    std::uint64_t expected = graph::gate_word(entry.ref, graph::GateState::waits);
    std::uint64_t staged = graph::gate_word(entry.ref, graph::GateState::staged, index_);
    if (faulty<E>("chip_candidate_any_generation")) {
      const std::uint64_t now = gate.load(std::memory_order_relaxed);
      if (graph::gate_state(now) != graph::GateState::waits) return false;
      expected = now;
      staged = now | graph::gate_word(0, graph::GateState::staged, index_);
    }
    // relaxed: as in take_note_ready(); the slot came through the lock of the candidates.
    const bool mine =
        gate.compare_exchange_strong(expected, staged, std::memory_order_relaxed, std::memory_order_relaxed);
    if (!mine) E::mark("chip_candidate_stale");
    return mine;
  }

  void place(Slot& slot, std::uint32_t shape) {
    ++staged_;
    if (!client_.prepare(slot)) return;
    const std::uint32_t parts = slot.parts();
    const std::uint32_t taken = std::min(room(shape), slot.block_count / parts);
    E::mark("chip_staged");
    cubes_left_ -= std::min(cubes_left_, taken * slot.cores.cubes);
    vectors_left_ -= std::min(vectors_left_, taken * slot.cores.vectors);
    slot.next_block.store(taken * parts);
    for (std::uint32_t i = 0; i < taken; ++i) scheduler_.place_gated(slot, i, shape);
  }

  void give_back(Cores cores, std::uint32_t blocks) {
    cubes_left_ += blocks * cores.cubes;
    vectors_left_ += blocks * cores.vectors;
  }

  Candidates<E>& candidates_;
  Client<E>& client_;
  S& scheduler_;
  const std::uint32_t index_;
  bool on_ = false;
  std::uint32_t cubes_left_ = 0;  // that may still stand behind gates
  std::uint32_t vectors_left_ = 0;
  std::uint32_t staged_ = 0;  // tasks that were claimed and are not ready
  bool pushed_ = false;
  std::uint32_t seen_ = 0;  // pushes at the last look
  ReadyQueue<E> released_;
};

}  // namespace heddle::chip
