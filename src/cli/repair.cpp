// SPDX-License-Identifier: Apache-2.0
#include "cli/repair.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <new>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "cli/failure.hpp"
#include "cli/failure_path.hpp"
#include "cli/interrupt.hpp"
#include "cli/lab_guard.hpp"
#include "cli/lab_run.hpp"
#include "cli/output.hpp"
#include "cli/replay.hpp"
#include "cli/status_line.hpp"
#include "lab/repair.hpp"

namespace heddle::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

bool is_any_proved(const lab::RepairReport& report) {
  return std::any_of(report.repairs.begin(), report.repairs.end(), [](const auto& each) { return each.is_proved; });
}

std::string schedules_of(std::uint64_t count) { return base::counted(static_cast<std::int64_t>(count), "schedule"); }

std::string text_of(const lab::RepairReport& report) {
  std::string text = fmt::format("{}: {}\nas it is, it fails in {} of {}\n", lab::name_of(report.result.verdict),
                                 report.result.sentence, grouped(report.failures), schedules_of(report.schedules));
  for (const lab::Repair& repair : report.repairs) {
    text += fmt::format("\n{}\n  {}\n  {} of {} fails{}, in {:.2f} of the time\n", repair.change, repair.advice, "none",
                        schedules_of(repair.schedules), repair.is_proved ? "" : " so far", repair.slower);
  }
  if (report.repairs.empty()) text += "\nno change that is known takes the failure away\n";
  text += fmt::format("\n{} tried, {} in all{}\n", base::counted(static_cast<std::int64_t>(report.changes), "change"),
                      base::counted(static_cast<std::int64_t>(report.runs), "run"),
                      report.is_complete   ? ""
                      : report.interrupted ? "; interrupted: there may be others"
                                           : "; the budget is spent: there may be others");
  return text;
}

OrderedJson json_of(const lab::RepairReport& report) {
  OrderedJson repairs = OrderedJson::array();
  for (const lab::Repair& repair : report.repairs) {
    repairs.push_back({{"change", repair.change},
                       {"advice", repair.advice},
                       {"schedules", repair.schedules},
                       {"proved", repair.is_proved},
                       {"time", repair.slower}});
  }
  return {{"same_failure", report.is_shown},
          {"verdict", lab::name_of(report.result.verdict)},
          {"sentence", report.result.sentence},
          {"schedules", report.schedules},
          {"failures", report.failures},
          {"repairs", std::move(repairs)},
          {"tried", report.changes},
          {"runs", report.runs},
          {"complete", report.is_complete}};
}

lab::RepairConfig config_of(const RepairOptions& options) {
  lab::RepairConfig config;
  const Budget budget = parse_budget(options.budget);
  if (budget.time) config.time = *budget.time;
  if (budget.runs) config.schedules = *budget.runs;
  config.failure = load_failure(options.file);
  check_strategy(config.failure);
  return config;
}

lab::RepairReport search(const RepairOptions& options, const lab::RepairConfig& config) {
  const FoundProgram found = program_of(config.failure, options.program_path);
  const RunPlan plan = plan_of(config.failure, found);
  Interrupts interrupts;
  StatusLine status(options.json);
  lab::Repairer repairer;
  repairer.make = [&](const lab::Settings& settings) { return create_program(found, settings); };
  repairer.strategies = strategy_maker();
  repairer.interrupted = [&] { return interrupts.requested(); };
  repairer.progress = [&](const std::string& change, std::uint64_t done, std::uint64_t of) {
    if (status.is_due()) status.show(fmt::format("{}  {}  {} of {} changes", plan.name, change, done, of));
  };
  const LabGuard guard(plan.name, interrupts, LabGuard::OnInterrupt::is_left_to_the_caller,
                       patience_of(options.patience), options.json);
  lab::RepairReport report = lab::repair(config, repairer);
  status.clear();
  return report;
}

}  // namespace

int repair(const RepairOptions& options) {
  keep_freed_memory();
  const lab::RepairConfig config = config_of(options);
  lab::RepairReport report;
  try {
    report = search(options, config);
  } catch (const Error& error) {
    throw UsageError(one_line(error));
  } catch (const std::bad_alloc&) {
    throw UsageError("there is not enough memory for this run");
  }
  if (options.json) write_json(json_of(report));
  if (!report.is_shown) {
    fmt::print(
        stderr,
        "heddle: the failure was not shown again: the verdict is {}, the file has {}; 'heddle replay' says more\n",
        lab::name_of(report.result.verdict), lab::name_of(config.failure.verdict));
    return exit_failed;
  }
  if (!options.json) fmt::print("{}", text_of(report));
  return is_any_proved(report) ? exit_passed : exit_failed;
}

}  // namespace heddle::cli
