// SPDX-License-Identifier: Apache-2.0
//
// Where an engine's tasks run when its ranks are simulated chips: a device for each rank, an agent for each
// orchestrator, scheduler and core. See host/backend.hpp for what an engine asks of it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/lock.hpp"
#include "chip/device.hpp"
#include "host/engine.hpp"
#include "lab/halves_log.hpp"
#include "lab/running_now.hpp"
#include "lab/scalar_cache.hpp"
#include "lab/world.hpp"

namespace heddle::lab {

template <base::Environment E>
class ChipPool;
template <base::Environment E>
class LabBlock;

// What a wait suspends: the agent of an orchestrator or of a core.
template <base::Environment E>
struct LabFiber {
  typename E::Parker parker;
  bool resumed = false;  // tells a wake that is meant for the wait from a token that was left over
  int rank = -1;
  std::uint32_t core = UINT32_MAX;  // of its device; none: the orchestrator
  ScalarCache cache;
};

struct NoTraces {
  NoTraces(int, std::uint32_t, bool) {}
  void freeze() {}
  void thaw() {}
};

template <base::Environment E>
struct ChipBackend {
  using Pool = ChipPool<E>;
  using Fiber = LabFiber<E>;
  using Services = LabBlock<E>;
  using Traces = NoTraces;
  static constexpr bool watches = true;
  static constexpr bool explains = true;
};
template <base::Environment E>
using ChipEngine = host::Engine<E, ChipBackend<E>>;
template <base::Environment E>
using ChipRank = host::Rank<E, ChipBackend<E>>;

template <base::Environment E>
class ChipPool {
 public:
  using Fiber = LabFiber<E>;
  using Slot = graph::Slot<E>;

  explicit ChipPool(World& world) : world_(world) {
    for (int r = 0; r < world.spec.ranks; ++r) sites_.push_back(std::make_unique<Site>(*this, r));
  }
  ChipPool(const ChipPool&) = delete;
  ChipPool& operator=(const ChipPool&) = delete;

  // Spawns the orchestrators and schedulers. Cores come when they are needed.
  void start(ChipEngine<E>& engine) {
    engine_ = &engine;
    for (auto& site : sites_) site->start();
  }
  // Lets every agent return that is not held by a fault.
  void stop() {
    stopping_ = true;
    for (auto& site : sites_) {
      site->device.stop();
      site->orchestrator.parker.unpark();
    }
  }

