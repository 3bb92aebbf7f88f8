// SPDX-License-Identifier: Apache-2.0
#include "host/snapshot_read.hpp"

#include <chrono>

#include "host/running_block.hpp"
#include "host/snapshot_parts.hpp"
#include "window/signal.hpp"

namespace heddle::host {

namespace {

using E = base::HostEnvironment;

// An orchestrator is inside for microseconds, unless its thread has no core.
constexpr std::chrono::milliseconds gate_patience{500};

class Reader {
 public:
  Reader(HostEngine& engine, snapshot::Snapshot& made) : engine_(engine), made_(made) {}

  ReadEngine read() {
    const std::uint64_t started = E::now();
    all_.ranks.resize(static_cast<std::size_t>(engine_.ranks()));
    std::vector<graph::Gate<E>*> gates;
    for (int r = 0; r < engine_.ranks(); ++r) gates.push_back(&engine_.rank(r).core().gate());
    const graph::Look look(std::move(gates), gate_patience);
    // In this order: what ends in between is then seen to have ended, and not forgotten.
    for (int r = 0; r < engine_.ranks(); ++r) waits(r);
    for (std::uint32_t w = 0; w < engine_.pool().size(); ++w) worker(w, look);
    for (int r = 0; r < engine_.ranks(); ++r) {
      if (look.has(static_cast<std::size_t>(r)))
        rank(r);
      else
        not_read(r);
    }
    all_.took_ns = E::now() - started;
    return std::move(all_);
  }

 private:
  ReadRank& of(int rank) { return all_.ranks[static_cast<std::size_t>(rank)]; }

  // A registered wait keeps its block, and with it the task.
  void waits(int r) {
    engine_.rank(r).waits().for_each([&](const window::WaitNode& node) {
      const auto& slot = *static_cast<const HostSlot*>(node.task);
      ReadWait& wait = of(r).waits.emplace_back();
      wait.task = slot.number;
      wait.index = node.block;
      wait.parts = slot.parts();
      wait.deferred = node.deferred;
      wait.signal = node.signal;
      wait.compare = node.compare;
      wait.needs = node.value;
      wait.has = window::load<E>(node.signal);
      if (node.half != nullptr) wait.half = *node.half;
      wait.submitted = slot.location;
    });
  }

  void worker(std::uint32_t number, const graph::Look& look) {
    ReadWorker& worker = all_.workers.emplace_back();
    // relaxed: a worker that wakes up now has nothing yet.
    worker.sleeps = engine_.pool().worker(number).sleeping.load(std::memory_order_relaxed) != 0;
    worker.rank = engine_.traces().program_on(number);
    const RunningBlock running = running_block(engine_, number);
    if (running.slot == nullptr) return;
    // Whose it is does not change while all orchestrators stay outside.
    for (std::size_t r = 0; r < all_.ranks.size(); ++r)
      if (!look.has(r)) return;
    const auto& rank = *static_cast<const Rank<E>*>(running.slot->rank);
    const ReadBlock block{number, running.slot->number, running.part, running.slot->parts(), running.slot->location};
    E::fence(std::memory_order_acquire);  // the reads above, before the look whether they were good
    if (running_block(engine_, number) != running) return;
    worker.sleeps = false;
    worker.rank = rank.index();
    worker.block = block;
    of(rank.index()).blocks.push_back(block);
  }

  void not_read(int r) {
    snapshot::Rank& rank = made_.ranks.emplace_back();
    rank.rank = r;
    rank.state = snapshot::RankState::running;
    made_.notes.push_back("the program of rank " + std::to_string(r) +
                          " could not be halted between two submits: its tasks and rings were not recorded");
  }

  void rank(int r) {
    auto& rank = engine_.rank(r);
    RankParts(rank, made_).add();
    made_.ranks.back().submitted = static_cast<std::int64_t>(rank.core().submitted());
    const auto& core = rank.core();
    std::uint64_t slots = 0;
    for (std::uint32_t i = 0; i < graph::ring_count; ++i) slots += core.ring(i).filled() - core.ring(i).tail();
    of(r).tasks.reserve(slots);
    of(r).edges.reserve(slots);
    for (std::uint32_t i = 0; i < graph::ring_count; ++i) {
      const auto& ring = core.ring(i);
      for (std::uint64_t serial = ring.tail(); ring.mapped() && serial < ring.filled(); ++serial)
        if (const HostSlot& slot = ring.slot(serial); &slot != core.placed()) task(of(r), slot, i);
    }
    if (core.stuck().resource == graph::Resource::none) scopes(r);
  }

  // `blocks_left` counts conditions once the blocks have ended, and nothing of a single block.
  static void task(ReadRank& rank, const HostSlot& slot, std::uint32_t ring) {
    ReadTask& task = rank.tasks.emplace_back();
    task.ref = slot.ref;
    task.name = slot.name;
    task.location = slot.location;
    task.number = slot.number;
    task.ring = ring;
    task.cores = slot.cores;
    task.parts = slot.block_count;
    // relaxed: counts that are told, and nothing is read on the strength of them.
    task.left = slot.blocks_left.load(std::memory_order_relaxed);
    task.is_ready = slot.fan_in.load(std::memory_order_relaxed) == 0;
    // acquire: partner is link(), whose edges the list holds. Only an orchestrator gives edges out anew.
    const graph::Edge<E>* edge = slot.fanout.load(std::memory_order_acquire);
    task.is_complete = edge == HostSlot::closed();
    if (task.is_complete) return;
    for (; edge != nullptr; edge = edge->next.load())
      if (edge->consumer->kind == base::Work::Kind::task) rank.edges.push_back({edge->consumer->number, slot.number});
  }

  void scopes(int r) {
    const auto& core = engine_.rank(r).core();
    int depth = static_cast<int>(core.scopes().depth());
    core.scopes().for_each_from(0, [&](const graph::ScopeFrame& frame) {
      snapshot::Scope& scope = made_.scopes.emplace_back();
      scope.rank = r;
      scope.depth = --depth;
      scope.ring = static_cast<int>(frame.ring);
      scope.manual = frame.manual;
      scope.source = source_of(frame.location);
      const auto& ring = core.ring(frame.ring);
      if (frame.first >= ring.tail() && frame.first < ring.filled()) scope.first = ring.slot(frame.first).number;
    });
  }

  HostEngine& engine_;
  snapshot::Snapshot& made_;
  ReadEngine all_;
};

}  // namespace

ReadEngine read_engine(HostEngine& engine, snapshot::Snapshot& made) { return Reader(engine, made).read(); }

}  // namespace heddle::host
