// SPDX-License-Identifier: Apache-2.0
//
// A session's engine: its ranks, windows and rounds on a pool of workers. Who instantiates it for an environment
// includes host/engine_impl.hpp.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <heddle/program.hpp>
#include <heddle/session.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/lock.hpp"
#include "host/backend.hpp"
#include "host/host_halves.hpp"
#include "host/pool.hpp"
#include "host/rank.hpp"
#include "host/window_set.hpp"
#include "host/worker_trace.hpp"

namespace heddle::host {

// Counts of one worker. Its own stores, read by others.
template <base::Environment E>
struct alignas(64) WorkerCounts {
  enum Which : std::size_t { blocks, puts, put_bytes, notifies, parked, which_end };
  std::array<typename E::template Atomic<std::uint64_t>, which_end> value{};
  // When the worker last read the clock. Its own.
  std::uint64_t last_ticks = 0;
  // The block that runs on this worker, for who looks for stalled ones.
  typename E::template Atomic<graph::Slot<E>*> running{nullptr};
  typename E::template Atomic<std::int64_t> running_block{0};

  void add(Which which, std::uint64_t count) {
    auto& cell = value[which];
    cell.store(cell.load(std::memory_order_relaxed) + count,
               std::memory_order_relaxed);  // relaxed: a count of one writer
  }
};

// What every rank of a session declares.
inline std::vector<Plan> plan_ranks(const ProgramBase& program, int ranks) {
  std::vector<Plan> plans;
  for (int r = 0; r < ranks; ++r) program.plan(plans.emplace_back(r, ranks));
  return plans;
}

// Who is told of the first failure of a round before anything is cancelled for it.
class FailureListener {
 public:
  // `stands_still`: nothing could happen any more. By whichever thread has found it.
  virtual void failing(bool stands_still) = 0;

 protected:
  ~FailureListener() = default;
};

inline constexpr int poison_byte = 0xff;  // a NaN in every floating type, -1 in every signed one

template <base::Environment E, class B>
class Engine final : public QuiescenceListener {
 public:
  using Pool = typename B::Pool;
  using Fiber = typename B::Fiber;

  // `plans` are those of plan_ranks().
  Engine(Pool& pool, std::shared_ptr<ProgramBase> program, std::vector<Plan> plans, const SessionConfig& config)
      : pool_(pool),
        program_(std::move(program)),
        config_(config),
        windows_(static_cast<int>(plans.size())),
        counts_(pool.size()),
        traces_(static_cast<int>(pool.size()), config.recorder_entries, config.recorder) {
    const auto ranks = static_cast<int>(plans.size());
    for (int r = 0; r < ranks; ++r) {
      ranks_.push_back(std::make_unique<Rank<E, B>>(*this, r, ranks, config));
      const Plan& plan = plans[static_cast<std::size_t>(r)];
      ranks_.back()->adopt_tensors(plan.tensors());
      for (const auto& window : plan.windows()) windows_.allocate(r, window.name, window.bytes, {});
    }
    if (!windows_.list().all_equal()) throw windows_.list().mismatch();
    windows_.list().end_of_plans();
    pool_.add(*this);
  }
  ~Engine() { pool_.remove(*this); }

  // ---- from the host ----

  // Starts a round on every rank. The host then waits for finished().
  void start_round(std::int64_t round, typename E::Parker& fence) {
    halves_.clear();
    windows_.list().begin_round();
    round_ = round;
    fence_ = &fence;
    first_error_.reset();
    const std::lock_guard guard(pool_.registry_lock());
    if (listener_ != nullptr) told_.store(0, std::memory_order_relaxed);  // relaxed: as ranks_left_
    ranks_left_.store(static_cast<std::uint32_t>(ranks_.size()),
                      std::memory_order_relaxed);  // relaxed: published by the queue
    for (auto& rank : ranks_) {
      rank->begin_round(round);
      pool_.inject(rank->start());
    }
  }
  // acquire: partner is the release in rank_done(); all that the round did is visible.
  bool finished() const { return ranks_left_.load(std::memory_order_acquire) == 0; }

  // Fails a rank from outside of the pool: a timer, a cancellation.
  void fail_from_outside(int rank, Error error) {
    const std::lock_guard guard(pool_.registry_lock());
    fail(*ranks_[static_cast<std::size_t>(rank)], std::move(error));
  }
  void cancel_all(Error error) {
    const std::lock_guard guard(pool_.registry_lock());
    tell(false);
    note(std::move(error.in_round(round_)));
    for (auto& rank : ranks_)
      if (rank->state() == RankState::running) rank->cancel();
  }
  // What a rank's blocks and deferred tasks wait for now, while others may run.
  std::vector<WaitRecord> parked_waits(int rank) { return collect_parked(*ranks_[static_cast<std::size_t>(rank)]); }
  std::optional<Error> first_error() const {
    const std::lock_guard guard(error_lock_);
    return first_error_;
  }
  void make_usable() {
    for (auto& rank : ranks_) rank->make_usable();
    windows_.list().zero();
    if constexpr (B::watches) pool_.clear_flags();
    traces_.thaw();
  }

  // ---- from workers ----

