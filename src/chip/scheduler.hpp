// SPDX-License-Identifier: Apache-2.0
//
// A scheduler processor: sees what its cores have done, hands out what is ready, and sleeps when there is nothing of
// either. Cluster c belongs to scheduler c % schedulers.
//
// A turn begins with the loads of all busy cores' status registers, one after the other; its whole cost is charged
// there, so that a turn is one step of virtual time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "chip/apart.hpp"
#include "chip/candidates.hpp"
#include "chip/core.hpp"
#include "chip/early.hpp"
#include "chip/faulty.hpp"
#include "chip/gang.hpp"
#include "chip/protocol.hpp"
#include "chip/ready_queue.hpp"
#include "chip/seats.hpp"

namespace heddle::chip {

template <base::Environment E>
class Scheduler;
template <base::Environment E>
struct Exchange;

// After something was queued: wakes a parked scheduler that can serve it, one with idle cores if there is one. Those
// that are awake look before they park. `from` is the calling scheduler, or null; `anyone`: any scheduler will do.
template <base::Environment E>
void poke_one(Exchange<E>& exchange, std::uint32_t shape, const Scheduler<E>* from, bool anyone = false);

// The tasks that are ready on a device, and the schedulers that share them.
template <base::Environment E>
struct Exchange {
  explicit Exchange(std::uint32_t count) : gang(count) {}

  ReadyQueue<E> incoming;            // not begun
  ReadyQueue<E> ready[shape_count];  // begun
  Gang<E> gang;                      // begun, with sync_start
  Candidates<E> candidates;          // not ready, and may be placed behind gates
  std::vector<std::unique_ptr<Scheduler<E>>> schedulers;
};

template <base::Environment E>
class Scheduler {
 public:
  using Slot = graph::Slot<E>;

  Scheduler(Common<E>& common, Exchange<E>& exchange, std::uint32_t index)
      : common_(common),
        exchange_(exchange),
        index_(index),
        lanes_(common.config.geometry, clusters()),
        gang_(exchange.gang, *this, index),
        early_(exchange.candidates, common.client, *this, index) {
    const Geometry& geometry = common.config.geometry;
    for (std::uint32_t i = 0; i < clusters(); ++i)
      for (std::uint32_t lane = 0; lane < geometry.lanes(); ++lane) {
        const std::uint32_t cluster = index + i * geometry.schedulers;
        cores_.push_back(std::make_unique<Core<E>>(common, cluster * geometry.lanes() + lane, parker_));
        seats_.emplace_back(*cores_.back());
      }
    busy_.reserve(seats_.size());
    early_.set_bounds(common.config.early, clusters(), clusters() * geometry.vectors_per_cluster);
    idle_rooms_.store(rooms() & idle_rooms_mask, std::memory_order_relaxed);  // relaxed: no agent runs yet
  }
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // The body of the scheduler's agent; returns after Device::stop().
  void run() {
    void* const before = std::exchange(E::self(), this);
    while (!common_.stopped()) {
      turn();
      sleep();
    }
    E::self() = before;
  }

  // ---- from any agent ----

  // What a parked scheduler could serve: for each shape, whether it has idle cores, and whether it has pending slots.
  static constexpr std::uint32_t idle_bit(std::uint32_t shape) { return 1U << shape; }
  static constexpr std::uint32_t open_bit(std::uint32_t shape) { return 1U << (shape + 8U); }
  static constexpr std::uint32_t parked_bit = 1U << 31U;
  static constexpr std::uint32_t idle_rooms_mask = 0xffU;

  // Wakes this scheduler if it is parked and could serve one of these.
  bool poke(std::uint32_t wanted) {
    // relaxed: after the fence of poke_one().
    if ((parked_.load(std::memory_order_relaxed) & wanted) == 0) return false;
    // acq_rel: of several pokers one wakes it.
    if (parked_.exchange(0, std::memory_order_acq_rel) == 0) return false;
    parker_.unpark_in(E::latency("latency.poll", common_.config.timing.cached_poll));
    return true;
  }
  void wake() { parker_.unpark(); }

