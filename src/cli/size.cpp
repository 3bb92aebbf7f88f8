// SPDX-License-Identifier: Apache-2.0
#include "cli/size.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <new>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "cli/failure.hpp"
#include "cli/interrupt.hpp"
#include "cli/lab_guard.hpp"
#include "cli/lab_run.hpp"
#include "cli/output.hpp"
#include "cli/result.hpp"
#include "cli/run_plan.hpp"
#include "cli/status_line.hpp"
#include "lab/sizing.hpp"

namespace heddle::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::int64_t schedules_most = 1'000'000;

/// "--task-window".
std::string option_of(lab::RingResource resource) {
  std::string text = lab::name_of(resource);
  std::replace(text.begin(), text.end(), '_', '-');
  return "--" + text;
}

std::string how(const lab::SizedRun& run) {
  return fmt::format("strategy {}, seed {}", run.schedule.strategy, run.schedule.seed);
}

RunPlan size_plan(const SizeOptions& options, const FoundProgram& found) {
  RunPlan plan = make_plans(options.run, found).front();
  if (chip_of(options.run.backend)) return plan;
  throw UsageError(fmt::format("--on {}: sizes are explored in the laboratory; give --on lab:a2a3, or leave it out",
                               options.run.backend));
}

lab::SizeConfig size_config(const SizeOptions& options, const RunPlan& plan) {
  lab::SizeConfig config;
  config.spec = make_spec(plan, options.run.lab, "none");
  config.strategies = strategies_of(options.run.lab, config.strategies);
  config.seed = seed_of(options.run.lab, config.seed);
  if (!options.schedules.empty())
    config.schedules = static_cast<std::uint64_t>(parse_number("--schedules", options.schedules, 1, schedules_most));
  return config;
}

std::string text_of(const RunPlan& plan, const lab::SizeReport& report) {
  std::string text = fmt::format("{} on {}, {}, {}: the least rings that each rank needs\n", plan.name, plan.backend,
                                 base::counted(plan.device.ranks, "rank"), base::counted(plan.rounds, "round"));
  for (const lab::LeastSize& least : *report.least) {
    text += fmt::format("  {:<13} {:>10}   ", option_of(least.resource), least.size);
    text += least.below
                ? fmt::format("at {} it fails: {} ({})\n", lab::size_of(least.below->spec.session.ring, least.resource),
                              least.below->result.error->name(), how(*least.below))
                : std::string("the least there is\n");
  }
  text += fmt::format("passed under {} at these sizes ({} in all)\n",
                      base::counted(static_cast<std::int64_t>(report.schedules), "schedule"),
                      base::counted(static_cast<std::int64_t>(report.runs), "run"));
  return text;
}

OrderedJson json_of(const RunPlan& plan, const lab::SizeReport& report) {
  OrderedJson json{{"passed", report.least.has_value()},
                   {"program", plan.name},
                   {"backend", plan.backend},
                   {"ranks", plan.device.ranks},
                   {"rounds", plan.rounds},
                   {"schedules", report.schedules},
                   {"runs", report.runs},
                   {"interrupted", report.interrupted}};
  OrderedJson sizes = OrderedJson::object(), below = OrderedJson::object();
  if (report.least) {
    for (const lab::LeastSize& least : *report.least) {
      sizes[lab::name_of(least.resource)] = least.size;
      below[lab::name_of(least.resource)] =
          !least.below ? OrderedJson(nullptr)
                       : OrderedJson{{"size", lab::size_of(least.below->spec.session.ring, least.resource)},
                                     {"name", least.below->result.error->name()},
                                     {"message", least.below->result.error->message()},
                                     {"strategy", least.below->schedule.strategy},
                                     {"seed", least.below->schedule.seed}};
    }
  }
  json["sizes"] = report.least ? std::move(sizes) : OrderedJson(nullptr);
  json["below"] = report.least ? std::move(below) : OrderedJson(nullptr);
  json["failure"] = !report.failure ? OrderedJson(nullptr)
                                    : OrderedJson{{"verdict", lab::name_of(report.failure->result.verdict)},
                                                  {"sentence", report.failure->result.sentence},
                                                  {"strategy", report.failure->schedule.strategy},
                                                  {"seed", report.failure->schedule.seed}};
  return json;
}

}  // namespace

int size(const SizeOptions& options) {
  keep_freed_memory();
  const FoundProgram found = find_program(options.run.program, program_folders(options.run.program_path));
  const RunPlan plan = size_plan(options, found);
  const lab::SizeConfig config = size_config(options, plan);

  Interrupts interrupts;
  StatusLine status(options.run.json);
  lab::Sizer sizer;
  sizer.runner = [&plan](const lab::RunSpec& spec, lab::Strategy& strategy, std::uint64_t seed, bool record) {
    return lab::run_once(plan.program, spec, strategy, seed, record);
  };
  sizer.strategies = strategy_maker();
  sizer.interrupted = [&] { return interrupts.requested(); };
  sizer.progress = [&](const RingConfig& ring, std::uint64_t runs) {
    if (status.is_due())
      status.show(fmt::format("{}  {} runs  now task window {}, heap {} bytes, dep pool {}", plan.name, grouped(runs),
                              ring.task_window, ring.heap_bytes, ring.dep_pool));
  };
  lab::SizeReport report;
  try {
    const LabGuard guard(plan.name, interrupts, LabGuard::OnInterrupt::is_left_to_the_caller,
                         patience_of(options.run.patience), options.run.json);
    report = lab::find_sizes(config, sizer);
  } catch (const Error& error) {
    throw UsageError(one_line(error));
  } catch (const std::bad_alloc&) {
    throw UsageError("there is not enough memory for these runs; give fewer ranks or smaller sizes");
  }
  status.clear();

  if (options.run.json) {
    write_json(json_of(plan, report));
  } else if (report.least) {
    fmt::print("{}", text_of(plan, report));
  }
  std::fflush(stdout);
  if (report.failure) {
    fmt::print(stderr, "heddle: {}: no size helps: {} ({})\n", plan.name, report.failure->result.sentence,
               how(*report.failure));
  }
  if (report.interrupted) fmt::print(stderr, "heddle: {}: interrupted\n", plan.name);
  return report.least ? exit_passed : exit_failed;
}

}  // namespace heddle::cli