  // A task that has blocks to hand out: runs one of them.
  void run_task(graph::Slot<E>& slot);
  // The three parts of it, for who places blocks elsewhere. begin_task: before a task's first block; false when it runs
  // none of them. end_block: after each.
  bool begin_task(graph::Slot<E>& slot);
  // In place of begin_task(), for a task that is placed before its producers are complete. False: not now.
  bool prepare_task(graph::Slot<E>& slot);
  void run_block(graph::Slot<E>& slot, std::int64_t index);
  void end_block(graph::Slot<E>& slot);
  // An ordinary write to a rank's memory, or to one of its cells: wakes whoever waited for it.
  void memory_changed(int rank, const std::byte* begin, const std::byte* end) {
    auto& waits = ranks_[static_cast<std::size_t>(rank)]->waits();
    if (waits.parked() != 0) waits.rescan(begin, end, [this](window::WaitNode& node) { wake(node); });
  }
  // A waiter that the wait table has handed over.
  void wake(window::WaitNode& node);
  // A slot became ready. `tail`: the calling worker takes up other work right after this.
  void ready(graph::Slot<E>& slot, bool tail = false);
  void fail(Rank<E, B>& rank, Error error) {
    tell(false);
    note(std::move(error.at_rank(rank.index()).in_round(round_)));
    rank.cancel();
  }
  // The last word of a rank in a round.
  void rank_done() {
    typename E::Parker* fence = fence_;
    // acq_rel: partner is the load in finished().
    if (ranks_left_.fetch_sub(1, E::order("rank_done", std::memory_order_acq_rel)) == 1) fence->unpark();
  }

  // Counts one more parked wait. False when as many are parked as are allowed.
  bool may_park() {
    // relaxed: a count that orders nothing.
    if (parked_now_.fetch_add(1, std::memory_order_relaxed) < config_.waiting_blocks) return true;
    unparked();
    return false;
  }
  void unparked() { parked_now_.fetch_sub(1, std::memory_order_relaxed); }

  void quiescent() override;

  // Before the first round.
  void listen(FailureListener& listener) { listener_ = &listener; }

  Pool& pool() { return pool_; }
  const ProgramBase& program() const { return *program_; }
  ProgramBase& program() { return *program_; }
  WindowSet<E>& windows() { return windows_; }
  HostHalves<E>& halves() { return halves_; }
  Rank<E, B>& rank(int index) { return *ranks_[static_cast<std::size_t>(index)]; }
  int ranks() const { return static_cast<int>(ranks_.size()); }
  const SessionConfig& config() const { return config_; }
  typename B::Traces& traces() { return traces_; }
  WorkerCounts<E>& counts(std::uint32_t worker) { return counts_[worker]; }
  std::uint64_t total(typename WorkerCounts<E>::Which which) const {
    std::uint64_t sum = 0;
    for (const auto& counts : counts_) sum += counts.value[which].load(std::memory_order_relaxed);  // relaxed: a count
    return sum;
  }

 private:
  // The condition of a task that completes later, in the task's own memory.
  struct Deferred {
    heddle::detail::ConditionRecord record;
    window::WaitNode node;
  };
  static_assert(sizeof(Deferred) <= graph::deferred_condition_bytes);

  bool wanted(const graph::Slot<E>& slot) const;
  static void poison(graph::Slot<E>& slot) {
    if ((slot.flags & graph::slot_poison) != 0) std::memset(slot.memory, poison_byte, slot.memory_bytes);
  }
  Block::Identity identity(const graph::Slot<E>& slot, std::int64_t index) const;
  void blocks_done(graph::Slot<E>& slot, bool skipped);
  void defer(graph::Slot<E>& slot);
  void condition_met(graph::Slot<E>& slot);
  void complete(graph::Slot<E>& slot, bool tail);
  Error kernel_error(const graph::Slot<E>& slot, std::int64_t block, const std::exception_ptr& thrown) const;

  std::vector<WaitRecord> collect_parked(Rank<E, B>& rank);
  std::vector<WaitRecord> collect_waits(Rank<E, B>& rank);
  WaitRecord describe(const window::WaitNode& node, int rank) const;
  WaitRecord describe(Rank<E, B>& rank) const;
  static WaitRecord describe_half(const window::WaitNode& node, WaitRecord record);
  Error judge(std::vector<WaitRecord> waits);
  Error resource_error(Rank<E, B>& rank, const graph::OrchestratorWait& wait);

  // The first of them only: what follows finds a round that is being cancelled.
  void tell(bool stands_still) {
    if (listener_ == nullptr) return;
    // relaxed: it decides who tells, and publishes nothing.
    if (told_.exchange(1, std::memory_order_relaxed) == 0) listener_->failing(stands_still);
  }

  void note(Error error) {
    traces_.freeze();
    const std::lock_guard guard(error_lock_);
    if (!first_error_) {
      first_error_ = std::move(error);
    } else if (first_error_->attached().size() < attached_most) {
      first_error_->attach(std::move(error));
    }
  }

  static constexpr std::size_t attached_most = 64;

  Pool& pool_;
  std::shared_ptr<ProgramBase> program_;
  SessionConfig config_;
  WindowSet<E> windows_;
  HostHalves<E> halves_;
  std::vector<std::unique_ptr<Rank<E, B>>> ranks_;
  std::vector<WorkerCounts<E>> counts_;
  typename B::Traces traces_;
  std::int64_t round_ = -1;
  typename E::Parker* fence_ = nullptr;
  typename E::template Atomic<std::uint32_t> ranks_left_{0};
  typename E::template Atomic<std::uint32_t> parked_now_{0};
  FailureListener* listener_ = nullptr;
  typename E::template Atomic<std::uint32_t> told_{0};
  mutable base::SpinLock<E> error_lock_;
  std::optional<Error> first_error_;
};

// Runs the tasks of any engine on the pool.
template <base::Environment E>
class EngineClient final : public PoolClient<E> {
 public:
  void execute(base::Work& task) override {
    auto& slot = static_cast<graph::Slot<E>&>(task);
    static_cast<Rank<E>*>(slot.rank)->engine().run_task(slot);
  }
};

}  // namespace heddle::host
