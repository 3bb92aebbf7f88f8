// SPDX-License-Identifier: Apache-2.0
#include "host/host_session.hpp"

#include <algorithm>
#include <deque>
#include <new>
#include <string>
#include <utility>

#include "host/session_checks.hpp"
#include "host/snapshot_parts.hpp"
#include "host/snapshot_take.hpp"
#include "host/trace.hpp"

namespace heddle::host {

namespace {

using Counts = WorkerCounts<base::HostEnvironment>;

// Pools with a thread that never comes back, and all that it may touch. Never given back: the process may still end.
void keep_for_good(std::shared_ptr<void> pool, std::shared_ptr<void> with) {
  static std::mutex mutex;
  static auto* const kept = new std::vector<std::shared_ptr<void>>();
  const std::lock_guard guard(mutex);
  kept->push_back(std::move(pool));
  kept->push_back(std::move(with));
}

}  // namespace

HostDevice::HostDevice(const DeviceConfig& config) : config_(config) {
  check(config);
  if (config_.threads == 0) config_.threads = std::min(usable_cores(), 1024);
  pool_ = std::make_shared<HostPool>(config_.threads, config_.stack_bytes);
}

std::unique_ptr<heddle::detail::SessionImpl> HostDevice::prepare(std::shared_ptr<ProgramBase> program,
                                                                 const SessionConfig& config) {
  return std::make_unique<HostSession>(std::static_pointer_cast<HostDevice>(shared_from_this()), std::move(program),
                                       config);
}

std::shared_ptr<HostPool> HostDevice::pool() {
  const std::lock_guard guard(mutex_);
  if (pool_ == nullptr) pool_ = std::make_shared<HostPool>(config_.threads, config_.stack_bytes);
  return pool_;
}

void HostDevice::replace(std::shared_ptr<HostPool> stuck, std::shared_ptr<void> with) {
  {
    const std::lock_guard guard(mutex_);
    if (pool_ == stuck) pool_ = nullptr;
  }
  stuck->abandon();
  keep_for_good(std::move(stuck), std::move(with));
}

HostSession::HostSession(std::shared_ptr<HostDevice> device, std::shared_ptr<ProgramBase> program,
                         const SessionConfig& config)
    : device_(std::move(device)),
      fence_(std::make_shared<base::HostEnvironment::Parker>()),
      began_(base::HostEnvironment::now()) {
  require(program != nullptr, "prepare: there is no program");
  check(config);
  pool_ = device_->pool();
  std::vector<Plan> plans = plan_ranks(*program, device_->ranks());
  check_memory(plans);
  engine_ = std::make_shared<HostEngine>(pool_->pool(), std::move(program), std::move(plans), config);
  if (config.keep_failure) engine_->listen(*this);
  std::vector<heddle::detail::IoTable*> tables;
  for (int r = 0; r < engine_->ranks(); ++r) tables.push_back(&engine_->rank(r).io());
  memory_ = SessionMemory(std::move(tables));
}

void HostSession::check_usable(const char* what) const {
  require(!poisoned_, std::string(what) + ": a kernel of this session never returned; prepare a new session");
  // relaxed: what is lost stays lost.
  require(!pool_->abandoned().load(std::memory_order_relaxed),
          std::string(what) +
              ": the device's workers were lost to a kernel of another session, which never returned; prepare a new "
              "session");
}

RoundStatistics HostSession::run(std::span<const Binding> bindings) {
  check_usable("run");
  if (failed_)
    throw Error(Code::invalid_argument, "run: the session has failed")
        .with_hint("call recover(), or prepare a new session");
  memory_.copy_in(bindings);
  if (engine_->config().reset_windows) engine_->windows().list().zero();
  forget_kept();
  const RoundStatistics before = totals();
  const std::uint64_t started = base::HostEnvironment::now();
  engine_->start_round(++round_, *fence_);
  Monitor monitor(*engine_, *pool_, cancel_requested_);
  if (!monitor.wait(*fence_)) poison();
  cancel_requested_.store(false, std::memory_order_relaxed);  // relaxed: see Monitor
  const std::optional<Error> error = engine_->first_error();
  if (error) complete_kept(*error);
  failed_ = error.has_value() || !engine_->windows().list().all_equal();
  if (!poisoned_) memory_.copy_back(bindings, [this](int rank) { return finished(rank); });
  if (error) throw Error(*error);
  if (failed_) throw engine_->windows().list().mismatch().in_round(round_);
  return statistics(before, started);
}

void HostSession::poison() {
  poisoned_ = true;
  device_->replace(pool_, std::make_shared<std::pair<decltype(engine_), decltype(fence_)>>(engine_, fence_));
}

RoundStatistics HostSession::totals() const {
  RoundStatistics sum;
  sum.blocks = engine_->total(Counts::blocks);
  sum.puts = engine_->total(Counts::puts);
  sum.put_bytes = engine_->total(Counts::put_bytes);
  sum.notifies = engine_->total(Counts::notifies);
  sum.waits_parked = engine_->total(Counts::parked);
  return sum;
}

RoundStatistics HostSession::statistics(const RoundStatistics& before, std::uint64_t started) const {
  RoundStatistics sum = totals();
  sum.round = round_;
  sum.blocks -= before.blocks;
  sum.puts -= before.puts;
  sum.put_bytes -= before.put_bytes;
  sum.notifies -= before.notifies;
  sum.waits_parked -= before.waits_parked;
  for (int r = 0; r < engine_->ranks(); ++r) {
    auto& core = engine_->rank(r).core();
    sum.tasks += core.submitted();
    sum.edges += core.edges();
    sum.conservative_overlaps += core.conservative_overlaps();
  }
  const auto counts = engine_->traces().set().counts();
  sum.records = counts.written;
  sum.records_dropped = counts.dropped;
  sum.elapsed = std::chrono::nanoseconds(base::HostEnvironment::now() - started);
  return sum;
}

namespace {

// One rank's share of a host function that runs on the workers.
struct HostCall final : CallWork {
  struct Shared {
    const std::function<void(HostIo&)>& body;
    std::atomic<int> left;
    base::HostEnvironment::Parker done;
  };
  HostCall(Shared& all, const HostIo& of_rank) : shared(all), io(of_rank) {}
  void run() override {
    try {
      shared.body(io);
    } catch (...) {
      thrown = std::current_exception();
    }
    // acq_rel: a release sequence over the ranks; the last one's unpark publishes all of them.
    if (shared.left.fetch_sub(1, std::memory_order_acq_rel) == 1) shared.done.unpark();
  }
  Shared& shared;
  HostIo io;
  std::exception_ptr thrown;
};

}  // namespace

void HostSession::for_each_rank(const std::function<void(HostIo&)>& body, std::int64_t round, int phase) {
  check_usable("fill, check");
  const int ranks = engine_->ranks();
  HostCall::Shared shared{body, ranks, {}};
  std::deque<HostCall> calls;
  for (int r = 0; r < ranks; ++r) calls.emplace_back(shared, HostIo(engine_->rank(r).io(), r, ranks, round, phase));
  for (HostCall& call : calls) pool_->pool().inject(call);
  shared.done.park();
  for (int r = 0; r < ranks; ++r) {
    const std::exception_ptr& thrown = calls[static_cast<std::size_t>(r)].thrown;
    if (thrown == nullptr) continue;
    try {
      std::rethrow_exception(thrown);
    } catch (Error& error) {
      throw error.at_rank(r).in_round(round);
    }
  }
}

void HostSession::recover() {
  check_usable("recover");
  forget_kept();
  engine_->make_usable();
  failed_ = false;
}

void HostSession::forget_kept() {
  const std::lock_guard guard(kept_mutex_);
  kept_.reset();
}

void HostSession::failing(bool stands_still) {
  try {
    snapshot::Snapshot taken =
        take_snapshot(*engine_, stands_still ? snapshot::Taken::standstill : snapshot::Taken::failure, began_);
    const std::lock_guard guard(kept_mutex_);
    kept_ = std::move(taken);
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): the failure itself is told all the same
  }
}

