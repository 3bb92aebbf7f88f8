// SPDX-License-Identifier: Apache-2.0
#include "host/monitor.hpp"

#include <algorithm>
#include <string>

#include "host/session_checks.hpp"

namespace heddle::host {

namespace {

using Counts = WorkerCounts<base::HostEnvironment>;

std::uint64_t nanoseconds(std::chrono::milliseconds duration) {
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(duration).count());
}
std::string text(const Timeouts::Duration& duration) { return duration ? host::text(*duration) : "off"; }

bool elapsed(std::uint64_t since, std::uint64_t now, const Timeouts::Duration& limit) {
  return limit && now - since >= nanoseconds(*limit);
}

}  // namespace

Monitor::Monitor(HostEngine& engine, HostPool& pool, const std::atomic<bool>& cancel_requested)
    : engine_(engine),
      trap_(engine, pool),
      cancel_requested_(cancel_requested),
      workers_lost_(pool.abandoned()),
      timeouts_(engine.config().timeouts),
      seen_(engine.pool().size()) {}

// Short enough for every limit that is set, and for a person who has pressed Ctrl-C.
std::uint64_t Monitor::interval() const {
  auto shortest = std::chrono::milliseconds(50);
  for (const auto& limit : {timeouts_.scheduler, timeouts_.operation, timeouts_.host_fence, timeouts_.tensor_access})
    if (limit) shortest = std::min(shortest, std::max(*limit / 4, std::chrono::milliseconds(1)));
  return nanoseconds(shortest);
}

bool Monitor::wait(base::HostEnvironment::Parker& fence) {
  const std::uint64_t step = interval();
  moved_at_ = base::HostEnvironment::now();
  for (;;) {
    if (fence.park_until(base::HostEnvironment::now() + step)) return true;
    const std::uint64_t now = base::HostEnvironment::now();
    look(now);
    // relaxed: what is lost stays lost.
    if (workers_lost_.load(std::memory_order_relaxed) && !engine_.finished()) {
      fail_all(Error(Code::core_stalled,
                     "the device's workers were lost to a kernel of another session, which never returned"),
               now);
      return false;
    }
    if (failed_at_ != 0 && !engine_.finished() && overdue(now)) return false;
  }
}

// The block that was last seen on a worker; nothing when it has ended since, as its slot may then be another task's.
std::optional<Monitor::Running> Monitor::identify(std::uint32_t worker) const {
  const Seen& seen = seen_[worker];
  const Running running{static_cast<Rank<base::HostEnvironment>*>(seen.slot->rank), seen.slot->name,
                        seen.block / seen.slot->parts(), seen.slot->location};
  base::HostEnvironment::fence(std::memory_order_acquire);  // the reads above, before the look whether they were good
  const auto& counts = engine_.counts(worker);
  // relaxed: see the fence.
  const bool still = counts.running.load(std::memory_order_relaxed) == seen.slot &&
                     counts.value[Counts::blocks].load(std::memory_order_relaxed) == seen.blocks_before;
  return still ? std::optional(running) : std::nullopt;
}

// Whether something of a cancelled rank has kept running beyond the grace period.
bool Monitor::overdue(std::uint64_t now) {
  const std::uint64_t grace = nanoseconds(timeouts_.grace);
  bool any_block = false;
  for (std::uint32_t w = 0; w < seen_.size(); ++w) {
    const Seen& seen = seen_[w];
    if (seen.slot == nullptr) continue;
    any_block = true;
    const auto running = identify(w);
    if (!running || !running->rank->cancelled() || now - std::max(failed_at_, seen.since) < grace) continue;
    if (!seen.reported) {
      std::vector<WorkerRecord> workers = trap_.look();
      workers[w].stuck = true;
      const std::string stands = stands_text(workers[w]);
      engine_.fail_from_outside(running->rank->index(),
                                Error(Code::core_stalled, "the kernel was cancelled and has not returned within " +
                                                              text(timeouts_.grace) + stands)
                                    .at_task(running->task, running->block, running->location)
                                    .with_workers(std::move(workers)));
    }
    return true;
  }
  if (any_block || engine_.pool().all_asleep() || now - std::max(failed_at_, moved_at_) < grace) return false;
  for (int r = 0; r < engine_.ranks(); ++r) {
    auto& rank = engine_.rank(r);
    if (rank.state() != RankState::running || !rank.cancelled()) continue;
    std::vector<WorkerRecord> workers = trap_.look();
    const auto its = std::find_if(workers.begin(), workers.end(), [r](const WorkerRecord& worker) {
      return worker.state == WorkerRecord::State::program && worker.rank == r;
    });
    std::string stands;
    if (its != workers.end()) {
      its->stuck = true;
      stands = stands_text(*its);
    }
    engine_.fail_from_outside(
        r, Error(Code::core_stalled,
                 "the rank's program was cancelled and has not returned within " + text(timeouts_.grace) + stands)
               .with_workers(std::move(workers)));
    return true;
  }
  return false;
}

void Monitor::look(std::uint64_t now) {
  // relaxed: a request, nothing is read on the strength of it.
  if (!cancelled_ && cancel_requested_.load(std::memory_order_relaxed)) {
    cancelled_ = true;
    fail_all(Error(Code::user_error, "the run was cancelled"), now);
  }
  if (failed_at_ == 0 && engine_.first_error()) failed_at_ = now;
  look_for_stalled_blocks(now);
  look_for_scalar_waits(now);
  look_for_standstill(now);
}

