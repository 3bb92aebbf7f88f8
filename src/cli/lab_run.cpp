// SPDX-License-Identifier: Apache-2.0
#include "cli/lab_run.hpp"

#include <fmt/format.h>
#include <malloc.h>

#include <chrono>
#include <memory>
#include <new>

#include "cli/failure.hpp"
#include "cli/lab_guard.hpp"
#include "cli/snapshot_file.hpp"
#include "cli/watched_run.hpp"
#include "lab/chips/chips.hpp"
#include "lab/snapshot_log.hpp"

namespace heddle::cli {

namespace {

// As save(); a run that passed and whose file cannot be written has failed.
void save_of_lab(TraceFile& file, const TraceFile::Writer& writer, RunResult& result, bool is_last,
                 std::string RunResult::* path) {
  const bool had_passed = result.passed();
  save(file, writer, result, is_last, path);
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

lab::DispatchHeader records_header(const RunPlan& plan, const lab::RunSpec& spec, const lab::RunResult& result,
                                   const std::string& strategy, std::uint64_t seed) {
  const chip::Geometry geometry = lab::chip_config(spec.chip, spec.chip_set).geometry;
  lab::DispatchHeader header;
  header.program = plan.name;
  header.variant = plan.variant;
  header.backend = plan.backend;
  header.ranks = spec.ranks;
  header.rounds = spec.rounds;
  header.cores = geometry.cores();
  header.lanes = geometry.lanes();
  header.strategy = strategy;
  header.seed = seed;
  header.trace_hash = result.trace_hash;
  return header;
}

void in_lab(const RunPlan& plan, Interrupts& interrupts, const std::string& patience, bool as_json,
            const std::function<void()>& action, const char* too_large) {
  try {
    const LabGuard guard(plan.name, interrupts, LabGuard::OnInterrupt::ends, patience_of(patience), as_json);
    action();
  } catch (const Error& error) {
    throw UsageError(one_line(error));
  } catch (const std::bad_alloc&) {
    throw UsageError(too_large);
  }
}

std::optional<snapshot::Snapshot> snapshot_of(const std::shared_ptr<ProgramBase>& program, const lab::RunSpec& spec,
                                              const lab::Schedule& schedule) {
  lab::SnapshotLog log;
  const lab::Runner runner = [&](const lab::RunSpec& run, lab::Strategy& strategy, std::uint64_t seed, bool record) {
    lab::RunWatch watch;
    watch.snapshot = &log;
    return lab::run_once(program, run, strategy, seed, record, watch);
  };
  (void)lab::run_schedule(runner, strategy_maker(), spec, schedule, false);
  return std::move(log.taken);
}

RunResult run_in_lab(const RunPlan& plan, const RunOptions& options, Interrupts& interrupts, RunFiles& files,
                     bool is_last) {
  const lab::RunSpec spec = make_spec(plan, options.lab, "none");
  const std::uint64_t seed = seed_of(options.lab, 1);
  const std::vector<std::string> strategies = strategies_of(options.lab, {"random"});
  if (strategies.size() != 1)
    throw UsageError(fmt::format("--strategy: a run has one strategy; give {} alone", strategies.front()));
  const std::string& name = strategies.front();
  const std::unique_ptr<lab::Strategy> strategy = strategy_maker().named(name);
  WatchedRun watched(files, plan.session.recorder_entries);
  lab::RunResult result;
  std::optional<RoomUse> rooms;
  const auto start = std::chrono::steady_clock::now();
  const auto action = [&] {
    lab::RunWatch watch = watched.watch();
    if (options.stats) watch.rooms = &rooms.emplace();
    result = lab::run_once(plan.program, spec, *strategy, seed, false, watch);
  };
  in_lab(plan, interrupts, options.patience, options.json, action,
         "there is not enough memory; give fewer ranks or smaller sizes");
  RunResult shown = result_of(plan, result, outcome_of(result, name, seed));
  shown.ring = plan.session.ring;
  shown.rooms = std::move(rooms);
  shown.wall = std::chrono::steady_clock::now() - start;
  watched.write({plan, spec, result, name, seed, command_of(plan, options, name, seed)}, shown,
                [&](TraceFile& file, const TraceFile::Writer& writer, std::string RunResult::* path) {
                  save_of_lab(file, writer, shown, is_last, path);
                });
  return shown;
}

}  // namespace heddle::cli
