// SPDX-License-Identifier: Apache-2.0
//
// Whether a hunt is twice as fast on two cores: hunts of a case that passes, with all strategies and checkers, on one
// thread and on two, in turn.
#include <benchmark/benchmark.h>
#include <malloc.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "lab/bench_programs.hpp"
#include "lab/hunt.hpp"
#include "lab/strategies/replay.hpp"
#include "lab/strategies/strategies.hpp"

namespace heddle::lab {
namespace {

constexpr std::uint64_t schedules_a_hunt = 2'000;

struct Spent {
  double wall = 0;
  double processor = 0;
  double waits = 0;  // times that a thread gave up its core because it had to wait
  std::uint64_t schedules = 0;

  double per_second() const { return static_cast<double>(schedules) / wall; }
  double processor_each() const { return processor / static_cast<double>(schedules); }
};

Spent so_far() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now().time_since_epoch();
  return {wall.count(), seconds(usage.ru_utime) + seconds(usage.ru_stime), static_cast<double>(usage.ru_nvcsw), 0};
}

template <class Program>
Hunter hunter_of(Program program) {
  Hunter hunter;
  hunter.make_runner = [program] {
    const std::shared_ptr<ProgramBase> made = make_program(Program(program));
    return [made](const RunSpec& spec, Strategy& strategy, std::uint64_t seed, bool record) {
      return run_once(made, spec, strategy, seed, record);
    };
  };
  hunter.strategies = {[](const std::string& name) { return make_strategy(name); },
                       [](const std::vector<TakenChoice>& choices, bool by_time) {
                         return std::make_unique<ReplayStrategy>(choices, by_time);
                       }};
  return hunter;
}

// Adds what a hunt took to `spent`; the complaint when it did not run to its end.
std::optional<std::string> add_hunt(HuntConfig config, const Hunter& hunter, int jobs, Spent& spent) {
  config.jobs = jobs;
  const Spent before = so_far();
  const HuntReport report = hunt(config, hunter);
  const Spent after = so_far();
  if (report.failure) return report.failure->result.sentence;
  if (report.counts.schedules != config.schedules) return "the hunt did not use its budget";
  spent.wall += after.wall - before.wall;
  spent.processor += after.processor - before.processor;
  spent.waits += after.waits - before.waits;
  spent.schedules += report.counts.schedules;
  return std::nullopt;
}

template <class Program>
void two_cores(benchmark::State& state, Program program, int ranks, std::uint64_t schedules) {
  // As the command sets it.
  ::mallopt(M_TRIM_THRESHOLD, 1 << 30);
  ::mallopt(M_MMAP_THRESHOLD, 64 << 20);
  HuntConfig config;
  config.spec.ranks = ranks;
  for (const NamedHelp& checker : checker_names()) config.spec.checkers.push_back(checker.name);
  config.schedules = schedules;
  const Hunter hunter = hunter_of(program);
  Spent one;
  Spent two;
  for (auto _ : state) {
    for (const int jobs : {1, 2, 2, 1}) {
      if (const auto problem = add_hunt(config, hunter, jobs, jobs == 1 ? one : two))
        return state.SkipWithError(problem->c_str());
    }
    config.seed += schedules;
  }
  state.counters["one/s"] = one.per_second();
  state.counters["two/s"] = two.per_second();
  state.counters["speedup"] = two.per_second() / one.per_second();
  // What two threads would gain with a core each for themselves: from what each schedule costs a core, which others on
  // the machine disturb less than the clock, and true while threads do not wait for each other.
  state.counters["speedup_by_cpu"] = 2 * one.processor_each() / two.processor_each();
  state.counters["waits_a_schedule"] = two.waits / static_cast<double>(two.schedules);
}
BENCHMARK_CAPTURE(two_cores, small, SmallProgram{}, 2, schedules_a_hunt)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(two_cores, exchange, ExchangeProgram{}, 8, schedules_a_hunt / 2)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace heddle::lab
