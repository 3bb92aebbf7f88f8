// SPDX-License-Identifier: Apache-2.0
//
// What the host does for a running block.
#pragma once

#include <cstdint>
#include <cstring>
#include <heddle/block.hpp>
#include <string>
#include <utility>

#include "base/cancelled.hpp"
#include "host/copy.hpp"
#include "host/engine.hpp"
#include "host/half_calls.hpp"
#include "host/wait_check.hpp"

namespace heddle::host {

// The value of a predicate's element now.
bool evaluate(const heddle::detail::PredicateRecord& predicate);

template <base::Environment E>
class HostBlock final : public heddle::detail::BlockServices {
 public:
  HostBlock(Engine<E>& engine, Rank<E>& rank, graph::Slot<E>& slot, std::int64_t index)
      : engine_(engine), rank_(rank), slot_(slot), index_(index) {}

  void begin() {
    Worker<E>& worker = *Pool<E>::current();
    auto& counts = engine_.counts(worker.index);
    worker.busy.set(true);
    counts.running_block.store(index_, std::memory_order_relaxed);  // relaxed: a report's matter
    counts.running.store(&slot_, std::memory_order_release);  // release: partner is in Monitor, which reads the slot
    // The clock is what costs: a block starts when its worker's last one ended, unless the worker looked for work
    // since.
    if (std::exchange(worker.idled, false) && engine_.traces().on()) counts.last_ticks = engine_.traces().now();
    start_ = counts.last_ticks;
  }
  // A half of a mixed block.
  void before_kernel() {
    if (slot_.cores.cubes == 0 || slot_.cores.vectors == 0) return;
    halves_ = &engine_.halves().enter({slot_.rank, slot_.ref, index_ / slot_.parts()});
  }
  void end() {
    leave(false);
    if (halves_ != nullptr) leave_halves();
    auto& counts = engine_.counts(Pool<E>::current()->index);
    counts.add(WorkerCounts<E>::blocks, 1);
  }

  void put(int peer, const heddle::detail::CopyPlan& plan) override {
    Rank<E>& target = checked(peer, "put");
    transfer(base::Event::put, peer, plan);
    // seq_cst: the copy before the look for waiters; partner is the registration in WaitTable::enter().
    E::fence(std::memory_order_seq_cst);
    if (target.waits().parked() == 0) return;
    const auto* begin = plan.to;
    std::ptrdiff_t extent = static_cast<std::ptrdiff_t>(plan.element_bytes);
    for (int d = 0; d < plan.rank; ++d) extent += (plan.shape[d] - 1) * plan.to_stride[d];
    target.waits().rescan(begin, begin + extent, waker());
  }
  void get(int peer, const heddle::detail::CopyPlan& plan) override {
    checked(peer, "get");
    transfer(base::Event::get, peer, plan);
  }

  void notify(const heddle::detail::SignalRef& signal, std::int64_t value, Notify how, Order) override {
    Rank<E>& target = checked(signal.rank, "notify");
    // Read before the cell changes: whoever waited for it goes on after that.
    const std::uint64_t from = engine_.traces().on() ? engine_.traces().now() : 0;
    window::update<E>(signal, value, how);
    target.waits().notified(signal.cell, waker());
    const std::uint32_t worker = Pool<E>::current()->index;
    engine_.counts(worker).add(WorkerCounts<E>::notifies, 1);
    if (auto& traces = engine_.traces(); traces.on()) {
      traces.write(worker, base::Event::notify, from, traces.now(), base::subject_of(signal.cell),
                   static_cast<std::uint32_t>(value), static_cast<std::uint32_t>(slot_.ref), rank_.index(),
                   signal.wide ? base::event_wide : std::uint8_t{0});
    }
  }

  void wait(const heddle::detail::SignalRef& signal, Compare compare, std::int64_t value) override {
    check_wait(slot_, signal, rank_.index());
    const std::uint64_t from = engine_.traces().on() ? engine_.traces().now() : 0;
    if (!spin(signal, compare, value)) park(signal, compare, value);
    if (auto& traces = engine_.traces(); traces.on())
      traces.write(Pool<E>::current()->index, base::Event::wait, from, traces.now(), base::subject_of(signal.cell),
                   static_cast<std::uint32_t>(index_), static_cast<std::uint32_t>(slot_.ref), rank_.index(),
                   signal.wide ? base::event_wide : std::uint8_t{0});
  }
  bool test(const heddle::detail::SignalRef& signal, Compare compare, std::int64_t value) override {
    if (rank_.cancelled()) throw base::Cancelled{};
    return window::satisfied<E>(signal, compare, value);
  }
  // Copies are done when put returns, and notifies are sequentially consistent: both orders hold already.
  void fence(int peer) override {
    checked(peer, "fence");
    E::fence(std::memory_order_seq_cst);
  }
  void quiet() override { E::fence(std::memory_order_seq_cst); }

  void load(void* value, const void* cell, std::size_t bytes) override { std::memcpy(value, cell, bytes); }
  void store(void* cell, const void* value, std::size_t bytes) override {
    std::memcpy(cell, value, bytes);
    E::fence(std::memory_order_seq_cst);  // as in put()
    if (rank_.waits().parked() == 0) return;
    const auto* begin = static_cast<const std::byte*>(cell);
    rank_.waits().rescan(begin, begin + bytes, waker());
  }
  void clean(const void*, std::size_t) override {}
  void invalidate(const void*, std::size_t) override {}
  bool cancelled() override { return rank_.cancelled(); }
  void spend(std::uint64_t nanoseconds) override { E::charge(nanoseconds); }

