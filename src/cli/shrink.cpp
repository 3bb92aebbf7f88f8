// SPDX-License-Identifier: Apache-2.0
#include "cli/shrink.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <limits>
#include <new>
#include <nlohmann/json.hpp>
#include <variant>

#include "base/text.hpp"
#include "cli/failure.hpp"
#include "cli/failure_path.hpp"
#include "cli/interrupt.hpp"
#include "cli/lab_guard.hpp"
#include "cli/lab_run.hpp"
#include "cli/output.hpp"
#include "cli/replay.hpp"
#include "cli/result.hpp"
#include "cli/status_line.hpp"
#include "lab/shrink.hpp"

namespace heddle::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

/// "moe-7-small.heddle" beside "moe-7.heddle".
std::string small_name(const std::string& file) {
  const std::filesystem::path path(file);
  const std::string extension = path.extension() == ".heddle" ? ".heddle" : path.extension().string() + ".heddle";
  return (path.parent_path() / (path.stem().string() + "-small" + extension)).string();
}

/// The whole numbers that the program has given a least value.
std::vector<lab::ShrinkParameter> parameters_of(ProgramBase& program) {
  std::vector<lab::ShrinkParameter> found;
  ParameterList list;
  program.parameters(list);
  for (const ParameterList::Parameter& parameter : list.all()) {
    const bool has_least = parameter.least > -static_cast<double>(std::numeric_limits<std::int32_t>::max());
    if (!has_least) continue;
    const auto add = [&](std::int64_t value) {
      found.push_back({parameter.name, value, static_cast<std::int64_t>(parameter.least)});
    };
    if (const auto* small = std::get_if<int*>(&parameter.field)) add(**small);
    if (const auto* large = std::get_if<std::int64_t*>(&parameter.field)) add(**large);
  }
  return found;
}

lab::Shrinker shrinker_of(const FoundProgram& found) {
  lab::Shrinker shrinker;
  shrinker.make_runner = [found](const lab::Settings& settings) -> lab::Runner {
    std::shared_ptr<ProgramBase> program;
    try {
      program = create_program(found, settings);
    } catch (const UsageError& error) {
      throw Error(Code::invalid_argument, error.what());
    }
    return [program](const lab::RunSpec& spec, lab::Strategy& strategy, std::uint64_t seed, bool record) {
      return lab::run_once(program, spec, strategy, seed, record);
    };
  };
  shrinker.group_of = [found](const lab::Settings& settings) {
    return create_program(found, settings)->defaults().group;
  };
  shrinker.strategies = strategy_maker();
  return shrinker;
}

std::string size_text(const lab::ShrinkSize& size) {
  return fmt::format("{}, {}, {}, {}, {} that {} not the default", base::counted(size.ranks, "rank"),
                     base::counted(size.rounds, "round"), base::counted(static_cast<std::int64_t>(size.tasks), "task"),
                     base::counted(static_cast<std::int64_t>(size.events), "event"),
                     base::counted(static_cast<std::int64_t>(size.choices), "choice"),
                     size.choices == 1 ? "is" : "are");
}

OrderedJson to_json(const lab::ShrinkSize& size) {
  return {{"ranks", size.ranks},   {"rounds", size.rounds}, {"tasks", size.tasks},
          {"blocks", size.blocks}, {"events", size.events}, {"choices", size.choices}};
}

std::string text_of(const lab::ShrinkReport& report, const LabOutcome& outcome, const std::string& path) {
  const lab::Failure& failure = report.failure;
  std::string text = fmt::format("{}: {}\n{}", outcome.verdict, outcome.sentence, explanation(outcome));
  text += fmt::format("before  {}\nafter   {}\n", size_text(report.before), size_text(report.after));
  for (const auto& [name, value] : failure.settings) text += fmt::format("  {} = {}\n", name, value);
  for (const auto& [name, count] : failure.spec.faults) text += fmt::format("  fault {}: {}\n", name, count);
  if (!failure.schedule.is_list) {
    text += fmt::format("what decides is still the whole of seed {}\n", failure.schedule.seed);
  } else if (report.words.empty()) {
    text += "no choice decides: it fails with every default\n";
  } else {
    text += "what decides\n";
  }
  for (const std::string& sentence : report.words) text += fmt::format("  {}\n", sentence);
  if (report.nearest) {
    text += "the nearest schedule that passes is this one\n";
    for (const std::string& sentence : report.nearest->without) text += fmt::format("  without  {}\n", sentence);
    for (const std::string& sentence : report.nearest->with) text += fmt::format("  with     {}\n", sentence);
  }
  text += fmt::format("{} in all; {}\n", base::counted(static_cast<std::int64_t>(report.runs), "run"),
                      report.is_minimal    ? "nothing of it can be left out"
                      : report.interrupted ? "interrupted: there may be more to leave out"
                                           : "the budget is spent: there may be more to leave out");
  if (!path.empty()) text += fmt::format("written to {0}: 'heddle replay {0}' shows it\n", path);
  return text;
}