  // ---- what an engine asks of its pool
  static constexpr std::uint32_t size() { return 1; }
  bool values() const { return world_.spec.values; }
  base::SpinLock<E>& registry_lock() { return registry_lock_; }
  void add(host::QuiescenceListener& listener) { listener_ = &listener; }
  void remove(host::QuiescenceListener&) { listener_ = nullptr; }
  void inject(base::Work& work) {  // only orchestrators are
    auto& rank = static_cast<typename ChipRank<E>::Start&>(work).rank;
    Site& site = *sites_[static_cast<std::size_t>(rank.index())];
    site.has_round = true;
    site.was_stopped = false;
    site.orchestrator.parker.unpark();
  }
  void ready(base::Work& work) {
    auto& slot = static_cast<Slot&>(work);
    const int rank = rank_of(slot);
    LoggedTask& task = world_.log.task(rank, slot.number);
    task.ready = true;
    task.ready_ns = world_.simulator.now();
    sites_[static_cast<std::size_t>(rank)]->device.ready(slot);
  }
  void ready_next(base::Work& work) { ready(work); }
  bool starts_early() const { return world_.chip.early.on; }
  void candidate(Slot& slot) { sites_[static_cast<std::size_t>(rank_of(slot))]->device.candidate(slot); }
  void resume(Fiber& fiber) {
    fiber.resumed = true;
    fiber.parker.unpark_in(E::latency("latency.wake", world_.chip.timing.cached_poll));
  }
  Fiber* spare() { return &no_fiber_; }  // an agent keeps its own stack while it waits
  void give_back(Fiber&) {}
  void suspend(Fiber&) {
    Fiber& fiber = *current_fiber();
    while (!fiber.resumed) fiber.parker.park();
    fiber.resumed = false;
  }
  static Fiber* current_fiber() { return static_cast<Fiber*>(E::self()); }
  void yield() { E::catch_up(); }
  std::int64_t width_for(Cores cores) const {
    return std::int64_t{world_.chip.geometry.clusters} * world_.chip.geometry.blocks_in_cluster(cores);
  }
  void submitted(ChipRank<E>& rank, Slot& slot, const heddle::detail::TaskRequest& request, bool manual);
  void completed(ChipRank<E>& rank, Slot& slot) {
    world_.log.task(rank.index(), slot.number).complete = true;
    world_.progress();
    // What a cancelled rank leaves undone is nobody's fault but the first error's.
    if (world_.observer != nullptr && !was_stopped(rank.index()))
      world_.observer->completed({rank.index(), slot.number});
  }
  // The rank was cancelled, in this moment.
  void stopped(const ChipRank<E>& rank) {
    sites_[static_cast<std::size_t>(rank.index())]->was_stopped = true;
    if (world_.records != nullptr) world_.records->freeze(rank.index(), E::now());
  }
  // The same as the rank's cancelled(), for those who watch: asked without an access that others could see, so that
  // watching changes nothing.
  bool was_stopped(int rank) const { return sites_[static_cast<std::size_t>(rank)]->was_stopped; }
  // A condition of a task holds, in this moment.
  void condition_met(const window::WaitNode& node) {
    if (world_.observer == nullptr || node.cancelled) return;
    const auto& slot = *static_cast<const Slot*>(node.task);
    world_.observer->wait_satisfied({{node.signal.rank, slot.number}, 0}, node.signal, node.compare, node.value, true);
  }
  std::optional<Error> explain(ChipEngine<E>& engine, const std::vector<WaitRecord>& waits) {
    return explain_standstill ? explain_standstill(engine, waits) : std::nullopt;
  }
  std::function<std::optional<Error>(ChipEngine<E>&, const std::vector<WaitRecord>&)> explain_standstill;

  // ---- for the run
  World& world() { return world_; }
  ChipEngine<E>& engine() { return *engine_; }
  chip::Device<E>& device(int rank) { return sites_[static_cast<std::size_t>(rank)]->device; }
  // What a failed round has left on its clusters.
  void clear_flags() {
    for (auto& site : sites_) site->device.clear_handovers();
  }
  HalvesLog& halves(int rank) { return sites_[static_cast<std::size_t>(rank)]->halves; }
  // Tells the engine that nothing can happen any more. Whatever it wakes then happens.
  void standstill() {
    const std::lock_guard guard(registry_lock_);
    listener_->quiescent();
  }
  // Cores in the whole run are numbered by rank.
  std::uint32_t global_core(int rank, std::uint32_t core) const {
    return static_cast<std::uint32_t>(rank) * world_.chip.geometry.cores() + core;
  }
  std::string core_name(int rank, std::uint32_t core) const {
    const std::uint32_t lanes = world_.chip.geometry.lanes(), lane = core % lanes;
    return "rank " + std::to_string(rank) + " cluster " + std::to_string(core / lanes) +
           (lane == 0 ? std::string(" cube") : " vector " + std::to_string(lane - 1));
  }
  static int rank_of(const Slot& slot) { return static_cast<const ChipRank<E>*>(slot.rank)->index(); }

 private:
  // One rank's chip and its orchestrator.
  struct Site final : chip::Client<E> {
    Site(ChipPool& in, int index)
        : pool(in), rank(index), device(in.world_.chip, *this, "rank " + std::to_string(index)) {
      orchestrator.rank = index;
      cores.resize(in.world_.chip.geometry.cores());
    }
    void start() {
      const std::string name = "rank " + std::to_string(rank);
      Simulator& simulator = pool.world_.simulator;
      simulator.spawn(name + " orchestrator", [this] { orchestrate(); });
      for (std::uint32_t i = 0; i < pool.world_.chip.geometry.schedulers; ++i)
        simulator.spawn(name + " scheduler " + std::to_string(i), [this, i] { device.run_scheduler(i); });
    }
    void orchestrate();

