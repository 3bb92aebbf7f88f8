// SPDX-License-Identifier: Apache-2.0
#include "cli/run.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <new>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/failure.hpp"
#include "cli/interrupt.hpp"
#include "cli/lab_guard.hpp"
#include "cli/lab_run.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "cli/result.hpp"
#include "cli/room_table.hpp"
#include "cli/run_plan.hpp"
#include "cli/snapshot_answer.hpp"
#include "cli/snapshot_file.hpp"
#include "cli/trace_file.hpp"
#include "doctor/report.hpp"
#include "graph/room.hpp"
#include "host/session_impl.hpp"
#include "lab/run.hpp"
#include "lab/verdicts.hpp"

namespace heddle::cli {
namespace {

/// Runs the rounds until one fails or is interrupted; true when all passed.
bool run_rounds(Session& session, const RunPlan& plan, Interrupts& interrupts, RunResult& result) {
  Progress progress(plan.variant.empty() ? plan.name : plan.name + " " + plan.variant, plan.rounds, false);
  const int phases = plan.program->phases();
  for (std::int64_t round = 0; round < plan.rounds; ++round) {
    RoundStatistics counters;
    for (int phase = 0; phase < phases; ++phase) {
      session.fill(round, phase);
      add(counters, session.run());
      if (plan.check) session.check(round, phase);
      if (interrupts.requested()) return false;
    }
    add(result.total, counters);
    result.rounds_done = round + 1;
    progress.update(result.rounds_done);
  }
  return true;
}

Error interruption(const RunResult& result) {
  const std::string message = fmt::format("interrupted in round {}, after {} of {} rounds", result.rounds_done,
                                          result.rounds_done, result.rounds);
  return Error(Code::user_error, message).with_hint("");
}

/// Nothing when a kernel that never returned may still use them.
std::optional<RoomUse> rooms_of(const Session& session) {
  RoomUse rooms;
  try {
    for (int r = 0; r < session.ranks(); ++r) graph::add(rooms, session.room_use(r));
  } catch (const Error&) {
    return std::nullopt;
  }
  return rooms;
}

snapshot::Snapshot take_snapshot(Session& session, const RunPlan& plan, const RunOptions& options) {
  snapshot::Snapshot taken = heddle::detail::SessionAccess::of(session).snapshot();
  add_run(taken, plan, command_of(plan, options));
  if (taken.outcome) taken.outcome->verdict = lab::name_of(lab::verdict_for(static_cast<Code>(taken.outcome->code)));
  return taken;
}

/// Which tasks notify what is waited for. Every kernel has come to a wait or to its end, so that they may be called in
/// the laboratory.
void learn_notifiers(snapshot::Snapshot& taken, const RunPlan& plan, const RunOptions& options, Interrupts& interrupts,
                     std::int64_t round) {
  try {
    const LabGuard guard(plan.name, interrupts, LabGuard::OnInterrupt::ends, patience_of(options.patience),
                         options.json);
    lab::learn_notifiers(taken, plan.program, make_spec(plan, options.lab, "none"), round);
  } catch (const std::exception& error) {
    taken.notes.push_back("which tasks notify what is waited for was not found out: " + one_line(error.what()));
  }
}

/// Of a run that has failed: the snapshot's file, the page, and the chain of waits.
void explain_failure(Session& session, const RunPlan& plan, const RunOptions& options, Interrupts& interrupts,
                     RunFiles& files, RunResult& result, bool is_last) {
  snapshot::Snapshot taken = take_snapshot(session, plan, options);
  if (taken.taken == snapshot::Taken::standstill)
    learn_notifiers(taken, plan, options, interrupts, result.error->round());
  const doctor::Report report = doctor::diagnose(taken);
  for (const doctor::Step& step : report.chain) result.chain.push_back(step.sentence);
  const auto write = [&](std::optional<TraceFile>& file, const TraceFile::Writer& writer,
                         std::string RunResult::* path) {
    if (file) save(*file, writer, result, is_last, path);
  };
  write(files.snapshot, [&](const std::string& path) { write_snapshot(path, taken); }, &RunResult::snapshot);
  write(files.html, [&](const std::string& path) { write_page(path, report, taken); }, &RunResult::html);
}

/// Prepares and runs one plan. Throws UsageError for what the device or the session refuses.
RunResult run_plan(const RunPlan& plan, const RunOptions& options, Interrupts& interrupts, RunFiles& files,
                   bool is_last) {
  RunResult result;
  result.program = plan.name;
  result.variant = plan.variant;
  result.backend = plan.backend;
  result.ranks = plan.device.ranks;
  result.rounds = plan.rounds;
  result.checked = plan.check;
  result.ring = plan.session.ring;
  bool is_prepared = false;
  try {
    Device device = Device::open(plan.backend, plan.device);
    SessionConfig config = plan.session;
    config.keep_failure = files.snapshot || files.html;
    Session session = device.prepare(plan.program, config);
    is_prepared = true;
    result.threads = session.threads();
    const auto start = std::chrono::steady_clock::now();
    {
      const Interrupts::Watch watch(interrupts, session, [&](int number) {
        answer(number, plan.name, [&] { return take_snapshot(session, plan, options); });
      });
      try {
        // A round that an interrupt stopped throws as well: what the user asked for is no failure of the program.
        if (!run_rounds(session, plan, interrupts, result)) result.interrupted = true;
      } catch (const Error& error) {
        if (interrupts.requested())
          result.interrupted = true;
        else
          result.error = error;
      }
      if (result.interrupted) result.error = interruption(result);
    }
    result.wall = std::chrono::steady_clock::now() - start;
    if (options.stats) result.rooms = rooms_of(session);
    if ((files.snapshot || files.html) && result.error && !result.interrupted)
      explain_failure(session, plan, options, interrupts, files, result, is_last);
    if (files.trace) save(*files.trace, [&](const std::string& path) { session.write_trace(path); }, result, is_last);
  } catch (const Error& error) {
    if (!is_prepared && error.code() == Code::invalid_argument) throw UsageError(one_line(error));
    result.error = error;
  } catch (const std::bad_alloc&) {
    const char* message = "there is not enough memory; give fewer ranks or smaller sizes";
    if (!is_prepared) throw UsageError(message);
    result.error = Error(Code::user_error, message);
  } catch (const std::exception& error) {
    result.error = Error(Code::user_error, one_line(error.what()));
  }
  return result;
}

/// The error's whole report; one that is told in a line stands in one.
void report_failure(const RunResult& result) {
  if (!result.error) return;
  const Error& error = *result.error;
  const bool has_more =
      error.rank() >= 0 || !error.task().empty() || !error.waits().empty() || !error.attached().empty();
  if (!has_more) {
    fmt::print(stderr, "heddle: {}\n", one_line(error));
    return;
  }
  const std::string where = result.variant.empty() ? result.program : result.program + " " + result.variant;
  std::string text = error.report();
  while (!text.empty() && text.back() == '\n') text.pop_back();
  fmt::print(stderr, "heddle: {} failed\n{}\n", where, text);
}

void report(const RunOptions& options, const std::vector<RunResult>& results) {
  if (options.json) {
    write_json(options.matrix ? all_to_json(results) : to_json(results.front()));
  } else {
    fmt::print("{}", result_table(results, wants_colour(STDOUT_FILENO)));
    for (const RunResult& result : results) {
      if (result.rooms) fmt::print("\n{}", rooms_table(result));
    }
    for (const RunResult& result : results) {
      if (!result.trace.empty()) fmt::print("{}\n", trace_note(result, ", --trace-records keeps more"));
      if (!result.records.empty()) fmt::print("{}\n", records_note(result));
      if (!result.snapshot.empty()) fmt::print("{}\n", snapshot_note(result.snapshot));
      if (!result.html.empty()) fmt::print("{}\n", page_note(result.html));
    }
    std::fflush(stdout);
  }
  for (const RunResult& result : results) {
    if (result.error) report_failure(result);
    fmt::print(stderr, "{}", result.lab ? explanation(*result.lab) : explanation(result.chain));
  }
}

}  // namespace

int run(const RunOptions& options) {
  const FoundProgram found = find_program(options.program, program_folders(options.program_path));
  const std::vector<RunPlan> plans = make_plans(options, found);
  const bool is_lab = chip_of(options.backend).has_value();

  Interrupts interrupts(is_lab ? Interrupts::OnRequest::keeps_the_default : Interrupts::OnRequest::answers);
  RunFiles files(options.files, interrupts);

  std::vector<RunResult> results;
  for (const RunPlan& plan : plans) {
    const bool is_last = &plan == &plans.back();
    results.push_back(is_lab ? run_in_lab(plan, options, interrupts, files, is_last)
                             : run_plan(plan, options, interrupts, files, is_last));
    if (interrupts.requested()) break;
  }
  report(options, results);
  for (const RunResult& result : results) {
    if (!result.passed()) return exit_failed;
  }
  return exit_passed;
}

}  // namespace heddle::cli