  // A task is ready that this scheduler has staged.
  void release(Slot& slot) {
    early_.release(slot);
    if (E::self() == this) return;
    // seq_cst: after the task was queued; partner is the fence in sleep().
    E::fence(E::order("chip_release_fence", std::memory_order_seq_cst));
    (void)poke(parked_bit);
  }

  // ---- for its GangMember and EarlyMember ----
  std::uint32_t idle_room(std::uint32_t shape) const { return lanes_.room(shape, Where::idle); }
  void place_gated(Slot& slot, std::uint32_t block, std::uint32_t shape) {
    if (lanes_.room(shape, Where::idle) != 0) place(slot, block, shape, Where::idle, true);
  }
  void ring_gates_of(const Slot& slot) {
    for (const std::uint32_t i : busy_) {
      Seat<E>& seat = seats_[i];
      if (!seat.gated || seat.running.slot != &slot) continue;
      seat.gated = false;
      ++rings_;
      E::charge(issued_++ == 0 ? common_.config.timing.dispatch_issue : common_.config.timing.dispatch_burst);
      seat.core->ring(seat.token);
    }
  }
  void queue_ready(Slot& slot) {
    queue_of(slot).push(slot);
    poke_one(exchange_, shape_of(slot.cores), this);
  }
  void poke_scheduler(std::uint32_t scheduler) { (void)exchange_.schedulers[scheduler]->poke(parked_bit); }

  // A hint.
  std::uint32_t idle_rooms() const { return idle_rooms_.load(std::memory_order_relaxed); }

  // ---- for reports, when no agent runs ----
  const std::vector<Seat<E>>& seats() const { return seats_; }
  std::vector<Seat<E>>& seats() { return seats_; }
  const GangMember<E, Scheduler>& gang() const { return gang_; }
  std::uint64_t turns() const { return turns_; }
  std::uint64_t dispatches() const { return dispatches_; }
  std::uint64_t gated() const { return gated_; }  // of these, behind gates
  std::uint64_t rings() const { return rings_; }

 private:
  static constexpr std::uint32_t most_yields = 3;  // turns that a task waits for another scheduler's idle core

  std::uint32_t clusters() const {
    const Geometry& geometry = common_.config.geometry;
    return (geometry.clusters + geometry.schedulers - 1 - index_) / geometry.schedulers;
  }
  std::uint32_t cluster_of(const Seat<E>& seat) const {
    return static_cast<std::uint32_t>(&seat - seats_.data()) / common_.config.geometry.lanes();
  }
  std::uint32_t lane_of(const Seat<E>& seat) const {
    return static_cast<std::uint32_t>(&seat - seats_.data()) % common_.config.geometry.lanes();
  }

  void turn() {
    const Timing& timing = common_.config.timing;
    ++turns_;
    issued_ = 0;
    std::uint64_t cost = common_.client.scheduler_delay(index_) + E::latency("latency.turn", timing.scheduler_turn);
    const std::uint64_t loads =
        busy_.empty() ? 0 : busy_.size() * E::latency("latency.status_load", timing.status_load);
    if (early_.has_gated()) {
      // What waits behind gates needs no more than what the loads tell. They are all that a turn costs that hands out
      // nothing else: the rest is the way from there to a dispatch.
      E::charge(loads);
      E::catch_up();
      reap();
      early_.open_gates();
      if (!holds_ && !early_.may_stage() && nothing_ready() && !gang_.something()) return;
    } else {
      cost += loads;
    }
    E::charge(cost);
    E::catch_up();
    if (!early_.has_gated()) reap();
    early_.open_gates();
    while (Slot* slot = exchange_.incoming.pop())
      if (common_.client.begin(*slot)) queue_of(*slot).push(*slot);
    lanes_.release();
    holds_ = gang_.turn(timing.sync_start_bound);
    if (!holds_) {
      if (faulty<E>("chip_gates_fill_cores")) early_.stage([] { return true; });
      dispatch();
      gang_.handed_out();
      early_.stage([this] { return nothing_ready(); });
      if (early_.leaves_some())
        for (std::uint32_t shape = 0; shape < shape_count; ++shape) poke_one(exchange_, shape, this);
    } else {
      early_.pass();
    }
    // relaxed: a hint.
    idle_rooms_.store(rooms() & idle_rooms_mask, std::memory_order_relaxed);
  }