    // chip::Client
    bool begin(Slot& slot) override { return pool.engine_->begin_task(slot); }
    bool prepare(Slot& slot) override { return pool.engine_->prepare_task(slot); }
    void run(Slot& slot, std::uint32_t block, std::uint32_t part, chip::Core<E>& core) override;
    void handed_over(Slot& slot, std::uint32_t block, std::uint32_t part, std::uint32_t core,
                     chip::Token token) override {
      note(DispatchRecord::Kind::hand_over, slot, block, part, core, token);
      if (is_mixed(slot)) half_placed(slot, block, part, core);
    }
    static bool is_mixed(const Slot& slot) { return slot.cores.cubes != 0 && slot.cores.vectors != 0; }
    void half_placed(Slot& slot, std::uint32_t block, std::uint32_t part, std::uint32_t core);
    void half_ended(Slot& slot, std::uint32_t block, std::uint32_t part);
    void finished(Slot& slot) override { pool.engine_->end_block(slot); }
    void core_needed(std::uint32_t core) override {
      auto& fiber = cores[core];
      if (fiber != nullptr) return;
      fiber = std::make_unique<Fiber>();
      fiber->rank = rank;
      fiber->core = core;
      pool.world_.simulator.spawn(pool.core_name(rank, core), [this, core] {
        E::self() = cores[core].get();
        device.run_core(core);
      });
    }
    bool withhold_acknowledge(std::uint32_t core) override { return strikes(Fault::unacknowledged_dispatch, core); }
    bool withhold_finish(std::uint32_t core) override { return strikes(Fault::withheld_finish, core); }
    std::uint64_t scheduler_delay(std::uint32_t scheduler) override;
    void note(DispatchRecord::Kind kind, const Slot& slot, std::uint32_t block, std::uint32_t part, std::uint32_t core,
              chip::Token token);
    bool strikes(Fault fault, std::uint32_t core) {
      pool.world_.touch(rank);
      if (!pool.world_.faults.strikes(fault)) return false;
      pool.world_.faults.note(fault, rank, std::string(info(fault).help) + ": " + pool.core_name(rank, core));
      return true;
    }

    ChipPool& pool;
    int rank;
    chip::Device<E> device;
    Fiber orchestrator;
    bool has_round = false;
    bool was_stopped = false;
    HalvesLog halves;
    std::vector<std::unique_ptr<Fiber>> cores;
  };

