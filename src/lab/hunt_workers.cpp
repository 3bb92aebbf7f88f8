// SPDX-License-Identifier: Apache-2.0
#include "lab/hunt_workers.hpp"

#include <algorithm>
#include <utility>

#include "base/marks.hpp"
#include "graph/memory.hpp"

namespace heddle::lab {
namespace {

constexpr std::chrono::milliseconds glance{50};

bool is_in_order(const HuntConfig& config) { return config.strategies.front() == "dfs"; }

}  // namespace

HuntWorkers::HuntWorkers(const HuntConfig& config, const Hunter& hunter) : shared_(std::make_shared<Shared>()) {
  shared_->config = config;
  shared_->hunter = hunter;
  for (const std::string& name : config.strategies) shared_->counts.strategies.push_back({name});
}

HuntWorkers::~HuntWorkers() {
  shared_->stop.store(true, std::memory_order_relaxed);
  join();
}

void HuntWorkers::start(std::size_t count) {
  const std::scoped_lock lock(shared_->mutex);
  while (shared_->workers.size() < count) {
    Worker& worker = *shared_->workers.emplace_back(std::make_unique<Worker>());
    worker.thread = std::thread([shared = shared_, &worker] { shared->work(worker); });
  }
}

void HuntWorkers::join() {
  std::vector<std::thread*> threads;
  {
    const std::scoped_lock lock(shared_->mutex);
    for (const auto& worker : shared_->workers) threads.push_back(&worker->thread);
  }
  for (std::thread* thread : threads)
    if (thread->joinable()) thread->join();
}

HuntCounts HuntWorkers::counts_now(Clock::time_point begun) {
  HuntCounts counts;
  {
    const std::scoped_lock lock(shared_->mutex);
    counts = shared_->counts;
  }
  counts.elapsed = Clock::now() - begun;
  for (const auto& [name, count] : base::marks::all()) counts.states.emplace_back(name, count);
  return counts;
}

HuntReport HuntWorkers::run() {
  const HuntConfig& config = shared_->config;
  const Hunter& hunter = shared_->hunter;
  const auto begun = Clock::now();
  if (config.time && *config.time < Clock::time_point::max() - begun)
    shared_->deadline = begun + std::chrono::duration_cast<Clock::duration>(*config.time);
  const std::size_t jobs = is_in_order(config) ? 1 : static_cast<std::size_t>(config.jobs);

  HuntReport report;
  StallWatch watch(config.patience);
  std::vector<bool> is_watched(jobs, false);
  start(1);  // the first schedule tells the others how long a run is
  for (std::optional<StallWatch::Stalled> stalled; !stalled;) {
    std::unique_lock lock(shared_->mutex);
    auto& workers = shared_->workers;
    const auto all_done = [&] {
      return std::all_of(workers.begin(), workers.end(), [](const auto& worker) { return worker->is_done; });
    };
    shared_->changed.wait_for(lock, glance,
                              [&] { return all_done() || (shared_->first_is_done && workers.size() < jobs); });
    const bool stopped = shared_->stop.load(std::memory_order_relaxed);
    if (all_done() && (!shared_->first_is_done || workers.size() >= jobs || stopped)) break;
    const auto now = Clock::now();
    for (std::size_t i = 0; i < workers.size(); ++i) {
      const bool is_running = workers[i]->now != nullptr && !workers[i]->is_done;
      if (is_running && !is_watched[i]) watch.add(*workers[i]->now, now);
      if (!is_running && is_watched[i]) watch.remove(*workers[i]->now);
      is_watched[i] = is_running;
    }
    stalled = watch.look(now);
    for (const auto& worker : workers) {
      if (!stalled || worker->is_done) continue;
      const Numbered& run = worker->current;
      if (worker->now == stalled->thread)
        report.stalled = StalledRun{run.number, run.schedule.strategy, run.schedule.seed, stalled->what};
      worker->thread.detach();  // the others run the same program, and may be about to stall as well
    }
    const bool wants_more = shared_->first_is_done && workers.size() < jobs && !stalled;
    lock.unlock();
    if (stalled) break;
    if (wants_more) start(jobs);
    if (hunter.interrupted()) {
      report.interrupted = true;
      shared_->stop.store(true, std::memory_order_relaxed);
    }
    if (hunter.progress) hunter.progress(counts_now(begun));
  }
  shared_->stop.store(true, std::memory_order_relaxed);
  if (!report.stalled) join();

  report.counts = counts_now(begun);
  const std::scoped_lock lock(shared_->mutex);
  report.complete = shared_->complete;
  report.failure = shared_->failure;
  if (shared_->problem && shared_->problem_number <= shared_->lowest.load(std::memory_order_relaxed))
    std::rethrow_exception(shared_->problem);
  return report;
}

void HuntWorkers::Shared::work(Worker& worker) {
  const graph::MemoryReuse reuse;
  try {
    {
      const std::scoped_lock lock(mutex);
      worker.now = &RunningNow::here();
    }
    const Runner runner = hunter.make_runner();
    if (is_in_order(config))
      work_in_order(worker, runner);
    else
      work_by_turns(worker, runner);
  } catch (...) {
    fail(worker.current.number);
  }
  const std::scoped_lock lock(mutex);
  worker.is_done = first_is_done = true;
  changed.notify_all();
}

void HuntWorkers::Shared::fail(std::uint64_t number) {
  stop.store(true, std::memory_order_relaxed);
  const std::scoped_lock lock(mutex);
  if (number >= problem_number) return;
  problem = std::current_exception();
  problem_number = number;
}

// Never after a number was taken: every schedule below a failure is run.
std::optional<Numbered> HuntWorkers::Shared::claim(Worker& worker) {
  if (stop.load(std::memory_order_relaxed) || Clock::now() >= deadline) return std::nullopt;
  // relaxed: nothing but the number itself is handed over.
  const std::uint64_t number = next.fetch_add(1, std::memory_order_relaxed);
  if (config.schedules && number >= *config.schedules) return std::nullopt;
  if (!config.keep_going && number > lowest.load(std::memory_order_relaxed)) return std::nullopt;
  std::uint64_t hint = 0;
  {
    const std::scoped_lock lock(mutex);
    hint = length_hint;
  }
  Numbered numbered = schedule_of(config, number, hint);
  begin(worker, numbered);
  return numbered;
}

void HuntWorkers::Shared::begin(Worker& worker, const Numbered& numbered) {
  const std::scoped_lock lock(mutex);
  worker.current = numbered;
  RunningNow::here().step();
}

void HuntWorkers::Shared::work_by_turns(Worker& worker, const Runner& runner) {
  while (const std::optional<Numbered> numbered = claim(worker)) {
    ScheduledRun run = run_schedule(runner, hunter.strategies, numbered->spec, numbered->schedule, false);
    finish(*numbered, std::move(run.result), numbered->schedule);
  }
}

// One strategy object goes from run to run: where it stands is what it has tried.
void HuntWorkers::Shared::work_in_order(Worker& worker, const Runner& runner) {
  const std::unique_ptr<Strategy> strategy = hunter.strategies.named(config.strategies.front());
  while (std::optional<Numbered> numbered = claim(worker)) {
    numbered->schedule.seed = config.seed;
    RunResult result = runner(numbered->spec, *strategy, config.seed, true);
    Schedule schedule = numbered->schedule;
    schedule.is_list = true;
    schedule.length_hint = 0;
    schedule.by_time = strategy->by_time();
    schedule.choices = std::move(result.taken);
    const bool has_failed = !result.passed();
    finish(*numbered, std::move(result), schedule);
    if (!strategy->end()) {
      const std::scoped_lock lock(mutex);
      complete = !has_failed || config.keep_going;
      return;
    }
  }
}

void HuntWorkers::Shared::finish(const Numbered& numbered, RunResult result, const Schedule& schedule) {
  const std::scoped_lock lock(mutex);
  ++counts.schedules;
  counts.events += result.events;
  ++counts.verdicts[result.verdict];
  StrategyCount& strategy = counts.strategies[numbered.strategy];
  ++strategy.schedules;
  if (!first_is_done) {
    length_hint = result.choices;
    first_is_done = true;
    changed.notify_all();
  }
  if (result.passed()) return;
  ++counts.failures;
  ++strategy.failures;
  if (numbered.number >= lowest.load(std::memory_order_relaxed)) return;
  lowest.store(numbered.number, std::memory_order_relaxed);
  failure = FoundFailure{numbered.number, numbered.spec, schedule, std::move(result), true};
}

}  // namespace heddle::lab