  ReadyQueue<E>& queue_of(const Slot& slot) {
    const bool together = (slot.flags & graph::slot_sync_start) != 0;
    return together ? exchange_.gang.waiting : exchange_.ready[shape_of(slot.cores)];
  }

  // ---- what the cores have done ----

  void reap() {
    for (std::size_t i = 0; i < busy_.size();) {
      Seat<E>& seat = seats_[busy_[i]];
      const std::uint32_t status = seat.core->status();
      if (status != seat.seen) {
        seat.seen = status;
        conclude_from(seat, status);
      } else if (seat.waits_for_pending && E::now() - seat.waits_since >= common_.config.timing.withheld_finish_bound) {
        give_up_pending(seat);
      }
      if (i < busy_.size() && &seats_[busy_[i]] == &seat) ++i;  // otherwise another one has taken its place
    }
  }

  void conclude_from(Seat<E>& seat, std::uint32_t status) {
    switch (conclude(seat.running.token, seat.pending.token, false, status)) {
      case Conclusion::both_done:
        E::mark("chip_both_done");
        count_start(seat);
        early_.part_started(*seat.pending.slot, false);
        finish(std::exchange(seat.running, {}), std::exchange(seat.pending, {}), seat);
        break;
      case Conclusion::pending_runs:
        E::mark("chip_pending_runs");
        count_start(seat);
        early_.part_started(*seat.pending.slot, true);
        advance(seat, true);
        break;
      case Conclusion::await_pending:
        E::mark("chip_await_pending");
        count_start(seat);
        seat.waits_for_pending = true;
        seat.waits_since = E::now();
        break;
      case Conclusion::running_done:
        E::mark("chip_running_done");
        count_start(seat);
        finish(std::exchange(seat.running, {}), {}, seat);
        break;
      case Conclusion::promote:
        advance(seat, false);
        break;
      case Conclusion::may_fill:
        E::mark("chip_may_fill");
        seat.acknowledged = true;
        early_.part_started(*seat.running.slot, true);
        lanes_.set_open(cluster_of(seat), lane_of(seat));
        break;
      case Conclusion::anomaly:
        E::mark("chip_anomaly");
        ++seat.anomalies;
        break;
    }
  }

  // The running task is seen to have ended, and may not have been seen to run.
  void count_start(Seat<E>& seat) {
    if (!std::exchange(seat.acknowledged, true)) early_.part_started(*seat.running.slot, false);
  }

  // The running task is done, and the pending one takes its place.
  void advance(Seat<E>& seat, bool acknowledged) {
    const Assignment<E> done = std::exchange(seat.running, std::exchange(seat.pending, {}));
    seat.acknowledged = acknowledged;
    seat.waits_for_pending = false;
    if (acknowledged) {
      lanes_.set_open(cluster_of(seat), lane_of(seat));
    } else {
      lanes_.set_taken(cluster_of(seat), lane_of(seat));
    }
    gang_.part_finished();
    common_.client.finished(*done.slot);
  }

  // The core is idle.
  void finish(const Assignment<E>& first, const Assignment<E>& second, Seat<E>& seat) {
    seat.acknowledged = false;
    seat.waits_for_pending = false;
    lanes_.set_idle(cluster_of(seat), lane_of(seat));
    busy_[seat.busy_at] = busy_.back();
    seats_[busy_.back()].busy_at = seat.busy_at;
    busy_.pop_back();
    gang_.part_finished();
    common_.client.finished(*first.slot);
    if (second) common_.client.finished(*second.slot);
  }

  // The core has ended its running task, but does not take up the pending one: whoever waits for the first must not
  // wait for ever. The pending task stays where it is, as a running one that is not acknowledged.
  void give_up_pending(Seat<E>& seat) {
    E::mark("chip_finish_withheld");
    ++seat.anomalies;
    ++seat.withheld;
    seat.withheld_task = seat.running.slot->name;
    seat.withheld_block = seat.running.block;
    lanes_.set_suspect(cluster_of(seat));
    advance(seat, false);
  }

  // ---- what is ready ----