  void flag_set(std::int64_t flag, const Location& here) override { set_flag(*this, flag, here); }
  void flag_wait(std::int64_t flag, const Location& here) override { wait_flag(*this, flag, here); }
  void push(const heddle::detail::TileRef& tile, int part, const Location& here) override {
    push_tile(*this, tile, part, here);
  }
  void pop(const heddle::detail::TileRef& tile, int part, const Location& here) override {
    pop_tile(*this, tile, part, here);
  }

  // ---- for half_calls.hpp
  static const chip::Handovers& limits() {
    static constexpr chip::Handovers of_the_host;
    return of_the_host;
  }
  static bool values() { return true; }
  Cores cores() const { return slot_.cores; }
  std::uint32_t number_of_part() const { return static_cast<std::uint32_t>(index_) % slot_.parts(); }
  static std::uint32_t half_of(std::uint32_t part, const window::HalfWait&) { return part; }
  chip::Handover<E>& handover() { return halves_->handover; }
  void until(const chip::HalfLink& link, const window::HalfWait& wait, Compare compare, std::int64_t value) {
    uses_halves_ = true;
    if (rank_.cancelled()) throw base::Cancelled{};
    const heddle::detail::SignalRef cell = handover().cell(link);
    if (!spin(cell, compare, value)) park(cell, compare, value, &wait);
  }
  void changed(const chip::HalfLink& link, bool, std::uint32_t, const Location&) {
    rank_.waits().notified(handover().cell(link).cell, waker());
  }

 private:
  static constexpr std::uint32_t spins = 256;

  auto waker() {
    return [this](window::WaitNode& node) { engine_.wake(node); };
  }
  Rank<E>& checked(int peer, const char* what) {
    if (peer < 0 || peer >= engine_.ranks())
      throw Error(Code::kernel_failed, std::string(what) + ": there is no rank " + std::to_string(peer) +
                                           "; the session has " + std::to_string(engine_.ranks()));
    return engine_.rank(peer);
  }

  void transfer(base::Event kind, int peer, const heddle::detail::CopyPlan& plan) {
    auto& traces = engine_.traces();
    const std::uint64_t from = traces.on() ? traces.now() : 0;
    const std::uint64_t bytes = copy(plan);
    const std::uint32_t worker = Pool<E>::current()->index;
    auto& counts = engine_.counts(worker);
    counts.add(WorkerCounts<E>::puts, 1);
    counts.add(WorkerCounts<E>::put_bytes, bytes);
    if (traces.on())
      traces.write(worker, kind, from, traces.now(), bytes, static_cast<std::uint32_t>(peer),
                   static_cast<std::uint32_t>(slot_.ref), rank_.index());
  }

  // A short look, as long as nothing else is queued here: a peer that runs on another core may be about to notify.
  bool spin(const heddle::detail::SignalRef& signal, Compare compare, std::int64_t value) {
    for (std::uint32_t n = 0; n < spins; ++n) {
      if (window::satisfied<E>(signal, compare, value)) return true;
      if (rank_.cancelled()) throw base::Cancelled{};
      if (engine_.pool().has_local_work()) return false;
      E::pause(n);
    }
    return false;
  }

  void park(const heddle::detail::SignalRef& signal, Compare compare, std::int64_t value,
            const window::HalfWait* half = nullptr) {
    LoopFiber<E>* with = engine_.may_park() ? engine_.pool().spare() : nullptr;
    if (with == nullptr)
      throw Error(Code::queue_overflow, "no stack for one more parked wait; waiting_blocks = " +
                                            std::to_string(engine_.config().waiting_blocks) +
                                            " and the system's vm.max_map_count limit them");
    window::WaitNode node;
    node.signal = signal;
    node.compare = compare;
    node.value = value;
    node.waiter = engine_.pool().current_fiber();
    node.task = &slot_;
    node.block = index_;
    node.half = half;
    if (rank_.waits().enter(node)) {
      leave(true);
      engine_.counts(Pool<E>::current()->index).add(WorkerCounts<E>::parked, 1);
      engine_.pool().suspend(*with);
      engine_.unparked();
      begin();
      resumed_ = true;
    } else {
      engine_.pool().give_back(*with);
      engine_.unparked();
    }
    if (node.cancelled) throw base::Cancelled{};
  }

  void leave_halves() {
    auto& entry = *halves_;
    if (!engine_.halves().leave(entry, slot_.parts(), uses_halves_)) return;
    if (entry.used && engine_.config().checked && !rank_.cancelled())
      if (const std::string left = left_by_halves(entry.handover); !left.empty())
        engine_.fail(rank_, Error(Code::flags_unbalanced, "the halves of a block have ended, and " + left)
                                .at_task(slot_.name, index_ / slot_.parts(), slot_.location));
    engine_.halves().release(entry);
  }

  // The block leaves its worker: at its end, or because it waits.
  void leave(bool parks) {
    Worker<E>& of = *Pool<E>::current();
    const std::uint32_t worker = of.index;
    auto& counts = engine_.counts(worker);
    of.busy.set(false);
    counts.running.store(nullptr, std::memory_order_relaxed);
    auto& traces = engine_.traces();
    if (!traces.on()) return;
    const std::uint64_t now = traces.now();
    counts.last_ticks = now;
    const auto flags =
        static_cast<std::uint8_t>((parks ? base::event_parked : 0) | (resumed_ ? base::event_resumed : 0));
    traces.write(worker, base::Event::block, start_, now, base::subject_of(slot_.name),
                 static_cast<std::uint32_t>(index_), static_cast<std::uint32_t>(slot_.ref), rank_.index(), flags);
  }

  Engine<E>& engine_;
  Rank<E>& rank_;
  graph::Slot<E>& slot_;
  std::int64_t index_;
  std::uint64_t start_ = 0;
  bool resumed_ = false;
  typename HostHalves<E>::Entry* halves_ = nullptr;
  bool uses_halves_ = false;
};

}  // namespace heddle::host
