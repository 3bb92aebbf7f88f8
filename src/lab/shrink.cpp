// SPDX-License-Identifier: Apache-2.0
#include "lab/shrink.hpp"

#include <algorithm>
#include <utility>

#include "graph/memory.hpp"
#include "lab/choice_words.hpp"
#include "lab/shrink_state.hpp"

namespace heddle::lab {
namespace {

// Another seed may show in a smaller program what this one shows in the larger.
constexpr std::uint64_t seeds_tried = 8;

// Toward `least`, in steps, by halves: whether any value was accepted.
template <class Try>
bool shrink_number(std::int64_t value, std::int64_t least, std::int64_t step, Try&& accepts) {
  bool any = false;
  while (value > least) {
    const std::int64_t steps = (value - least) / step;
    const std::int64_t half = least + steps / 2 * step, next = least + (steps - 1) * step;
    if (steps > 0 && accepts(least)) return true;
    if (half > least && accepts(half))
      value = half;
    else if (next > half && accepts(next))
      value = next;
    else
      return any;
    any = true;
  }
  return any;
}

void set(Settings& settings, const std::string& name, const std::string& value) {
  std::erase_if(settings, [&](const auto& setting) { return setting.first == name; });
  settings.emplace_back(name, value);
}

}  // namespace

ShrinkState::ShrinkState(const ShrinkConfig& config, const Shrinker& shrinker) : config_(config), shrinker_(shrinker) {
  best_ = {config.failure.settings, config.failure.spec, config.failure.schedule};
  for (const ShrinkParameter& parameter : config.parameters) values_[parameter.name] = parameter.value;
}

bool ShrinkState::is_spent() {
  interrupted_ = interrupted_ || shrinker_.interrupted();
  return interrupted_ || (config_.runs && runs_ >= *config_.runs) ||
         (config_.time && Clock::now() - begun_ >= *config_.time);
}

void ShrinkState::tell(const char* what) {
  if (shrinker_.progress) shrinker_.progress({what, runs_, size_of(best_, best_result_)});
}

ShrinkSize ShrinkState::size_of(const Candidate& candidate, const RunResult& result) const {
  const std::uint64_t choices = candidate.schedule.is_list ? candidate.schedule.choices.size() : result.taken.size();
  return {candidate.spec.ranks, candidate.spec.rounds, result.tasks, result.blocks, result.events, choices};
}

void ShrinkState::run(const Candidate& candidate) {
  ++runs_;
  Runner& runner = runners_[candidate.settings];
  if (!runner) runner = shrinker_.make_runner(candidate.settings);
  ScheduledRun run = run_schedule(runner, shrinker_.strategies, candidate.spec, candidate.schedule, true);
  last_ = std::move(run.result);
  last_by_time_ = run.by_time;
}

// False when the program refuses to be so small.
bool ShrinkState::can_run(const Candidate& candidate) {
  try {
    run(candidate);
    return true;
  } catch (const Error&) {
    return false;
  }
}

void ShrinkState::accept(const Candidate& candidate) {
  best_ = candidate;
  best_result_ = std::move(last_);
  best_by_time_ = last_by_time_;
  // A choice that nobody asked for is not among those that were taken.
  if (best_.schedule.is_list) best_.schedule.choices = best_result_.taken;
}

bool ShrinkState::is_same_kind(const RunResult& result) const {
  if (result.verdict != best_result_.verdict || result.error.has_value() != best_result_.error.has_value())
    return false;
  return !result.error ||
         (result.error->code() == best_result_.error->code() && result.error->task() == best_result_.error->task());
}

bool ShrinkState::show() {
  run(best_);
  const Failure& failure = config_.failure;
  const std::uint16_t code = last_.error ? static_cast<std::uint16_t>(last_.error->code()) : std::uint16_t{0};
  const bool is_it = last_.verdict == failure.verdict && code == failure.code;
  accept(best_);
  before_ = size_of(best_, best_result_);
  return is_it;
}

bool ShrinkState::try_program(Candidate candidate) {
  const std::uint64_t tries = candidate.schedule.is_list ? 1 : seeds_tried;
  for (std::uint64_t i = 0; i < tries && !is_spent(); ++i) {
    if (!can_run(candidate)) return false;
    if (is_same_kind(last_)) {
      accept(candidate);
      return true;
    }
    ++candidate.schedule.seed;
  }
  return false;
}

bool ShrinkState::shrink_program() {
  bool any = false;
  for (bool again = true; again && !is_spent();) {
    again = shrink_rounds();
    again = shrink_ranks() || again;
    again = shrink_parameters() || again;
    again = shrink_clusters() || again;
    again = shrink_faults() || again;
    any = any || again;
  }
  return any;
}

bool ShrinkState::shrink_rounds() {
  tell("rounds");
  const auto try_rounds = [&](std::int64_t rounds) {
    Candidate candidate = best_;
    candidate.spec.rounds = rounds;
    return try_program(std::move(candidate));
  };
  bool any = false;
  // The rounds after the one that failed were never begun.
  if (best_result_.rounds_done + 1 < best_.spec.rounds) any = try_rounds(best_result_.rounds_done + 1);
  return shrink_number(best_.spec.rounds, 1, 1, try_rounds) || any;
}

bool ShrinkState::shrink_ranks() {
  tell("ranks");
  const int group = std::max(1, shrinker_.group_of(best_.settings));
  return shrink_number(best_.spec.ranks, group, group, [&](std::int64_t ranks) {
    Candidate candidate = best_;
    candidate.spec.ranks = static_cast<int>(ranks);
    return try_program(std::move(candidate));
  });
}

bool ShrinkState::shrink_parameters() {
  tell("parameters");
  bool any = false;
  for (const ShrinkParameter& parameter : config_.parameters) {
    std::int64_t& value = values_[parameter.name];
    const auto try_value = [&](std::int64_t smaller) {
      Candidate candidate = best_;
      set(candidate.settings, parameter.name, std::to_string(smaller));
      if (!try_program(std::move(candidate))) return false;
      value = smaller;
      return true;
    };
    any = shrink_number(value, parameter.least, 1, try_value) || any;
  }
  return any;
}

// Only where the failure was found on a chip of another width than its table's.
bool ShrinkState::shrink_clusters() {
  const auto found = best_.spec.chip_set.find("clusters");
  if (found == best_.spec.chip_set.end()) return false;
  tell("clusters");
  return shrink_number(static_cast<std::int64_t>(found->second), 1, 1, [&](std::int64_t clusters) {
    Candidate candidate = best_;
    candidate.spec.chip_set["clusters"] = static_cast<std::uint64_t>(clusters);
    return try_program(std::move(candidate));
  });
}

bool ShrinkState::shrink_faults() {
  tell("faults");
  bool any = false;
  const std::map<std::string, std::uint32_t> faults = best_.spec.faults;
  for (const auto& [name, count] : faults) {
    any = shrink_number(count, 0, 1,
                        [&](std::int64_t fewer) {
                          Candidate candidate = best_;
                          if (fewer == 0)
                            candidate.spec.faults.erase(name);
                          else
                            candidate.spec.faults[name] = static_cast<std::uint32_t>(fewer);
                          return try_program(std::move(candidate));
                        }) ||
          any;
  }
  return any;
}

ShrinkReport ShrinkState::report(bool is_minimal) {
  ShrinkReport report;
  report.failure = to_failure(best_.spec, best_.schedule, best_result_);
  report.failure.program = config_.failure.program;
  report.failure.module = config_.failure.module;
  report.failure.variant = config_.failure.variant;
  report.failure.settings = best_.settings;
  report.before = before_;
  report.after = size_of(best_, best_result_);
  report.runs = runs_;
  report.interrupted = interrupted_;
  report.is_minimal = is_minimal;
  if (best_.schedule.is_list) {
    for (const TakenChoice& choice : best_.schedule.choices) report.words.push_back(in_words(choice));
  }
  report.result = std::move(best_result_);
  return report;
}

ShrinkReport shrink(const ShrinkConfig& config, const Shrinker& shrinker) {
  const graph::MemoryReuse reuse;
  ShrinkState state(config, shrinker);
  if (!state.show()) {
    ShrinkReport report = state.report(false);
    report.is_shown = false;
    return report;
  }
  // With few choices left a program may shrink where a seed's other choices stood in the way.
  for (bool again = true; again && !state.is_spent();) {
    state.shrink_program();
    again = state.shrink_choices();
  }
  const bool is_minimal = !state.is_spent();
  std::optional<NearestPass> nearest = state.nearest_pass();
  ShrinkReport report = state.report(is_minimal);
  report.nearest = std::move(nearest);
  return report;
}

}  // namespace heddle::lab