// What was found out after it was taken.
void HostSession::complete_kept(const Error& error) {
  const std::lock_guard guard(kept_mutex_);
  if (!kept_) return;
  add_workers(*kept_, error.workers());
  kept_->outcome = outcome_of(error);
}

snapshot::Snapshot HostSession::snapshot() {
  {
    const std::lock_guard guard(kept_mutex_);
    if (kept_) return *kept_;
  }
  snapshot::Snapshot taken;
  {
    const std::lock_guard guard(pool_->pool().registry_lock());
    taken = take_snapshot(*engine_, snapshot::Taken::request, began_);
  }
  add_workers(taken, Trap(*engine_, *pool_).look());
  if (const std::optional<Error> error = engine_->first_error()) taken.outcome = outcome_of(*error);
  return taken;
}

bool HostSession::finished(int rank) const {
  memory_.check_rank(rank);
  return round_ >= 0 && engine_->rank(rank).state() == RankState::finished;
}

std::span<std::byte> HostSession::memory(int rank, std::string_view name, DType type, std::size_t element_bytes) {
  return memory_.find(rank, name, type, element_bytes);
}

std::span<std::byte> HostSession::window(int rank, std::string_view name) {
  memory_.check_rank(rank);
  const heddle::detail::WindowTable* table = engine_->windows().find(name);
  return {table->part[static_cast<std::size_t>(rank)], table->bytes};
}

void HostSession::write_trace(const std::string& path) const {
  auto& engine = *engine_;
  const auto& set = engine.traces().set();
  const auto records = set.snapshot();
  std::vector<TraceWindow> windows;
  engine.windows().list().for_each([&](const heddle::detail::WindowTable& table) {
    for (std::size_t r = 0; r < table.part.size(); ++r)
      windows.push_back(
          {table.name, static_cast<int>(r), reinterpret_cast<std::uintptr_t>(table.part[r]), table.bytes});
  });
  host::write_trace(path, {records, engine.traces().clock(), windows, set.dropped()});
}

}  // namespace heddle::host
