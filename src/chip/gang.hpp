// SPDX-License-Identifier: Apache-2.0
//
// Tasks whose blocks start together (sync_start). All blocks are placed behind gates, and rung when all are placed.
//
// A scheduler that has idle cores for all blocks does that alone. Otherwise it coordinates an attempt, one at a time on
// a device:
//
//   drain   nobody hands out anything. Each scheduler offers the idle cores that it has, and offers more as they come.
//   place   the offers suffice: each scheduler places its share behind gates
//   ring    everything is placed: each scheduler rings the gates of its own cores, once
//   none    the end of an attempt, also of one that failed: what runs may wait for something that is not handed out
//           while others drain, so that a drain has a bound. A failed attempt is made again when a core has come free
//           since, with twice the bound, and after every scheduler has handed out what it had.
//
// The coordinator announces a phase with the attempt's number in one word, and every answer carries that word: what a
// scheduler answered to an earlier attempt counts for nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "chip/faulty.hpp"
#include "chip/ready_queue.hpp"

namespace heddle::chip {

enum class GangPhase : std::uint32_t { none, drain, place, ring };

// What the schedulers of a device share for this.
template <base::Environment E>
struct Gang {
  template <class T>
  using Atomic = typename E::template Atomic<T>;
  using Slot = graph::Slot<E>;

  static constexpr std::uint32_t nobody = UINT32_MAX;

  struct Member {
    Atomic<std::uint64_t> answer{0};  // the word that it answers, and how many blocks
    // Its share, written by the coordinator before the word of the phase place.
    typename E::template Plain<std::uint32_t> first{};
    typename E::template Plain<std::uint32_t> count{};
  };

  explicit Gang(std::uint32_t schedulers) {
    for (std::uint32_t i = 0; i < schedulers; ++i) members.push_back(std::make_unique<Member>());
  }

  ReadyQueue<E> waiting;  // begun, and no block is placed
  Atomic<std::uint32_t> coordinator{nobody};
  Atomic<std::uint32_t> word{0};                  // attempt and phase
  typename E::template Plain<Slot*> candidate{};  // whom the attempt is for; written before its first word
  Atomic<std::uint32_t> finishes{0};              // of parts, while there is a coordinator
  std::vector<std::unique_ptr<Member>> members;

  static constexpr GangPhase phase_of(std::uint32_t word) { return static_cast<GangPhase>(word & 3U); }
};

// A scheduler's part in it. What it asks of its scheduler S:
//   idle_room(shape)             idle lanes, in blocks of this shape
//   place_gated(slot, i, shape)  places block i on idle lanes, behind gates
//   ring_gates_of(slot)          rings them
//   poke_scheduler(i)            wakes scheduler i, if it is parked
template <base::Environment E, class S>
class GangMember {
 public:
  using Slot = graph::Slot<E>;

  GangMember(Gang<E>& gang, S& scheduler, std::uint32_t index) : gang_(gang), scheduler_(scheduler), index_(index) {}

  // In each turn, before anything else is handed out. True: nothing else may be.
  bool turn(std::uint64_t bound) {
    do {
      follow();
      if (!coordinates() && !claim()) break;
    } while (drive(bound));
    return phase() != GangPhase::none;
  }

  // In each turn that was free to hand out what was ready, after it.
  void handed_out() {
    // relaxed: only told to the coordinator, who wrote it.
    const std::uint32_t word = gang_.word.load(std::memory_order_relaxed);
    if (word == followed_ && Gang<E>::phase_of(word) == GangPhase::none) answer(word, 1);
  }

  // A part of some task has ended on one of this scheduler's cores.
  void part_finished() {
    // relaxed: a coordinator that comes later is offered the core in any case.
    const std::uint32_t coordinator = gang_.coordinator.load(std::memory_order_relaxed);
    if (coordinator == Gang<E>::nobody) return;
    gang_.finishes.fetch_add(1, std::memory_order_relaxed);  // relaxed: the fence of poke() orders it
    if (coordinator != index_) poke(coordinator);
  }

  // Whether there is something to do, asked before the scheduler sleeps, after its fence.
  bool something() const {
    // relaxed: the look itself is ordered by the fence; whoever acts on it loads again.
    if (gang_.word.load(std::memory_order_relaxed) != followed_) return true;
    if (coordinates()) return can_drive();
    return !gang_.waiting.empty() && gang_.coordinator.load(std::memory_order_relaxed) == Gang<E>::nobody;
  }

