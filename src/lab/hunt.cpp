// SPDX-License-Identifier: Apache-2.0
#include "lab/hunt.hpp"

#include <algorithm>
#include <utility>

#include "lab/hunt_workers.hpp"

namespace heddle::lab {
namespace {

void check(const HuntConfig& config) {
  if (config.strategies.empty()) detail::throw_invalid("a hunt needs a strategy");
  if (!config.schedules && !config.time)
    detail::throw_invalid("a hunt needs a budget: a time, or a number of schedules");
  if (config.schedules == std::uint64_t{0} || (config.time && config.time->count() <= 0))
    detail::throw_invalid("a hunt needs a budget of more than zero");
  if (config.jobs < 1 || config.jobs > jobs_most)
    detail::throw_invalid("a hunt has 1 to " + std::to_string(jobs_most) + " threads");
  const bool has_dfs = std::find(config.strategies.begin(), config.strategies.end(), "dfs") != config.strategies.end();
  if (has_dfs && config.strategies.size() > 1)
    detail::throw_invalid("dfs goes through all schedules in their order: give it alone");
  if (has_dfs && (config.fidelities.size() > 1 || config.widths.size() > 1))
    detail::throw_invalid("dfs goes through the schedules of one specification: give one fidelity and one width");
}

}  // namespace

double HuntCounts::per_second() const {
  const double seconds = std::chrono::duration<double>(elapsed).count();
  return seconds > 0 ? static_cast<double>(schedules) / seconds : 0;
}

Numbered schedule_of(const HuntConfig& config, std::uint64_t number, std::uint64_t length_hint) {
  Numbered numbered;
  numbered.number = number;
  numbered.strategy = static_cast<std::size_t>(number % config.strategies.size());
  numbered.spec = config.spec;
  std::uint64_t turn = number / config.strategies.size();
  if (!config.fidelities.empty()) {
    numbered.spec.fidelity = config.fidelities[static_cast<std::size_t>(turn % config.fidelities.size())];
    turn /= config.fidelities.size();
  }
  if (!config.widths.empty())
    numbered.spec.chip_set["clusters"] = config.widths[static_cast<std::size_t>(turn % config.widths.size())];
  numbered.schedule.strategy = config.strategies[numbered.strategy];
  numbered.schedule.seed = config.seed + number;
  numbered.schedule.length_hint = length_hint;
  return numbered;
}

HuntReport hunt(const HuntConfig& config, const Hunter& hunter) {
  check(config);
  HuntReport report = HuntWorkers(config, hunter).run();
  if (!report.failure || report.stalled) return report;
  // Once more, as `replay` would: a program that looks at clocks, addresses or threads does not repeat.
  FoundFailure& found = *report.failure;
  const ScheduledRun again = run_schedule(hunter.make_runner(), hunter.strategies, found.spec, found.schedule, false);
  found.is_repeatable = again.result.trace_hash == found.result.trace_hash && same_failure(again.result, found.result);
  return report;
}

}  // namespace heddle::lab