  World& world_;
  ChipEngine<E>* engine_ = nullptr;
  host::QuiescenceListener* listener_ = nullptr;
  base::SpinLock<E> registry_lock_;
  Fiber no_fiber_;
  bool stopping_ = false;
  std::vector<std::unique_ptr<Site>> sites_;
};

// Each round of the rank. Some ranks are later than others, and one may be late by far.
template <base::Environment E>
void ChipPool<E>::Site::orchestrate() {
  constexpr base::Latency start{0, 500, 5'000};
  constexpr std::uint64_t late_ns = 10'000'000'000;
  E::self() = &orchestrator;
  ChipRank<E>& mine = pool.engine_->rank(rank);
  bool first = true;
  for (;;) {
    while (!has_round && !pool.stopping_) orchestrator.parker.park();
    if (pool.stopping_) return;
    has_round = false;
    pool.world_.touch(rank);
    E::charge(E::latency("latency.round_start", start));
    if (first && pool.world_.faults.strikes(Fault::late_rank)) {
      pool.world_.faults.note(Fault::late_rank, rank, "rank " + std::to_string(rank) + " began 10 s late");
      E::charge(late_ns);
    }
    first = false;
    E::catch_up();
    RunningNow::here().enter({"orchestrator", "", rank, -1});
    mine.run();
  }
}

template <base::Environment E>
void ChipPool<E>::submitted(ChipRank<E>& rank, Slot& slot, const heddle::detail::TaskRequest& request, bool manual) {
  const int index = rank.index();
  world_.touch(index);
  const auto& windows = engine_->windows().list();
  LoggedTask& task = world_.log.add(index, request, manual, [&](const void* data) { return windows.at(index, data); });
  rank.core().for_each_producer([&](const Slot& producer) { world_.log.add_producer(index, producer.number); });
  if (world_.observer != nullptr) {
    std::vector<heddle::detail::ArgRecord> args(request.args.begin(), request.args.end());
    world_.observer->submitted({{index, slot.number},
                                task.name,
                                task.location,
                                task.parts,
                                manual,
                                request.invoke != nullptr && request.predicate == nullptr,
                                args,
                                world_.log.producers(index, task),
                                request.cores});
  }
  E::charge(E::latency("latency.submit", world_.chip.timing.orchestrator_submit));
  E::catch_up();
}

template <base::Environment E>
void ChipPool<E>::Site::run(Slot& slot, std::uint32_t block, std::uint32_t part, chip::Core<E>& core) {
  const std::int64_t index = std::int64_t{block} * slot.parts() + part;
  ++pool.world_.blocks_run;
  LoggedTask& task = pool.world_.log.task(rank, slot.number);
  ++task.begun;
  if (is_mixed(slot)) halves.begun(slot.number, block, part);
  // What was handed out before the rank was cancelled runs no more.
  if (!pool.engine_->rank(rank).cancelled()) {
    note(DispatchRecord::Kind::begin, slot, block, part, core.index(), core.token());
    pool.engine_->run_block(slot, index);
    note(DispatchRecord::Kind::finish, slot, block, part, core.index(), core.token());
  }
  ++pool.world_.log.task(rank, slot.number).ended;
  if (is_mixed(slot)) half_ended(slot, block, part);
  pool.world_.progress();
}

template <base::Environment E>
void ChipPool<E>::Site::half_placed(Slot& slot, std::uint32_t block, std::uint32_t part, std::uint32_t core) {
  ChipRank<E>& mine = pool.engine_->rank(rank);
  BlockHalves& of_block = halves.handed_over(mine.round(), slot.number, block, part, core);
  if (!of_block.is_awaited) return;
  mine.waits().notified(of_block.cell(part).cell, [this](window::WaitNode& node) { pool.engine_->wake(node); });
}

// What a block leaves in the counts of its cluster meets whoever comes next there: it is noted as this block's.
template <base::Environment E>
void ChipPool<E>::Site::half_ended(Slot& slot, std::uint32_t block, std::uint32_t part) {
  halves.ended(slot.number, block, part, slot.parts(), [&](BlockHalves& of_block) {
    const std::uint32_t lanes = pool.world_.chip.geometry.lanes();
    for (const auto& [key, left] : of_block.tallies) {
      const auto [half, from_cube, id] = key;
      chip::Handover<E>& handover = device.handover(of_block.halves[0].core / lanes);
      const chip::HalfLink link{half, from_cube, id};
      chip::LeftBy& by = handover.left_by(link);
      if (handover.count(link) == 0) by = {};
      if (left > 0 && by.task == nullptr) by = {slot.name, slot.location, block};
    }
  });
}

template <base::Environment E>
void ChipPool<E>::Site::note(DispatchRecord::Kind kind, const Slot& slot, std::uint32_t block, std::uint32_t part,
                             std::uint32_t core, chip::Token token) {
  DispatchLog* const records = pool.world_.records;
  if (records == nullptr) return;
  DispatchRecord record;
  record.kind = kind;
  record.time = E::now();
  record.rank = rank;
  record.task = slot.number;
  record.block = block;
  record.blocks = slot.block_count / slot.parts();
  record.core = core;
  record.token = token;
  record.part = static_cast<std::uint8_t>(part);
  record.parts = static_cast<std::uint8_t>(slot.parts());
  record.cubes = static_cast<std::uint8_t>(slot.cores.cubes);
  records->add(record, slot.name);
}

template <base::Environment E>
std::uint64_t ChipPool<E>::Site::scheduler_delay(std::uint32_t scheduler) {
  struct Delay {
    Fault fault;
    std::uint64_t ns;
  };
  constexpr Delay delays[] = {{Fault::slow_scheduler, 1'000'000},
                              {Fault::parked_scheduler, 100'000'000},
                              {Fault::clock_jump, 3'600'000'000'000}};
  std::uint64_t sum = 0;
  pool.world_.touch(rank);
  for (const Delay& delay : delays) {
    if (!pool.world_.faults.strikes(delay.fault)) continue;
    pool.world_.faults.note(delay.fault, rank,
                            std::string(info(delay.fault).help) + ": rank " + std::to_string(rank) + " scheduler " +
                                std::to_string(scheduler));
    sum += delay.ns;
  }
  return sum;
}

}  // namespace heddle::lab