  // Mixed tasks before single ones, idle cores before pending slots. Those that start together came before.
  void dispatch() {
    for (std::uint32_t shape = 0; shape < mixed_shape_count; ++shape) {
      serve(shape, Where::idle);
      serve_open(shape);
      if (!exchange_.ready[shape].empty() && !lanes_.holds()) lanes_.reserve();
    }
    apart_.place([this](Slot& slot, std::uint32_t block, std::uint32_t part, std::uint32_t cluster) {
      const std::uint32_t first = cluster * common_.config.geometry.lanes();
      const std::uint32_t lane = lanes_.vector_lane(cluster, Where::open);
      if (lane >= common_.config.geometry.lanes() || (seats_[first].running && !seats_[first].acknowledged))
        return false;
      issue(seats_[first + lane], slot, block, part, false);
      return true;
    });
    for (std::uint32_t shape = mixed_shape_count; shape < shape_count; ++shape) serve(shape, Where::idle);
    for (std::uint32_t shape = mixed_shape_count; shape < shape_count; ++shape) serve_open(shape);
    for (std::uint32_t shape = 0; shape < shape_count; ++shape)
      if (!exchange_.ready[shape].empty()) poke_one(exchange_, shape, this);
  }

  bool nothing_ready() const {
    return exchange_.incoming.empty() && exchange_.gang.waiting.empty() &&
           std::all_of(std::begin(exchange_.ready), std::end(exchange_.ready),
                       [](const auto& queue) { return queue.empty(); });
  }

  // A task is left for a while to another scheduler that has idle cores for it.
  void serve_open(std::uint32_t shape) {
    if (exchange_.ready[shape].empty()) {
      yields_[shape] = 0;
      return;
    }
    const bool elsewhere = std::any_of(
        exchange_.schedulers.begin(), exchange_.schedulers.end(),
        [&](const auto& other) { return other.get() != this && (other->idle_rooms() & idle_bit(shape)) != 0; });
    if (elsewhere && yields_[shape] < most_yields) {
      ++yields_[shape];
      return;
    }
    serve(shape, Where::open);
  }

  // Takes as many blocks as there is room for; the rest is others' to take while these are placed.
  void serve(std::uint32_t shape, Where where) {
    ReadyQueue<E>& queue = exchange_.ready[shape];
    while (!queue.empty()) {
      const std::uint32_t room = lanes_.room(shape, where);
      if (room == 0) return;
      Slot* const slot = queue.pop();
      if (slot == nullptr) return;
      const std::uint32_t parts = slot->parts();
      const std::uint32_t next = slot->next_block.load();
      const std::uint32_t left = (slot->block_count - next) / parts;
      const std::uint32_t taken = std::min(room, left);
      slot->next_block.store(next + taken * parts);
      if (taken < left) {
        E::mark("chip_wave_left");
        queue.push_front(*slot);
        poke_one(exchange_, shape, this);
      }
      for (std::uint32_t i = 0; i < taken; ++i) place(*slot, next / parts + i, shape, where);
    }
  }

  void place(Slot& slot, std::uint32_t block, std::uint32_t shape, Where where, bool gated = false) {
    const std::uint32_t candidates = lanes_.candidates(shape, where);
    const std::uint32_t which = candidates > 1 ? E::choose("placement", candidates) : 0;
    const std::uint32_t cluster = lanes_.candidate(shape, where, which);
    const Cores cores = shapes[shape];
    for (std::uint32_t part = 0; part < static_cast<std::uint32_t>(cores.count()); ++part) {
      if (apart_.keeps(slot, block, part, cluster)) continue;
      const std::uint32_t lane = part < cores.cubes ? 0 : lanes_.vector_lane(cluster, where);
      issue(seats_[cluster * common_.config.geometry.lanes() + lane], slot, block, part, gated);
    }
  }

  void issue(Seat<E>& seat, Slot& slot, std::uint32_t block, std::uint32_t part, bool gated) {
    if (!seat.started) {
      seat.started = true;
      common_.client.core_needed(seat.core->index());
    }
    seat.token = next_token(seat.token);
    const Assignment<E> assignment{seat.token, &slot, block, part};
    if (seat.running) {
      E::mark("chip_pending_filled");
      seat.pending = assignment;
      lanes_.set_full(cluster_of(seat), lane_of(seat));
    } else {
      seat.running = assignment;
      seat.busy_at = static_cast<std::uint32_t>(busy_.size());
      busy_.push_back(static_cast<std::uint32_t>(&seat - seats_.data()));
      lanes_.set_taken(cluster_of(seat), lane_of(seat));
    }
    seat.gated = gated;
    gated_ += gated ? 1 : 0;
    ++dispatches_;
    const Timing& timing = common_.config.timing;
    E::charge(issued_++ == 0 ? timing.dispatch_issue : timing.dispatch_burst);
    common_.client.handed_over(slot, block, part, seat.core->index(), seat.token);
    seat.core->dispatch(seat.token, slot, block, part, gated);
  }