void Monitor::fail_all(Error error, std::uint64_t now) {
  engine_.cancel_all(std::move(error));
  if (failed_at_ == 0) failed_at_ = now;
}

// A block that has been on its worker since the last look and has not moved.
void Monitor::look_for_stalled_blocks(std::uint64_t now) {
  std::vector<std::uint32_t> stalled;
  for (std::uint32_t w = 0; w < engine_.pool().size(); ++w) {
    auto& counts = engine_.counts(w);
    // acquire: partner is the release when the block begins. relaxed: a stale answer is corrected at the next look.
    const auto* slot = counts.running.load(std::memory_order_acquire);
    const std::int64_t block = counts.running_block.load(std::memory_order_relaxed);
    const std::uint64_t blocks = counts.value[Counts::blocks].load(std::memory_order_relaxed);
    Seen& seen = seen_[w];
    if (slot == nullptr || seen.slot != slot || seen.block != block || seen.blocks_before != blocks) {
      seen = {slot, block, blocks, now, false};
      continue;
    }
    if (seen.reported || !elapsed(seen.since, now, timeouts_.operation)) continue;
    stalled.push_back(w);
  }
  if (!stalled.empty()) report_stalled(stalled, now);
}

// The first one's error tells where every worker stands; what follows it, of itself alone.
void Monitor::report_stalled(const std::vector<std::uint32_t>& workers, std::uint64_t now) {
  std::vector<WorkerRecord> all = trap_.look();
  for (const std::uint32_t w : workers) all[w].stuck = all[w].state == WorkerRecord::State::kernel;
  bool is_first = true;
  for (const std::uint32_t w : workers) {
    const auto running = identify(w);
    if (!running) continue;
    seen_[w].reported = true;
    if (failed_at_ == 0) failed_at_ = now;
    Error error(Code::core_stalled, "the block has run for more than " + text(timeouts_.operation) +
                                        " without returning" + stands_text(all[w]));
    error.at_task(running->task, running->block, running->location);
    error.with_workers(is_first ? all : std::vector<WorkerRecord>{all[w]});
    engine_.fail_from_outside(running->rank->index(), std::move(error));
    is_first = false;
  }
}

void Monitor::look_for_scalar_waits(std::uint64_t now) {
  if (!timeouts_.tensor_access) return;
  // Nothing runs: the proof, or the scheduler's timer, says why.
  if (timeouts_.scheduler && engine_.pool().all_asleep()) return;
  for (int r = 0; r < engine_.ranks(); ++r) {
    auto& rank = engine_.rank(r);
    const auto settling = rank.settling();
    if (settling.since == 0 || now < settling.since || rank.cancelled() ||
        !elapsed(settling.since, now, timeouts_.tensor_access))
      continue;
    if (failed_at_ == 0) failed_at_ = now;
    report_scalar_wait(r, settling.task, settling.location);
  }
}

// What keeps the task that is waited for: a worker that runs it, what it waits for itself, or that it has not begun.
void Monitor::report_scalar_wait(int rank, const std::string& task, Location location) {
  std::vector<WorkerRecord> workers = trap_.look();
  std::vector<WaitRecord> waits = engine_.parked_waits(rank);
  std::string cause;
  for (WorkerRecord& worker : workers) {
    if (worker.state != WorkerRecord::State::kernel || worker.rank != rank || worker.task != task) continue;
    worker.stuck = true;
    if (cause.empty()) cause = "; " + worker.text();
  }
  for (const WaitRecord& wait : waits)
    if (cause.empty() && wait.task == task) cause = "; " + wait.text();
  engine_.fail_from_outside(
      rank, Error(Code::tensor_wait_timeout, "a scalar access has waited for more than " +
                                                 text(timeouts_.tensor_access) + " for task " + task + cause)
                .at_location(location)
                .with_waits(std::move(waits))
                .with_workers(std::move(workers)));
}

void Monitor::look_for_standstill(std::uint64_t now) {
  const std::uint64_t blocks = engine_.total(Counts::blocks);
  if (blocks != moved_blocks_) {
    moved_blocks_ = blocks;
    moved_at_ = now;
  }
  if (!engine_.pool().all_asleep()) {
    asleep_since_ = 0;
  } else if (asleep_since_ == 0) {
    asleep_since_ = now;
  }
  if (failed_at_ != 0 || engine_.finished()) return;
  if (asleep_since_ != 0 && elapsed(asleep_since_, now, timeouts_.scheduler)) {
    std::vector<WaitRecord> waits;
    for (int r = 0; r < engine_.ranks(); ++r)
      for (WaitRecord& wait : engine_.parked_waits(r)) waits.push_back(std::move(wait));
    fail_all(Error(Code::no_progress,
                   "nothing has run for " + text(timeouts_.scheduler) + ", and no proof of a deadlock was found")
                 .with_hint("this is a fault of the runtime: please report it")
                 .with_waits(std::move(waits)),
             now);
  } else if (elapsed(moved_at_, now, timeouts_.host_fence)) {
    std::vector<WorkerRecord> workers = trap_.look();
    std::string cause = "; a rank's program or a kernel is still running";
    for (auto worker = workers.rbegin(); worker != workers.rend(); ++worker) {
      if (worker->state == WorkerRecord::State::idle) continue;
      worker->stuck = worker->state != WorkerRecord::State::unknown;
      cause = "; " + worker->text();
    }
    fail_all(Error(Code::no_progress, "no block has ended for " + text(timeouts_.host_fence) + cause)
                 .with_workers(std::move(workers)),
             now);
  }
}

}  // namespace heddle::host