  // Until when the scheduler may sleep: the end of a drain's bound. A drain that some have not answered yet cannot
  // fail: they may have idle cores for which nothing will finish any more.
  std::uint64_t deadline() const {
    const bool drains = coordinates() && phase() == GangPhase::drain && !faulty<E>("chip_drain_no_exit");
    return drains && (all_answered() || faulty<E>("chip_drain_impatient")) ? deadline_ : UINT64_MAX;
  }

  bool coordinates() const { return mine_ != nullptr; }

  // For reports, when no agent runs: the task whose attempts this scheduler makes, or null.
  const Slot* task() const { return mine_; }
  bool has_failed() const { return failures_ != 0; }  // an attempt for it

 private:
  static constexpr std::uint32_t most_doublings = 20;

  GangPhase phase() const { return Gang<E>::phase_of(followed_); }

  // ---- as a member ----

  void follow() {
    // acquire: partner is the release in announce().
    const std::uint32_t word = gang_.word.load(std::memory_order_acquire);
    const bool is_new = word != followed_;
    followed_ = word;
    switch (phase()) {
      case GangPhase::none:
        break;
      case GangPhase::drain:
        answer(word, scheduler_.idle_room(shape_of(gang_.candidate.load()->cores)));
        break;
      case GangPhase::place:
        if (is_new) place_share();
        answer(word, 1);
        break;
      case GangPhase::ring:
        if (is_new) scheduler_.ring_gates_of(*gang_.candidate.load());
        answer(word, 1);
        break;
    }
  }

  void place_share() {
    const auto& share = *gang_.members[index_];
    Slot& slot = *gang_.candidate.load();
    const std::uint32_t first = share.first.load(), count = share.count.load();
    for (std::uint32_t i = 0; i < count; ++i) scheduler_.place_gated(slot, first + i, shape_of(slot.cores));
  }

  void answer(std::uint32_t word, std::uint32_t blocks) {
    const std::uint64_t value = (std::uint64_t{word} << 32U) | blocks;
    if (value == answered_) return;
    answered_ = value;
    // release: what is placed; partner is the acquire in answer_of().
    gang_.members[index_]->answer.store(value, std::memory_order_release);
    // acquire is not needed: a coordinator that is seen late has announced nothing new.
    const std::uint32_t coordinator = gang_.coordinator.load(std::memory_order_relaxed);
    if (coordinator != Gang<E>::nobody && coordinator != index_) poke(coordinator);
  }

  void poke(std::uint32_t scheduler) {
    // seq_cst: what was stored before is seen by whoever is not seen to sleep; partner is the fence in
    // Scheduler::sleep().
    E::fence(E::order("chip_gang_fence", std::memory_order_seq_cst));
    scheduler_.poke_scheduler(scheduler);
  }

  // ---- as the coordinator ----

  // Takes the next waiting task, unless somebody else is at one.
  bool claim() {
    // seq_cst: who leaves a task waiting sees that nobody coordinates, or the one who does sees the task; partner is
    // the fence in release_role().
    E::fence(std::memory_order_seq_cst);
    if (gang_.waiting.empty()) return false;
    std::uint32_t nobody = Gang<E>::nobody;
    // acq_rel: what the last coordinator wrote; partner is the release in release_role().
    if (!gang_.coordinator.compare_exchange_strong(nobody, index_, std::memory_order_acq_rel,
                                                   std::memory_order_relaxed))
      return false;
    follow();  // what the last coordinator announced before it released the role
    mine_ = gang_.waiting.pop();
    if (mine_ == nullptr) {
      release_role();
      return false;
    }
    failures_ = 0;
    if (scheduler_.idle_room(shape_of(mine_->cores)) < blocks()) return true;
    E::mark("chip_gang_alone");
    for (std::uint32_t i = 0; i < blocks(); ++i) scheduler_.place_gated(*mine_, i, shape_of(mine_->cores));
    take_all();
    scheduler_.ring_gates_of(*mine_);
    release_role();
    return true;
  }

