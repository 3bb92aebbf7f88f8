// SPDX-License-Identifier: Apache-2.0
//
// What a simulated core does for a running block: its transfers take time and arrive late, its waits hold the core, its
// scalar accesses go through a cache of its own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <heddle/block.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/cancelled.hpp"
#include "host/copy.hpp"
#include "host/half_calls.hpp"
#include "host/wait_check.hpp"
#include "lab/chip_pool.hpp"

namespace heddle::lab {

template <base::Environment E>
class LabBlock final : public heddle::detail::BlockServices {
 public:
  using Slot = graph::Slot<E>;

  LabBlock(ChipEngine<E>& engine, ChipRank<E>& rank, Slot& slot, std::int64_t index)
      : engine_(engine),
        rank_(rank),
        slot_(slot),
        world_(engine.pool().world()),
        fiber_(*ChipPool<E>::current_fiber()),
        me_{{rank.index(), slot.number}, static_cast<std::uint32_t>(index)} {}

  void begin() {
    enter();
    fiber_.cache.clear();
    const LoggedTask& task = world_.log.task(rank_.index(), slot_.number);
    E::charge(bulk_time(task.in_bytes / task.parts));
    if (strikes(Fault::slow_core)) slow_ = slow_factor;
    if (world_.observer != nullptr)
      world_.observer->block_begins(me_, engine_.pool().global_core(rank_.index(), fiber_.core));
    E::catch_up();
    look_at_arguments();
  }

  // Called after the kernel, which may have thrown.
  void end() {
    const LoggedTask& task = world_.log.task(rank_.index(), slot_.number);
    E::charge(slow_ * (E::latency("latency.kernel", kernel) + bulk_time(task.out_bytes / task.parts)));
    if (strikes(Fault::missing_write_back)) {
      fiber_.cache.clear();
    } else {
      fiber_.cache.for_all([this](ScalarCache::Line& line) { write_back(line); });
    }
    settle_puts();
    E::catch_up();
    if (world_.observer == nullptr) return;
    if (cores().cubes != 0 && cores().vectors != 0 && !engine_.pool().was_stopped(rank_.index()))
      world_.observer->half(me_, {});
    world_.observer->block_ends(me_);
  }

  // Faults that end the kernel before it begins; they throw what the kernel would.
  void before_kernel() {
    if (strikes(Fault::throwing_kernel)) throw std::runtime_error("a fault of the laboratory");
    if (strikes(Fault::dying_rank)) {
      engine_.fail(rank_, Error(Code::peer_lost, "rank " + std::to_string(rank_.index()) + " died"));
      throw base::Cancelled{};
    }
    if (strikes(Fault::stalled_core)) hold_for_ever("the bulk read of its arguments");
    if (strikes(Fault::endless_kernel)) hold_for_ever("its kernel");
  }

  void put(int peer, const heddle::detail::CopyPlan& plan) override {
    check_peer(peer, "put");
    before_access();
    const std::uint64_t id = world_.puts++;
    E::charge(issue_ns);
    const Piece to = piece(peer, plan, true), from = piece(rank_.index(), plan, false);
    if (world_.observer != nullptr) world_.observer->put(me_, id, to, from);
    look(from);
    const std::byte* base = to.window == nullptr ? plan.to : to.window->part[static_cast<std::size_t>(peer)];
    world_.network.put({me_, rank_.index(), peer, &plan, base, world_.spec.values}, id, traffic(peer));
  }

  void get(int peer, const heddle::detail::CopyPlan& plan) override {
    check_peer(peer, "get");
    before_access();
    const Piece to = piece(rank_.index(), plan, true), from = piece(peer, plan, false);
    E::charge(issue_ns);
    std::uint64_t bytes = plan.element_bytes;
    for (int d = 0; d < plan.rank; ++d) bytes *= static_cast<std::uint64_t>(plan.shape[d]);
    wait_until(world_.network.transfer_ends(peer, rank_.index(), bytes, "latency.get"));
    if (world_.observer != nullptr) world_.observer->get(me_, to, from);
    look(from);
    if (world_.spec.values) host::copy(plan);
  }

  void notify(const heddle::detail::SignalRef& signal, std::int64_t value, Notify how, Order order) override {
    check_peer(signal.rank, "notify");
    before_access();
    const std::uint64_t id = world_.notifies++;
    E::charge(issue_ns);
    if (world_.around.ordered_notifies) order = Order::released;
    if (world_.observer != nullptr) world_.observer->notify(me_, id, signal, value, how, order);
    world_.network.notify(me_, id, signal, value, how, order, rank_.index(), traffic(signal.rank));
  }