void print_report(const ShrinkOptions& options, const RunPlan& plan, lab::ShrinkReport report,
                  const std::string& path) {
  const lab::Schedule& schedule = report.failure.schedule;
  const LabOutcome outcome = outcome_of(report.result, schedule.strategy, schedule.seed);
  if (!options.json) {
    fmt::print("{}", text_of(report, outcome, path));
    return;
  }
  RunPlan small = plan;
  small.device.ranks = report.failure.spec.ranks;
  small.rounds = report.failure.spec.rounds;
  OrderedJson json = to_json(result_of(small, report.result, outcome));
  OrderedJson settings = OrderedJson::object();
  for (const auto& [name, value] : report.failure.settings) settings[name] = value;
  json.update({{"same_failure", report.is_shown},
               {"before", to_json(report.before)},
               {"after", to_json(report.after)},
               {"settings", std::move(settings)},
               {"words", report.words},
               {"nearest_pass", report.nearest
                                    ? OrderedJson{{"without", report.nearest->without}, {"with", report.nearest->with}}
                                    : OrderedJson(nullptr)},
               {"minimal", report.is_minimal},
               {"tried", report.runs},
               {"file", path.empty() ? OrderedJson(nullptr) : OrderedJson(path)}});
  write_json(json);
}

}  // namespace

int shrink(const ShrinkOptions& options) {
  keep_freed_memory();
  lab::ShrinkConfig config;
  config.failure = load_failure(options.file);
  check_strategy(config.failure);
  const Budget budget = parse_budget(options.budget);
  config.time = budget.time;
  config.runs = budget.runs;
  const FoundProgram found = program_of(config.failure, options.program_path);
  const RunPlan plan = plan_of(config.failure, found);
  config.parameters = parameters_of(*plan.program);
  const std::string name = std::filesystem::path(small_name(options.file)).filename().string();
  const std::string path = failure_path(options.out.empty() ? small_name(options.file) : options.out, name);

  Interrupts interrupts;
  StatusLine status(options.json);
  lab::Shrinker shrinker = shrinker_of(found);
  shrinker.interrupted = [&] { return interrupts.requested(); };
  shrinker.progress = [&](const lab::ShrinkProgress& progress) {
    if (!status.is_due()) return;
    status.show(fmt::format("{}  fewer {}  {} runs  {} ranks  {} rounds  {} choices", plan.name, progress.what,
                            progress.runs, progress.size.ranks, progress.size.rounds, progress.size.choices));
  };
  lab::ShrinkReport report;
  try {
    const LabGuard guard(plan.name, interrupts, LabGuard::OnInterrupt::is_left_to_the_caller,
                         patience_of(options.patience), options.json);
    report = lab::shrink(config, shrinker);
  } catch (const Error& error) {
    throw UsageError(one_line(error));
  } catch (const std::bad_alloc&) {
    throw UsageError("there is not enough memory for this run");
  }
  status.clear();
  if (!report.is_shown) {
    if (options.json) print_report(options, plan, report, "");
    fmt::print(
        stderr,
        "heddle: the failure was not shown again: the verdict is {}, the file has {}; 'heddle replay' says more\n",
        lab::name_of(report.result.verdict), lab::name_of(config.failure.verdict));
    return exit_failed;
  }
  const bool is_saved = save_failure(path, report.failure);
  print_report(options, plan, std::move(report), is_saved ? path : "");
  return is_saved ? exit_passed : exit_failed;
}

}  // namespace heddle::cli