  // ---- sleep ----

  std::uint32_t rooms() const {
    std::uint32_t rooms = 0;
    for (std::uint32_t shape = 0; shape < shape_count; ++shape) {
      if (lanes_.room(shape, Where::idle) != 0) rooms |= idle_bit(shape);
      if (lanes_.room(shape, Where::open) != 0) rooms |= open_bit(shape);
    }
    return rooms;
  }

  bool something_for(std::uint32_t rooms) const {
    if (!exchange_.incoming.empty() || gang_.something() || early_.something()) return true;
    for (std::uint32_t shape = 0; shape < shape_count; ++shape)
      if ((rooms & (idle_bit(shape) | open_bit(shape))) != 0 && !exchange_.ready[shape].empty()) return true;
    return false;
  }

  // Until a core has done something, or something came that this scheduler said it could serve.
  void sleep() {
    const std::uint32_t rooms = holds_ ? 0 : this->rooms();
    const bool looked_too_early = faulty<E>("chip_look_before_park") && !something_for(rooms);
    // relaxed: the fence orders it before the look.
    parked_.store(rooms | parked_bit, std::memory_order_relaxed);
    // seq_cst: announced before the look; partner is the fence in poke_one(). One of the two sees the other's.
    E::fence(E::order("chip_park_fence", std::memory_order_seq_cst));
    if (looked_too_early || !something_for(rooms)) {
      if (const std::uint64_t deadline = this->deadline(); deadline != UINT64_MAX) {
        (void)parker_.park_until(deadline);
      } else {
        parker_.park();
      }
    }
    parked_.exchange(0, std::memory_order_acq_rel);  // a token that a poker still leaves costs one turn
  }

  std::uint64_t deadline() const {
    std::uint64_t deadline = gang_.deadline();
    for (const std::uint32_t i : busy_)
      if (seats_[i].waits_for_pending)
        deadline = std::min(deadline, seats_[i].waits_since + common_.config.timing.withheld_finish_bound);
    return deadline;
  }

  Common<E>& common_;
  Exchange<E>& exchange_;
  const std::uint32_t index_;
  typename E::Parker parker_;
  Lanes lanes_;
  std::vector<std::unique_ptr<Core<E>>> cores_;
  std::vector<Seat<E>> seats_;  // cluster by cluster, lane by lane
  std::vector<std::uint32_t> busy_;
  GangMember<E, Scheduler> gang_;
  EarlyMember<E, Scheduler> early_;
  HalvesApart<E> apart_;
  bool holds_ = false;  // nothing but what starts together is handed out
  std::uint32_t yields_[shape_count] = {};
  std::uint32_t issued_ = 0;  // in this turn
  std::uint64_t turns_ = 0;
  std::uint64_t dispatches_ = 0;
  std::uint64_t gated_ = 0;
  std::uint64_t rings_ = 0;

  alignas(64) typename E::template Atomic<std::uint32_t> parked_{0};  // rooms and parked_bit while parked
  typename E::template Atomic<std::uint32_t> idle_rooms_{0};
};

template <base::Environment E>
void poke_one(Exchange<E>& exchange, std::uint32_t shape, const Scheduler<E>* from, bool anyone) {
  // seq_cst: after the task was queued; partner is the fence in Scheduler::sleep().
  E::fence(E::order("chip_poke_fence", std::memory_order_seq_cst));
  using S = Scheduler<E>;
  for (const std::uint32_t wanted : {S::idle_bit(shape), S::open_bit(shape), anyone ? S::parked_bit : 0U})
    for (auto& scheduler : exchange.schedulers)
      if (scheduler.get() != from && scheduler->poke(wanted)) return;
}

}  // namespace heddle::chip