  void wait(const heddle::detail::SignalRef& signal, Compare compare, std::int64_t value) override {
    host::check_wait(slot_, signal, rank_.index());
    before_access();
    E::charge(E::latency("latency.poll", world_.chip.timing.cached_poll));
    E::catch_up();
    if (!window::satisfied<E>(signal, compare, value)) {
      ++world_.waits_parked;
      if (world_.observer != nullptr) world_.observer->wait_begins(me_, signal, compare, value);
      park(signal, compare, value, UINT64_MAX);
    }
    satisfied(signal, compare, value);
  }

  // A kernel that asks again and again is answered less and less often, so that virtual time goes on.
  bool test(const heddle::detail::SignalRef& signal, Compare compare, std::int64_t value) override {
    if (rank_.cancelled()) throw base::Cancelled{};
    E::charge(E::latency("latency.poll", world_.chip.timing.cached_poll));
    E::catch_up();
    bool yes = window::satisfied<E>(signal, compare, value);
    if (!yes && ++refusals_ > patient_tests) {
      const unsigned doublings = std::min(refusals_ - patient_tests, 24U);
      park(signal, compare, value, E::now() + (poll_ns << doublings));
      yes = window::satisfied<E>(signal, compare, value);
    }
    if (yes) {
      refusals_ = 0;
      satisfied(signal, compare, value);
    }
    return yes;
  }

  void fence(int peer) override {
    check_peer(peer, "fence");
    PeerTraffic& to = traffic(peer);
    while (!world_.simulator.by_time() && !to.order->all_arrived()) let_others_go_on();
    to.fence();
    if (world_.observer != nullptr) world_.observer->fence(me_, peer);
  }
  void quiet() override {
    before_access();
    settle_puts();
    if (world_.observer != nullptr) world_.observer->fence(me_, -1);
  }

