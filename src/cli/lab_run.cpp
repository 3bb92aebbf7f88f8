// SPDX-License-Identifier: Apache-2.0
#include "cli/lab_run.hpp"

#include <fmt/format.h>
#include <malloc.h>

#include <chrono>
#include <memory>
#include <new>

#include "cli/failure.hpp"
#include "cli/lab_guard.hpp"

namespace heddle::cli {

namespace {

// As save(); says in the result how much was recorded.
void save_log(TraceFile& trace, const lab::TraceLog& log, RunResult& result, bool is_last) {
  result.total.records = log.written();
  result.total.records_dropped = log.dropped();
  const bool had_passed = result.passed();
  save(trace, [&](const std::string& path) { log.write(path); }, result, is_last);
  if (!had_passed || result.passed() || !result.lab) return;
  result.lab->verdict = lab::name_of(lab::Verdict::failed);
  result.lab->sentence = one_line(*result.error);
}

}  // namespace

void keep_freed_memory() {
  // A run frees all that it made, and the next one asks for the same: no pages go back and forth in between.
  ::mallopt(M_TRIM_THRESHOLD, 1 << 30);
  ::mallopt(M_MMAP_THRESHOLD, 64 << 20);
}

std::chrono::nanoseconds patience_of(const std::string& text) {
  return text.empty() ? std::chrono::seconds(30) : parse_time("--patience", text);
}

LabOutcome outcome_of(const lab::RunResult& result, const std::string& strategy, std::uint64_t seed) {
  LabOutcome outcome;
  outcome.verdict = lab::name_of(result.verdict);
  outcome.sentence = result.sentence;
  outcome.chain = result.chain;
  outcome.faults = result.faults;
  outcome.strategy = strategy;
  outcome.seed = seed;
  outcome.trace_hash = result.trace_hash;
  outcome.program_hash = result.program_hash;
  outcome.virtual_ns = result.virtual_ns;
  outcome.events = result.events;
  outcome.choices = result.choices;
  return outcome;
}

RunResult result_of(const RunPlan& plan, const lab::RunResult& result, LabOutcome outcome) {
  RunResult shown;
  shown.program = plan.name;
  shown.variant = plan.variant;
  shown.backend = plan.backend;
  shown.ranks = plan.device.ranks;
  shown.threads = 1;
  shown.rounds = plan.rounds;
  shown.rounds_done = result.rounds_done;
  shown.total = result.statistics;
  shown.total.tasks = result.tasks;
  shown.total.blocks = result.blocks;
  shown.total.elapsed = std::chrono::nanoseconds(result.virtual_ns);
  shown.checked = plan.check;
  shown.error = result.error;
  if (!result.passed() && !shown.error) shown.error = Error(Code::user_error, result.sentence);
  shown.lab = std::move(outcome);
  return shown;
}

RunResult run_in_lab(const RunPlan& plan, const RunOptions& options, Interrupts& interrupts, TraceFile* trace,
                     bool is_last) {
  const lab::RunSpec spec = make_spec(plan, options.lab, "none");
  const std::uint64_t seed = seed_of(options.lab, 1);
  const std::vector<std::string> strategies = strategies_of(options.lab, {"random"});
  if (strategies.size() != 1)
    throw UsageError(fmt::format("--strategy: a run has one strategy; give {} alone", strategies.front()));
  const std::unique_ptr<lab::Strategy> strategy = strategy_maker().named(strategies.front());
  lab::TraceLog log(plan.session.recorder_entries);
  RunResult shown;
  const auto start = std::chrono::steady_clock::now();
  try {
    const LabGuard guard(plan.name, interrupts, LabGuard::OnInterrupt::ends, patience_of(options.patience),
                         options.json);
    const lab::RunResult result =
        lab::run_once(plan.program, spec, *strategy, seed, false, trace != nullptr ? &log : nullptr);
    shown = result_of(plan, result, outcome_of(result, strategies.front(), seed));
    shown.wall = std::chrono::steady_clock::now() - start;
  } catch (const Error& error) {
    throw UsageError(one_line(error));
  } catch (const std::bad_alloc&) {
    throw UsageError("there is not enough memory; give fewer ranks or smaller sizes");
  }
  if (trace != nullptr) save_log(*trace, log, shown, is_last);
  return shown;
}

}  // namespace heddle::cli
