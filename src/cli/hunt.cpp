// SPDX-License-Identifier: Apache-2.0
#include "cli/hunt.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <limits>
#include <new>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/text.hpp"
#include "cli/failure.hpp"
#include "cli/failure_path.hpp"
#include "cli/hunt_report.hpp"
#include "cli/interrupt.hpp"
#include "cli/lab_guard.hpp"
#include "cli/lab_run.hpp"
#include "cli/output.hpp"
#include "cli/run_plan.hpp"
#include "cli/snapshot_file.hpp"
#include "cli/status_line.hpp"
#include "cli/trace_file.hpp"

namespace heddle::cli {
namespace {

int usable_cores() {
  const unsigned cores = std::thread::hardware_concurrency();
  return cores == 0 ? 1 : static_cast<int>(cores);
}

std::vector<std::uint64_t> widths_of(const std::string& text) {
  std::vector<std::uint64_t> widths;
  for (std::string_view left = text; !left.empty();) {
    const std::size_t comma = std::min(left.find(','), left.size());
    widths.push_back(static_cast<std::uint64_t>(
        parse_number("--sweep-width", left.substr(0, comma), 1, std::numeric_limits<std::int32_t>::max())));
    left.remove_prefix(std::min(comma + 1, left.size()));
  }
  return widths;
}

lab::HuntConfig hunt_config(const HuntOptions& options, const RunPlan& plan) {
  lab::HuntConfig config;
  LabOptions lab = options.run.lab;
  if (lab.fidelity == "both") {
    config.fidelities = {lab::Fidelity::program, lab::Fidelity::protocol};
    lab.fidelity.clear();
  } else if (!lab.fidelity.empty() && lab.fidelity != "program" && lab.fidelity != "protocol") {
    throw UsageError(fmt::format("--fidelity {}: give program, protocol or both", base::quoted(lab.fidelity)));
  }
  config.spec = make_spec(plan, lab, "all");
  config.strategies = strategies_of(lab, config.strategies);
  config.seed = seed_of(lab, 1);
  const Budget budget = parse_budget(options.budget);
  config.time = budget.time;
  config.schedules = budget.runs;
  config.jobs =
      options.jobs.empty() ? usable_cores() : static_cast<int>(parse_number("--jobs", options.jobs, 1, lab::jobs_most));
  config.widths = widths_of(options.sweep_width);
  config.keep_going = options.keep_going;
  config.patience = patience_of(options.run.patience);
  return config;
}

RunPlan hunt_plan(const HuntOptions& options, const FoundProgram& found) {
  const RunOptions& run = options.run;
  RunPlan plan = make_plans(run, found).front();
  if (chip_of(run.backend)) return plan;
  throw UsageError(
      fmt::format("--on {}: a hunt runs in the laboratory; give --on lab:a2a3, or leave it out", run.backend));
}

lab::Failure failure_of(const RunPlan& plan, const FoundProgram& found, const HuntOptions& options,
                        const lab::FoundFailure& shown) {
  lab::Failure failure = lab::to_failure(shown.spec, shown.schedule, shown.result);
  failure.program = plan.name;
  failure.variant = plan.variant;
  failure.settings = plan.settings;
  const std::string& wanted = options.run.program;
  // By its name a program is looked for again; a module is where it was.
  const bool is_path = wanted.find('/') != std::string::npos || wanted.find(".so") != std::string::npos;
  if (is_path) {
    std::error_code error;
    const auto path = std::filesystem::absolute(found.module_path(), error);
    failure.module = error ? found.module_path() : path.string();
  }
  return failure;
}

[[noreturn]] void end_stalled(const RunPlan& plan, const HuntOptions& options, const lab::HuntConfig& config,
                              const lab::StalledRun& stalled) {
  const std::string prefix = fmt::format("{}: schedule {} (strategy {}, seed {})", plan.name, grouped(stalled.number),
                                         stalled.strategy, stalled.seed);
  end_now(stall_message(prefix, stalled.what, config.patience), "CORE STALLED", options.run.json);
}

/// The page of the failure, from its run made again; `file` is the failure file. The path that it was written to; empty
/// when there is none, which is told: what was found is reported in any case, after an interrupt as well.
std::string write_failure_page(TraceFile& page, const RunPlan& plan, const FoundProgram& found,
                               const lab::FoundFailure& failure, const std::string& file) {
  std::optional<snapshot::Snapshot> taken;
  try {
    taken = snapshot_of(create_program(found, plan.settings), failure.spec, failure.schedule);
  } catch (const std::exception& error) {
    fmt::print(stderr, "heddle: --html: {}\n", one_line(error.what()));
    return {};
  }
  if (!taken) {
    fmt::print(stderr, "heddle: --html: the run did not fail again: there is no page of it\n");
    return {};
  }
  add_run(*taken, plan, failure.schedule.strategy, failure.schedule.seed,
          file.empty() ? std::string() : "heddle replay " + file);
  const doctor::Report report = doctor::diagnose(*taken);
  std::string path;
  (void)write_file(page, [&](const std::string& to) { write_page(to, report, *taken); }, path);
  return path;
}

}  // namespace

int hunt(const HuntOptions& options) {
  keep_freed_memory();
  const FoundProgram found = find_program(options.run.program, program_folders(options.run.program_path));
  const RunPlan plan = hunt_plan(options, found);
  const lab::HuntConfig config = hunt_config(options, plan);
  // Before the hunt, and before a seed is known: a folder that is not there should not cost an hour.
  failure_path(options.out, plan.name + ".heddle");

  Interrupts interrupts;
  RunFiles files(options.run.files, interrupts);
  StatusLine status(options.run.json);
  lab::Hunter hunter;
  hunter.make_runner = [found, settings = plan.settings] {
    return [program = create_program(found, settings)](const lab::RunSpec& spec, lab::Strategy& strategy,
                                                       std::uint64_t seed, bool record) {
      return lab::run_once(program, spec, strategy, seed, record);
    };
  };
  hunter.strategies = strategy_maker();
  hunter.interrupted = [&] { return interrupts.requested(); };
  hunter.progress = [&](const lab::HuntCounts& counts) {
    if (status.is_due()) status.show(hunt_line(plan.name, counts));
  };
  lab::HuntReport report;
  try {
    report = lab::hunt(config, hunter);
  } catch (const Error& error) {
    if (error.code() == Code::invalid_argument) throw UsageError(one_line(error));
    throw;
  } catch (const std::bad_alloc&) {
    throw UsageError("there is not enough memory; give fewer --jobs, fewer ranks or smaller sizes");
  }
  status.clear();

  std::string path;
  if (report.failure) {
    path = failure_path(options.out, fmt::format("{}-{}.heddle", plan.name, report.failure->schedule.seed));
    if (!save_failure(path, failure_of(plan, found, options, *report.failure))) path.clear();
  }
  if (report.stalled) end_stalled(plan, options, config, *report.stalled);
  std::string page;
  if (files.html && report.failure) {
    const LabGuard guard(plan.name, interrupts, LabGuard::OnInterrupt::is_left_to_the_caller, config.patience,
                         options.run.json);
    page = write_failure_page(*files.html, plan, found, *report.failure, path);
  }
  if (options.run.json) {
    write_json(hunt_json(plan, report, path, page));
  } else {
    fmt::print("{}", hunt_text(plan, report, path, wants_colour(STDOUT_FILENO)));
    if (!page.empty()) fmt::print("{}\n", page_note(page));
  }
  return report.failure || report.interrupted ? exit_failed : exit_passed;
}

}  // namespace heddle::cli