  void load(void* value, const void* cell, std::size_t bytes) override {
    before_access();
    const Piece at = scalar(cell, bytes);
    world_.network.observe(rank_.index(), at.data, at.data + bytes);
    if (world_.around.coherent_scalars) fiber_.cache.drop(cell, bytes);
    bool was_here = false;
    const ScalarCache::Line& line = fiber_.cache.get(cell, was_here);
    E::charge(was_here ? 1 : scalar_miss_ns);
    const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(cell) - line.memory);
    std::memcpy(value, line.data + offset, bytes);
    if (world_.observer != nullptr) world_.observer->scalar_read(me_, at, was_here);
  }
  void store(void* cell, const void* value, std::size_t bytes) override {
    before_access();
    const Piece at = scalar(cell, bytes);
    bool was_here = false;
    ScalarCache::Line& line = fiber_.cache.get(cell, was_here);
    E::charge(was_here ? 1 : scalar_miss_ns);
    const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(cell) - line.memory);
    std::memcpy(line.data + offset, value, bytes);
    line.dirty |= (bytes >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bytes) - 1) << offset;
    if (world_.observer != nullptr) world_.observer->scalar_write(me_, at);
    if (!world_.around.coherent_scalars) return;
    write_back(line);
    fiber_.cache.drop(cell, bytes);
  }
  void clean(const void* data, std::size_t bytes) override {
    before_access();
    fiber_.cache.for_range(data, bytes, [this](ScalarCache::Line& line) { write_back(line); });
  }
  void invalidate(const void* data, std::size_t bytes) override {
    before_access();
    fiber_.cache.drop(data, bytes);
  }
  void flag_set(std::int64_t flag, const Location& here) override {
    charge_half("latency.flag_set", limits().flag_set);
    host::set_flag(*this, flag, here);
  }
  void flag_wait(std::int64_t flag, const Location& here) override {
    charge_half("latency.flag_wait", limits().flag_wait);
    host::wait_flag(*this, flag, here);
  }
  void push(const heddle::detail::TileRef& tile, int part, const Location& here) override {
    charge_half("latency.tile", limits().tile_issue, bytes_of(tile));
    host::push_tile(*this, tile, part, here);
  }
  void pop(const heddle::detail::TileRef& tile, int part, const Location& here) override {
    charge_half("latency.tile", limits().tile_issue, bytes_of(tile));
    host::pop_tile(*this, tile, part, here);
  }

  // ---- for host/half_calls.hpp
  const chip::Handovers& limits() const { return world_.chip.handovers; }
  bool values() const { return world_.spec.values; }
  Cores cores() const { return slot_.cores; }
  std::uint32_t number_of_part() const { return me_.block % slot_.parts(); }
  chip::Handover<E>& handover() {
    return engine_.pool().device(rank_.index()).handover(fiber_.core / world_.chip.geometry.lanes());
  }
  std::uint32_t half_of(std::uint32_t part, const window::HalfWait& wait) {
    const std::uint32_t lanes = world_.chip.geometry.lanes(), number = slot_.cores.cubes + part;
    if (number == number_of_part()) return fiber_.core % lanes - 1;
    BlockHalves& block = halves();
    if (block.is_placed[number] == 0) {
      window::HalfWait placement = wait;
      placement.what = window::HalfWait::What::placement;
      block.is_awaited = true;
      park(block.cell(number), Compare::ge, 1, UINT64_MAX, &placement);
      if (block.is_placed[number] == 0) return 0;  // a rehearsal that lets every wait pass
    }
    return block.halves[number].core % lanes - 1;
  }
  void until(const chip::HalfLink& link, const window::HalfWait& wait, Compare compare, std::int64_t value) {
    const heddle::detail::SignalRef cell = handover().cell(link);
    if (window::satisfied<E>(cell, compare, value)) return;
    ++world_.waits_parked;
    park(cell, compare, value, UINT64_MAX, &wait);
  }
  void changed(const chip::HalfLink& link, bool gave, std::uint32_t part, const Location& here) {
    const heddle::detail::SignalRef cell = handover().cell(link);
    halves().tally(link) += gave ? 1 : -1;
    if (world_.observer != nullptr) {
      world_.observer->half(
          me_, {gave ? HalfEvent::Kind::gave : HalfEvent::Kind::took, link.from_cube, link.id == chip::tile_link,
                link.id, part, fiber_.core / world_.chip.geometry.lanes(), cell, here});
    }
    rank_.waits().notified(cell.cell, [this](window::WaitNode& node) { engine_.wake(node); });
  }

  bool cancelled() override { return rank_.cancelled(); }
  void spend(std::uint64_t nanoseconds) override {
    E::charge(slow_ * nanoseconds);
    E::catch_up();
  }

 private:
  // None of these is published: assumed.
  static constexpr base::Latency kernel{100, 1'000, 8'000};
  static constexpr std::uint64_t issue_ns = 20, scalar_miss_ns = 300, write_back_ns = 100, poll_ns = 100;
  static constexpr std::uint64_t slow_factor = 1'000;
  static constexpr unsigned patient_tests = 16;

  void enter() {
    world_.touch(rank_.index());
    RunningNow::here().enter({"kernel", slot_.name, rank_.index(), me_.block});
  }
  void before_access() const {
    world_.touch(rank_.index());
    if (rank_.cancelled()) throw base::Cancelled{};
  }
  bool strikes(Fault fault) {
    if (!world_.faults.strikes(fault)) return false;
    world_.faults.note(fault, rank_.index(),
                       std::string(info(fault).help) + ": " + engine_.pool().core_name(rank_.index(), fiber_.core) +
                           ", task " + slot_.name + ", block " + std::to_string(me_.block));
    return true;
  }
  std::uint64_t bulk_time(std::uint64_t bytes) const {
    const std::uint64_t rate = world_.chip.rates.core_bandwidth;
    return rate == 0 ? 0 : bytes / rate;
  }
  void check_peer(int peer, const char* what) const {
    if (peer < 0 || peer >= engine_.ranks())
      throw Error(Code::kernel_failed, std::string(what) + ": there is no rank " + std::to_string(peer) +
                                           "; the session has " + std::to_string(engine_.ranks()));
  }
  PeerTraffic& traffic(int peer) {
    for (PeerTraffic& each : traffic_)
      if (each.peer == peer) return each;
    PeerTraffic& made = traffic_.emplace_back();
    made.peer = peer;
    return made;
  }

  Piece piece(int rank, const heddle::detail::CopyPlan& plan, bool destination) const {
    Piece piece;
    piece.rank = rank;
    piece.data = destination ? plan.to : plan.from;
    piece.element_bytes = static_cast<std::uint32_t>(plan.element_bytes);
    piece.dims = plan.rank;
    for (int d = 0; d < plan.rank; ++d) {
      piece.shape[d] = plan.shape[d];
      piece.stride[d] = destination ? plan.to_stride[d] : plan.from_stride[d];
    }
    piece.window = engine_.windows().list().at(rank, piece.data);
    return piece;
  }
  Piece scalar(const void* cell, std::size_t bytes) const {
    return {rank_.index(),
            static_cast<const std::byte*>(cell),
            static_cast<std::uint32_t>(bytes),
            0,
            {},
            {},
            world_.observer == nullptr ? nullptr : engine_.windows().list().at(rank_.index(), cell)};
  }

  // What has arrived of puts to memory that this block is about to look at.
  void look(const Piece& piece) {
    if (world_.network.quiet(piece.rank)) return;
    const std::byte* end = piece.data + piece.element_bytes;
    for (int d = 0; d < piece.dims; ++d) end += (piece.shape[d] - 1) * piece.stride[d];
    world_.network.observe(piece.rank, piece.data, end);
  }
  void look_at_arguments() {
    if (world_.network.quiet(rank_.index())) return;
    const LoggedTask& task = world_.log.task(rank_.index(), slot_.number);
    for (const LoggedArg& arg : world_.log.args(rank_.index(), task))
      if (arg.piece.window != nullptr && arg.tag != heddle::detail::Tag::out)
        world_.network.observe(rank_.index(), arg.begin(), arg.end());
  }

  void satisfied(const heddle::detail::SignalRef& signal, Compare compare, std::int64_t value) {
    if (world_.observer != nullptr) world_.observer->wait_satisfied(me_, signal, compare, value, false);
    look_at_arguments();
  }

  BlockHalves& halves() { return *engine_.pool().halves(rank_.index()).find(slot_.number, me_.block / slot_.parts()); }
  void charge_half(const char* label, const base::Latency& latency, std::uint64_t bytes = 0) {
    before_access();
    const std::uint64_t rate = limits().tile_bandwidth;
    E::charge(E::latency(label, latency) + (rate == 0 ? 0 : bytes / rate));
    E::catch_up();
  }
  static std::uint64_t bytes_of(const heddle::detail::TileRef& tile) {
    std::uint64_t bytes = tile.element_bytes;
    for (int d = 0; d < tile.rank; ++d) bytes *= static_cast<std::uint64_t>(tile.shape[d]);
    return bytes;
  }

  // Parks this core until the condition holds (or the time has come, for a test).
  void park(const heddle::detail::SignalRef& signal, Compare compare, std::int64_t value, std::uint64_t deadline,
            const window::HalfWait* half = nullptr) {
    window::WaitNode node;
    node.signal = signal;
    node.compare = compare;
    node.value = value;
    node.waiter = &fiber_;
    node.task = &slot_;
    node.block = me_.block;
    node.half = half;
    if (rank_.waits().enter(node)) {
      // Whoever takes the node out of the table resumes this fiber, and until then holds on to the node. A token that
      // an earlier wake has left is none for this wait.
      if (deadline != UINT64_MAX) (void)fiber_.parker.park_until(deadline);
      if (deadline == UINT64_MAX || !rank_.waits().leave(node))
        while (!fiber_.resumed) fiber_.parker.park();
    }
    fiber_.resumed = false;
    enter();
    if (node.cancelled || rank_.cancelled()) throw base::Cancelled{};
  }
  // Until the rank is cancelled. The window that it waits in has no bytes, and the name of what it stands in.
  [[noreturn]] void hold_for_ever(const char* call) {
    std::int32_t never = 0;
    const heddle::detail::WindowTable nowhere{
        std::vector<std::byte*>(static_cast<std::size_t>(engine_.ranks()), reinterpret_cast<std::byte*>(&never)), 0,
        call};
    heddle::detail::SignalRef signal{&never, &nowhere, rank_.index(), false};
    for (;;) park(signal, Compare::eq, 1, UINT64_MAX);
  }

  void wait_until(std::uint64_t time) {
    const std::uint64_t now = E::now();
    if (time > now) E::charge(time - now);
    E::catch_up();
  }
  void settle_puts() {
    std::uint64_t last = 0;
    for (const PeerTraffic& to : traffic_) last = std::max(last, to.puts_arrive);
    if (last == 0) return;
    wait_until(last + 1);
    for (const PeerTraffic& to : traffic_)
      while (to.order->puts_out != 0) let_others_go_on();
  }
  // Where times do not order what happens, waiting for the time is not enough.
  static void let_others_go_on() {
    E::charge(1);
    E::catch_up();
  }

  void write_back(ScalarCache::Line& line) {
    if (line.dirty == 0) return;
    const Piece whole = scalar(line.memory, line_bytes);
    E::charge(write_back_ns);
    ScalarCache::copy_line(line.memory, line.data);
    if (world_.observer != nullptr) world_.observer->line_written_back(me_, whole, line.dirty);
    line.dirty = 0;
    engine_.memory_changed(rank_.index(), line.memory, line.memory + line_bytes);
  }

  ChipEngine<E>& engine_;
  ChipRank<E>& rank_;
  Slot& slot_;
  World& world_;
  LabFiber<E>& fiber_;
  BlockId me_;
  std::uint64_t slow_ = 1;
  unsigned refusals_ = 0;
  std::vector<PeerTraffic> traffic_;
};

}  // namespace heddle::lab
