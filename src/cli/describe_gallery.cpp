// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>

#include "cli/describe.hpp"

namespace heddle::cli {
namespace {

constexpr const char* ladder_footer = R"(
Examples:
  heddle ladder moe_missing_edge --chip-set clusters=1
  heddle ladder tp_isolation --ranks 4 --rounds 2 --faults lost_notify:1 --budget 5min
  heddle ladder ./mine.so --try payload=false --json

The program is hunted as it is, and then once for each change, over the same seeds: early dispatch off, rings x4, another
width, an ideal chip, notifies in order, and so on. A change is 'involved' when the failure goes away or comes more than
twice or less than half as often, 'excluded' when it does not, each with 95 % confidence over all changes together, and
'open' when there are too few failures to tell. Exit codes: 0 nothing failed, 1 a failure was looked into (or it was
interrupted), 2 wrong use.)";

constexpr const char* cases_footer = R"(
Examples:
  heddle cases --list
  heddle cases
  heddle cases moe_missing_edge --starts 20 --json

Faults that users of this kind of system have reported, each as the smallest program that has it. Of each a hunt from a
fresh seed has to find the verdict that the case asks for, and the repaired program has to pass. Exit codes: 0 all of
them are as they say, 1 one is not (or it was interrupted), 2 wrong use.)";

}  // namespace

void describe_cases(CLI::App& app, CasesOptions& options) {
  app.footer(cases_footer);
  app.add_option("names", options.names, "Cases (default: all)")->type_name("NAME");
  app.add_flag("--list", options.list, "Show the cases, and run nothing");
  add_text(app, "--budget", options.budget, "BUDGET",
           "Of each hunt: a time, a number of schedules, or both with a comma (default: 2000 for a fault, 200 for what "
           "passes)",
           nullptr);
  add_text(app, "--seed", options.seed, "N", "Where the seeds begin (default: one that nobody has tried)", nullptr);
  add_text(app, "--starts", options.starts, "N",
           "Hunts for each fault; the median of their schedules is told (default: 1)", nullptr);
  add_text(app, "--jobs", options.jobs, "N", "Threads, each with a run of its own (default: one for each core)",
           nullptr);
  add_patience(app, options.patience, nullptr);
  add_program_path(app, options.program_path, nullptr);
  app.add_option(
         "--write", options.write,
         "Write each case's report and picture and docs/gallery.md under this folder, that of the sources; from "
         "seed 1, with 20 starts")
      ->type_name("DIR");
  app.add_flag("--json", options.json, "Print one JSON object and nothing else");
}

void describe_ladder(CLI::App& app, LadderOptions& options) {
  app.footer(ladder_footer);
  const char* const what = "What to run";
  add_what_to_run(app, options.run, what);
  add_text(app, "--on", options.run.backend, "lab:CHIP", "On which chip (default: lab:a2a3)", what);

  const char* const where = "How to look";
  add_text(app, "--budget", options.budget, "BUDGET",
           "A time for all of it (60s, 5min), a number of schedules for each row, or both with a comma (default: 60s)",
           where);
  add_text(app, "--jobs", options.jobs, "N", "Threads, each with a run of its own (default: one for each core)", where);
  app.add_option("--try", options.tries, "A parameter to change besides; may be given many times")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false)
      ->group(where);
  add_lab(app, options.run.lab, options.run.patience, where);

  const char* const result = "What to see";
  app.add_flag("--json", options.run.json, "Print one JSON object and nothing else")->group(result);
  add_checks(app, options.run, result);
  add_limits(app, options.run, "Limits");
}

}  // namespace heddle::cli
