// SPDX-License-Identifier: Apache-2.0
#include "host/session_impl.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <string>
#include <utility>

#include "host/trace.hpp"

namespace heddle::detail {

namespace {

using Counts = host::WorkerCounts<base::HostEnvironment>;

// Pools with a thread that never comes back, and all that it may touch. Never given back: the process may still end.
void keep_for_good(std::shared_ptr<void> pool, std::shared_ptr<void> with) {
  static std::mutex mutex;
  static auto* const kept = new std::vector<std::shared_ptr<void>>();
  const std::lock_guard guard(mutex);
  kept->push_back(std::move(pool));
  kept->push_back(std::move(with));
}

void require(bool condition, const std::string& message) {
  if (!condition) throw_invalid(message);
}

void check(const SessionConfig& config) {
  require(config.ring.task_window >= 1 && config.ring.task_window <= (1U << 20U),
          "task_window is " + std::to_string(config.ring.task_window) + "; allowed are 1 to 1048576");
  require(config.ring.heap_bytes >= 1024 && config.ring.heap_bytes <= (1ULL << 40U),
          "heap_bytes is " + std::to_string(config.ring.heap_bytes) + "; allowed are 1024 to 2^40");
  require(config.ring.dep_pool >= 1 && config.ring.dep_pool <= (1U << 26U),
          "dep_pool is " + std::to_string(config.ring.dep_pool) + "; allowed are 1 to 67108864");
  require(config.region_entries >= 1 && config.region_entries <= (1U << 26U),
          "region_entries is " + std::to_string(config.region_entries) + "; allowed are 1 to 67108864");
  require(config.waiting_blocks >= 1 && config.waiting_blocks <= (1U << 20U),
          "waiting_blocks is " + std::to_string(config.waiting_blocks) + "; allowed are 1 to 1048576");
  host::check_order(config.timeouts);
}

// Declared tensors and windows are touched as a whole: more than the machine has would end the process, not the call.
void check_memory(const std::vector<Plan>& plans) {
  constexpr auto larger = [](std::uint64_t sum, std::uint64_t bytes) {
    return bytes > UINT64_MAX - sum ? UINT64_MAX : sum + bytes;
  };
  std::uint64_t declared = 0;
  for (const Plan& plan : plans) {
    for (const auto& spec : plan.tensors()) declared = larger(declared, spec.bytes());
    for (const auto& window : plan.windows()) declared = larger(declared, window.bytes);
  }
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const auto machine = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * page;
  require(declared <= machine / 10 * 9, "the ranks' tensors and windows take " + std::to_string(declared >> 20U) +
                                            " MiB; this machine has " + std::to_string(machine >> 20U) +
                                            " MiB: use fewer ranks or smaller sizes");
}

}  // namespace

DeviceImpl::DeviceImpl(const DeviceConfig& config) : config_(config) {
  require(config.ranks >= 1 && config.ranks <= 1024,
          "ranks is " + std::to_string(config.ranks) + "; allowed are 1 to 1024");
  require(
      config.threads >= 0 && config.threads <= 1024,
      "threads is " + std::to_string(config.threads) + "; allowed are 1 to 1024, or 0 for as many as there are cores");
  require(config.stack_bytes >= (64U << 10U) && config.stack_bytes <= (1U << 30U),
          "stack_bytes is " + std::to_string(config.stack_bytes) + "; allowed are 65536 to 1073741824");
  if (config_.threads == 0) config_.threads = std::min(host::usable_cores(), 1024);
  pool_ = std::make_shared<host::HostPool>(config_.threads, config_.stack_bytes);
}

std::shared_ptr<host::HostPool> DeviceImpl::pool() {
  const std::lock_guard guard(mutex_);
  if (pool_ == nullptr) pool_ = std::make_shared<host::HostPool>(config_.threads, config_.stack_bytes);
  return pool_;
}

void DeviceImpl::replace(std::shared_ptr<host::HostPool> stuck, std::shared_ptr<void> with) {
  {
    const std::lock_guard guard(mutex_);
    if (pool_ == stuck) pool_ = nullptr;
  }
  stuck->abandon();
  keep_for_good(std::move(stuck), std::move(with));
}

SessionImpl::SessionImpl(std::shared_ptr<DeviceImpl> device, std::shared_ptr<ProgramBase> program,
                         const SessionConfig& config)
    : device_(std::move(device)), fence_(std::make_shared<base::HostEnvironment::Parker>()) {
  require(program != nullptr, "prepare: there is no program");
  check(config);
  pool_ = device_->pool();
  std::vector<Plan> plans = host::plan_ranks(*program, device_->config().ranks);
  check_memory(plans);
  engine_ = std::make_shared<host::HostEngine>(pool_->pool(), std::move(program), std::move(plans), config);
}

void SessionImpl::check_rank(int rank) const {
  require(rank >= 0 && rank < engine_->ranks(),
          "there is no rank " + std::to_string(rank) + "; the session has " + std::to_string(engine_->ranks()));
}

void SessionImpl::check_usable(const char* what) const {
  require(!poisoned_, std::string(what) + ": a kernel of this session never returned; prepare a new session");
  // relaxed: what is lost stays lost.
  require(!pool_->abandoned().load(std::memory_order_relaxed),
          std::string(what) +
              ": the device's workers were lost to a kernel of another session, which never returned; prepare a new "
              "session");
}

RoundStatistics SessionImpl::run(std::span<const Binding> bindings) {
  check_usable("run");
  if (failed_)
    throw Error(Code::invalid_argument, "run: the session has failed")
        .with_hint("call recover(), or prepare a new session");
  copy_in(bindings);
  if (engine_->config().reset_windows) engine_->windows().list().zero();
  const RoundStatistics before = totals();
  const std::uint64_t started = base::HostEnvironment::now();
  engine_->start_round(++round_, *fence_);
  host::Monitor monitor(*engine_, cancel_requested_, pool_->abandoned());
  if (!monitor.wait(*fence_)) poison();
  cancel_requested_.store(false, std::memory_order_relaxed);  // relaxed: see Monitor
  const std::optional<Error> error = engine_->first_error();
  failed_ = error.has_value() || !engine_->windows().list().all_equal();
  if (!poisoned_) copy_back(bindings);
  if (error) throw Error(*error);
  if (failed_) throw engine_->windows().list().mismatch().in_round(round_);
  return statistics(before, started);
}

void SessionImpl::poison() {
  poisoned_ = true;
  device_->replace(pool_, std::make_shared<std::pair<decltype(engine_), decltype(fence_)>>(engine_, fence_));
}

RoundStatistics SessionImpl::totals() const {
  RoundStatistics sum;
  sum.blocks = engine_->total(Counts::blocks);
  sum.puts = engine_->total(Counts::puts);
  sum.put_bytes = engine_->total(Counts::put_bytes);
  sum.notifies = engine_->total(Counts::notifies);
  sum.waits_parked = engine_->total(Counts::parked);
  return sum;
}

RoundStatistics SessionImpl::statistics(const RoundStatistics& before, std::uint64_t started) const {
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

std::size_t SessionImpl::find(const Binding& binding) const {
  check_rank(binding.rank);
  const IoTable& io = engine_->rank(binding.rank).io();
  for (std::size_t i = 0; i < io.specs->size(); ++i) {
    const Plan::TensorSpec& spec = (*io.specs)[i];
    if (spec.name != binding.name) continue;
    const std::string which = "binding of \"" + binding.name + "\" on rank " + std::to_string(binding.rank) + ": ";
    require(spec.type == binding.type, which + "elements are " + std::string(name_of(binding.type)) +
                                           ", declared are " + std::string(name_of(spec.type)));
    require(spec.bytes() == binding.bytes,
            which + "it has " + std::to_string(binding.bytes) + " bytes, declared are " + std::to_string(spec.bytes()));
    require(binding.data != nullptr, which + "the memory is null");
    require(spec.direction == Direction::input || binding.writable, which + "an output is bound to constant memory");
    return i;
  }
  throw_invalid("binding of \"" + binding.name + "\": rank " + std::to_string(binding.rank) +
                " declares no such tensor");
}

void SessionImpl::copy_in(std::span<const Binding> bindings) {
  for (const Binding& binding : bindings) find(binding);  // all are valid before the first is copied
  for (const Binding& binding : bindings) {
    const std::size_t i = find(binding);
    IoTable& io = engine_->rank(binding.rank).io();
    if ((*io.specs)[i].direction != Direction::output) std::memcpy(io.data[i], binding.data, binding.bytes);
  }
}

void SessionImpl::copy_back(std::span<const Binding> bindings) {
  for (const Binding& binding : bindings) {
    if (!finished(binding.rank)) continue;
    const std::size_t i = find(binding);
    const IoTable& io = engine_->rank(binding.rank).io();
    if ((*io.specs)[i].direction != Direction::input) std::memcpy(binding.data, io.data[i], binding.bytes);
  }
}

namespace {

// One rank's share of a host function that runs on the workers.
struct HostCall final : host::CallWork {
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

void SessionImpl::for_each_rank(const std::function<void(HostIo&)>& body, std::int64_t round, int phase) {
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

void SessionImpl::recover() {
  check_usable("recover");
  engine_->make_usable();
  failed_ = false;
}

bool SessionImpl::finished(int rank) const {
  check_rank(rank);
  return round_ >= 0 && engine_->rank(rank).state() == host::RankState::finished;
}

void SessionImpl::refuse_failed(int rank) const {
  require(finished(rank),
          "output: rank " + std::to_string(rank) +
              (round_ < 0 ? " has run no round yet" : " failed in the last round; its outputs are void"));
}

std::span<std::byte> SessionImpl::memory(int rank, std::string_view name, DType type, std::size_t element_bytes) {
  check_rank(rank);
  const IoTable& io = engine_->rank(rank).io();
  const std::size_t i = io.find(name, false, type, element_bytes, -1);
  return {io.data[i], (*io.specs)[i].bytes()};
}

std::span<std::byte> SessionImpl::window(int rank, std::string_view name) {
  check_rank(rank);
  const WindowTable* table = engine_->windows().find(name);
  return {table->part[static_cast<std::size_t>(rank)], table->bytes};
}

void SessionImpl::write_trace(const std::string& path) const {
  auto& engine = *engine_;
  const auto& set = engine.traces().set();
  const auto records = set.snapshot();
  std::vector<host::TraceWindow> windows;
  engine.windows().list().for_each([&](const WindowTable& table) {
    for (std::size_t r = 0; r < table.part.size(); ++r)
      windows.push_back(
          {table.name, static_cast<int>(r), reinterpret_cast<std::uintptr_t>(table.part[r]), table.bytes});
  });
  host::write_trace(path, {records, engine.traces().clock(), windows, set.dropped()});
}

}  // namespace heddle::detail
