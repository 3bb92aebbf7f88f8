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

RunResult run_in_lab(const RunPlan& plan, const RunOptions& options, Interrupts& interrupts, TraceFile* trace,
                     TraceFile* records, TraceFile* snapshot, bool is_last) {
  const lab::RunSpec spec = make_spec(plan, options.lab, "none");
  const std::uint64_t seed = seed_of(options.lab, 1);
  const std::vector<std::string> strategies = strategies_of(options.lab, {"random"});
  if (strategies.size() != 1)
    throw UsageError(fmt::format("--strategy: a run has one strategy; give {} alone", strategies.front()));
  const std::unique_ptr<lab::Strategy> strategy = strategy_maker().named(strategies.front());
  lab::TraceLog log(plan.session.recorder_entries);
  lab::DispatchLog dispatches;
  lab::SnapshotLog state;
  lab::RunResult result;
  std::optional<RoomUse> rooms;
  RunResult shown;
  const auto start = std::chrono::steady_clock::now();
  try {
    const LabGuard guard(plan.name, interrupts, LabGuard::OnInterrupt::ends, patience_of(options.patience),
                         options.json);
    lab::RunWatch watch{trace != nullptr ? &log : nullptr, records != nullptr ? &dispatches : nullptr, nullptr};
    if (snapshot != nullptr) watch.snapshot = &state;
    if (options.stats) watch.rooms = &rooms.emplace();
    result = lab::run_once(plan.program, spec, *strategy, seed, false, watch);
    shown = result_of(plan, result, outcome_of(result, strategies.front(), seed));
    shown.ring = plan.session.ring;
    shown.rooms = std::move(rooms);
    shown.wall = std::chrono::steady_clock::now() - start;
  } catch (const Error& error) {
    throw UsageError(one_line(error));
  } catch (const std::bad_alloc&) {
    throw UsageError("there is not enough memory; give fewer ranks or smaller sizes");
  }
  if (trace != nullptr) {
    shown.total.records = log.written();
    shown.total.records_dropped = log.dropped();
    save_of_lab(*trace, [&](const std::string& path) { log.write(path); }, shown, is_last, &RunResult::trace);
  }
  if (records != nullptr) {
    const lab::DispatchHeader header = records_header(plan, spec, result, strategies.front(), seed);
    const auto write = [&](const std::string& path) { lab::write_dispatch(path, header, dispatches, result.passed()); };
    save_of_lab(*records, write, shown, is_last, &RunResult::records);
  }
  if (snapshot != nullptr && state.taken) {
    add_run(*state.taken, plan, strategies.front(), seed, command_of(plan, options, strategies.front(), seed));
    const auto write = [&](const std::string& path) { write_snapshot(path, *state.taken); };
    save_of_lab(*snapshot, write, shown, is_last, &RunResult::snapshot);
  }
  return shown;
}

}  // namespace heddle::cli
