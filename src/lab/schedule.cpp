// SPDX-License-Identifier: Apache-2.0
#include "lab/schedule.hpp"

namespace heddle::lab {

ScheduledRun run_schedule(const Runner& runner, const StrategyMaker& strategies, const RunSpec& spec,
                          const Schedule& schedule, bool record_choices) {
  const std::unique_ptr<Strategy> strategy =
      schedule.is_list ? strategies.replay(schedule.choices, schedule.by_time) : strategies.named(schedule.strategy);
  HintedStrategy hinted(*strategy, schedule.length_hint);
  ScheduledRun run;
  run.result = runner(spec, hinted, schedule.seed, record_choices);
  run.by_time = strategy->by_time();
  return run;
}

Failure to_failure(const RunSpec& spec, const Schedule& schedule, const RunResult& result) {
  Failure failure;
  failure.spec = spec;
  failure.schedule = schedule;
  failure.verdict = result.verdict;
  failure.code = result.error ? static_cast<std::uint16_t>(result.error->code()) : std::uint16_t{0};
  failure.sentence = result.sentence;
  failure.trace_hash = result.trace_hash;
  failure.program_hash = result.program_hash;
  return failure;
}

}  // namespace heddle::lab