  void release_role() {
    mine_ = nullptr;
    // release: partner is the exchange in claim().
    gang_.coordinator.store(Gang<E>::nobody, std::memory_order_release);
    E::fence(std::memory_order_seq_cst);  // see claim(); this scheduler looks again before it sleeps
  }

  std::uint32_t blocks() const { return mine_->block_count / mine_->parts(); }
  void take_all() { mine_->next_block.store(mine_->block_count); }

  // One step of the attempt. True when there may be another.
  bool drive(std::uint64_t bound) {
    if (mine_ == nullptr) return !gang_.waiting.empty();
    if (!can_drive()) return false;
    switch (phase()) {
      case GangPhase::none:
        begin_attempt(bound);
        break;
      case GangPhase::drain:
        if (offered() >= blocks()) {
          share_out();
          announce(GangPhase::place);
        } else {
          E::mark("chip_gang_failed");
          failures_ = std::min(failures_ + 1, most_doublings);
          announce(GangPhase::none);
        }
        break;
      case GangPhase::place:
        take_all();
        announce(GangPhase::ring);
        break;
      case GangPhase::ring:
        E::mark("chip_gang_together");
        announce(GangPhase::none);
        release_role();
        break;
    }
    return true;
  }

  bool can_drive() const {
    switch (phase()) {
      case GangPhase::none:
        if (faulty<E>("chip_overtaken_gang")) return false;
        return failures_ == 0 || (gang_.finishes.load(std::memory_order_relaxed) != seen_finishes_ && all_answered());
      case GangPhase::drain:
        return offered() >= blocks() || E::now() >= deadline();
      default:
        return all_answered();
    }
  }

  void begin_attempt(std::uint64_t bound) {
    // relaxed: what comes free later is counted, or offered.
    seen_finishes_ = gang_.finishes.load(std::memory_order_relaxed);
    gang_.candidate.store(mine_);
    deadline_ = E::now() + (bound << failures_);
    announce(GangPhase::drain);
  }

  void announce(GangPhase phase) {
    // Attempts of all coordinators are numbered in one row.
    std::uint32_t attempt = followed_ >> 2U;
    if (phase == GangPhase::drain) ++attempt;
    // release: the share, the candidate; partner is the acquire in follow().
    gang_.word.store((attempt << 2U) | static_cast<std::uint32_t>(phase), std::memory_order_release);
    for (std::uint32_t i = 0; i < gang_.members.size(); ++i)
      if (i != index_) poke(i);
    follow();
  }

  // What a member answered to the present word; none when its answer is to an earlier one.
  std::uint64_t answer_of(std::uint32_t member) const {
    // acquire: partner is the release in answer().
    const std::uint64_t value = gang_.members[member]->answer.load(std::memory_order_acquire);
    const auto to = static_cast<std::uint32_t>(value >> 32U);
    const bool counts = to == followed_ || faulty<E>("chip_drain_aba");
    return counts ? (value & UINT32_MAX) | answered_bit : 0;
  }
  static constexpr std::uint64_t answered_bit = std::uint64_t{1} << 32U;

  bool all_answered() const {
    for (std::uint32_t i = 0; i < gang_.members.size(); ++i)
      if (answer_of(i) == 0) return false;
    return true;
  }
  std::uint64_t offered() const {
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < gang_.members.size(); ++i) sum += answer_of(i) & UINT32_MAX;
    return sum;
  }

  void share_out() {
    std::uint32_t next = 0;
    for (std::uint32_t i = 0; i < gang_.members.size(); ++i) {
      const auto offer = static_cast<std::uint32_t>(answer_of(i));
      const std::uint32_t count = std::min(offer, blocks() - next);
      gang_.members[i]->first.store(next);
      gang_.members[i]->count.store(count);
      next += count;
    }
  }

  Gang<E>& gang_;
  S& scheduler_;
  const std::uint32_t index_;
  Slot* mine_ = nullptr;        // whose attempts this scheduler coordinates
  std::uint32_t followed_ = 0;  // the last word that was acted on
  std::uint64_t answered_ = 0;  // the last answer
  std::uint32_t failures_ = 0;  // of mine_
  std::uint32_t seen_finishes_ = 0;
  std::uint64_t deadline_ = 0;
};

}  // namespace heddle::chip
