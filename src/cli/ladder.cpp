// SPDX-License-Identifier: Apache-2.0
#include "cli/ladder.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <new>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/text.hpp"
#include "cli/failure.hpp"
#include "cli/interrupt.hpp"
#include "cli/lab_guard.hpp"
#include "cli/lab_run.hpp"
#include "cli/ladder_report.hpp"
#include "cli/output.hpp"
#include "cli/run_plan.hpp"
#include "cli/status_line.hpp"
#include "lab/ladder.hpp"

namespace heddle::cli {
namespace {

RunPlan ladder_plan(const LadderOptions& options, const FoundProgram& found) {
  RunPlan plan = make_plans(options.run, found).front();
  const std::optional<std::string> chip = chip_of(options.run.backend);
  if (chip && *chip != "host") return plan;
  throw UsageError(fmt::format("--on {}: a ladder changes a simulated chip; give --on lab:a2a3, or leave it out",
                               options.run.backend));
}

/// Throws UsageError for a parameter or value that the program does not have.
Settings tries_of(const LadderOptions& options, const RunPlan& plan, const FoundProgram& found) {
  Settings tries;
  for (const std::string& text : options.tries) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      throw UsageError(
          fmt::format("--try {}: give a parameter and its value, as in --try name=value", base::quoted(text)));
    tries.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    Settings with = plan.settings;
    with.push_back(tries.back());
    (void)create_program(found, with);
  }
  return tries;
}

lab::LadderConfig ladder_config(const LadderOptions& options, const RunPlan& plan, const FoundProgram& found) {
  lab::LadderConfig config;
  config.hunt.spec = make_spec(plan, options.run.lab, "all");
  config.hunt.strategies = strategies_of(options.run.lab, config.hunt.strategies);
  config.hunt.seed = seed_of(options.run.lab, 1);
  const Budget budget = parse_budget(options.budget);
  config.hunt.time = budget.time;
  config.hunt.schedules = budget.runs;
  const auto cores = static_cast<int>(std::max(std::thread::hardware_concurrency(), 1U));
  config.hunt.jobs =
      options.jobs.empty() ? cores : static_cast<int>(parse_number("--jobs", options.jobs, 1, lab::jobs_most));
  config.hunt.patience = patience_of(options.run.patience);
  config.settings = plan.settings;
  config.rungs = lab::rungs_of({config.hunt.spec, plan.settings,
                                [&](const Settings& settings) { return create_program(found, settings); },
                                tries_of(options, plan, found)});
  return config;
}

std::string line_of(const std::string& program, const std::string& rung, std::uint64_t done, std::uint64_t all) {
  std::string text = fmt::format("{}  {}  {}", program, rung.empty() ? "as it is" : rung, grouped(done));
  return all == 0 ? text + " schedules" : text + fmt::format(" of {} schedules", grouped(all));
}

}  // namespace

int ladder(const LadderOptions& options) {
  keep_freed_memory();
  const FoundProgram found = find_program(options.run.program, program_folders(options.run.program_path));
  const RunPlan plan = ladder_plan(options, found);
  Interrupts interrupts;
  StatusLine status(options.run.json);
  lab::Climber climber;
  climber.make_runner = [found](const lab::Settings& settings) -> lab::Runner {
    return [program = create_program(found, settings)](const lab::RunSpec& spec, lab::Strategy& strategy,
                                                       std::uint64_t seed, bool record) {
      return lab::run_once(program, spec, strategy, seed, record);
    };
  };
  climber.strategies = strategy_maker();
  climber.interrupted = [&] { return interrupts.requested(); };
  climber.progress = [&](const std::string& rung, std::uint64_t done, std::uint64_t all) {
    if (status.is_due()) status.show(line_of(plan.name, rung, done, all));
  };
  lab::LadderConfig config;
  lab::LadderReport report;
  try {
    config = ladder_config(options, plan, found);
    report = lab::climb(config, climber);
  } catch (const Error& error) {
    if (error.code() == Code::invalid_argument) throw UsageError(one_line(error));
    throw;
  } catch (const std::bad_alloc&) {
    throw UsageError("there is not enough memory; give fewer --jobs, fewer ranks or smaller sizes");
  }
  status.clear();

  if (report.stalled) {
    const std::string prefix =
        fmt::format("{}: {}, schedule {} (strategy {}, seed {})", plan.name,
                    report.stalled_at.empty() ? "as it is" : report.stalled_at, grouped(report.stalled->number),
                    report.stalled->strategy, report.stalled->seed);
    end_now(stall_message(prefix, report.stalled->what, config.hunt.patience), "CORE STALLED", options.run.json);
  }
  if (options.run.json) {
    write_json(ladder_json(plan, config, report));
  } else {
    fmt::print("{}", ladder_text(plan, config, report, wants_colour(STDOUT_FILENO)));
  }
  std::fflush(stdout);
  return report.failure || report.interrupted ? exit_failed : exit_passed;
}

}  // namespace heddle::cli
