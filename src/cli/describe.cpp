// SPDX-License-Identifier: Apache-2.0
#include "cli/describe.hpp"

#include <CLI/CLI.hpp>

namespace heddle::cli {
namespace {

constexpr const char* run_footer = R"(
Examples:
  heddle run stencil --ranks 4 --rounds 1000
  heddle run tp_isolation --set padded=true --trace out.json
  heddle run tp_isolation --matrix --json
  heddle run tp_isolation --on lab:a2a3 --seed 7 --checkers all
  heddle run ./mine.so            the only program of a module
  heddle run ./mine.so:second     one of several

Each round fills the inputs, runs the graph on every rank, and checks the outputs. Ctrl-C stops in order, a second one
at once. Exit codes: 0 passed, 1 the program failed (its report is on the standard error), 2 wrong use.)";

constexpr const char* list_footer = R"(
Programs are looked for in --program-path, in HEDDLE_PROGRAM_PATH, and beside the command.)";

}  // namespace

void add_text(CLI::App& app, const char* name, std::string& value, const char* type, const char* help,
              const char* group) {
  CLI::Option* const option = app.add_option(name, value, help)->type_name(type);
  if (group != nullptr) option->group(group);
}

void add_html(CLI::App& app, std::optional<std::string>& html, const char* group) {
  CLI::Option* const option =
      app.add_option("--html", html, "Write the report as a page for a browser, which needs nothing else")
          ->type_name("FILE");
  if (group != nullptr) option->group(group);
}

void add_program_path(CLI::App& app, std::vector<std::string>& folders, const char* group) {
  CLI::Option* const option = app.add_option("--program-path", folders, "Folders of modules, separated by colons")
                                  ->type_name("DIR")
                                  ->allow_extra_args(false);
  if (group != nullptr) option->group(group);
}

void add_what_to_run(CLI::App& app, RunOptions& options, const char* group) {
  app.add_option("program", options.program, "A program's name, or a module: ./file.so or ./file.so:name")
      ->required()
      ->type_name("NAME");
  add_program_path(app, options.program_path, group);
  add_text(app, "--ranks", options.ranks, "N", "Ranks (default: the program's own)", group);
  add_text(app, "--rounds", options.rounds, "N", "Rounds (default: the program's own)", group);
  app.add_option("--set", options.settings, "Set a parameter; may be given many times")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false)
      ->group(group);
  add_text(app, "--variant", options.variant, "NAME", "Run one variant of the matrix", group);
}

void add_checks(CLI::App& app, RunOptions& options, const char* group) {
  app.add_flag("--check,!--no-check", options.check,
               "Poison outputs before each round and check them after it (the default)")
      ->group(group);
  app.add_flag("--reset-windows", options.reset_windows, "Zero the windows before each round")->group(group);
}

void add_limits(CLI::App& app, RunOptions& options, const char* group) {
  const auto text = [&](const char* name, std::string& value, const char* type, const char* help) {
    add_text(app, name, value, type, help, group);
  };
  text("--scheduler-timeout", options.scheduler_timeout, "MS",
       "Nothing runs or retires for so long: no progress (0: never; default: 10000)");
  text("--operation-timeout", options.operation_timeout, "MS",
       "One block runs so long: core stalled (0: never; default: 45000)");
  text("--fence-timeout", options.fence_timeout, "MS",
       "Nothing retires in a round for so long: no progress (0: never; default: 50000)");
  text("--tensor-timeout", options.tensor_timeout, "MS",
       "An orchestrator's access waits so long (0: never; default: 15000)");
  text("--task-window", options.task_window, "N", "Tasks that each of a rank's four rings holds");
  text("--heap-bytes", options.heap_bytes, "N", "Bytes that each of a rank's four rings holds");
  text("--dep-pool", options.dep_pool, "N", "Edges that each of a rank's four rings holds");
}

void describe_list(CLI::App& app, ListOptions& options) {
  app.footer(list_footer);
  add_program_path(app, options.program_path, nullptr);
  app.add_flag("--json", options.json, "Print one JSON object and nothing else");
}

void describe_run(CLI::App& app, RunOptions& options) {
  app.footer(run_footer);
  const char* const what = "What to run";
  add_what_to_run(app, options, what);
  add_text(app, "--on", options.backend, "BACKEND", "Where to run it: host, or lab:CHIP (default: host)", what);
  add_text(app, "--threads", options.threads, "N", "Worker threads (default: the cores that the process may use)",
           what);
  app.add_flag("--matrix", options.matrix, "Run every variant of the program's own matrix")->group(what);

  const char* const result = "What to see";
  app.add_option(
         "--trace", options.files.trace,
         "Write a trace for https://ui.perfetto.dev; of a matrix, of the first variant that fails, else of the last")
      ->type_name("FILE")
      ->group(result);
  add_text(app, "--trace-records", options.trace_records, "N",
           "Newest records that a worker keeps for the trace (default: 65536)", result);
  app.add_option("--records", options.files.records,
                 "Write every hand-over to a core, for 'heddle verify' (with --on lab:CHIP)")
      ->type_name("FILE")
      ->group(result);
  app.add_option("--snapshot", options.files.snapshot,
                 "When it fails, write where everything stood, for 'heddle explain'")
      ->type_name("FILE")
      ->group(result);
  add_html(app, options.files.html, result);
  app.add_flag("--stats", options.stats, "Show what was used of the rings, and by which scope")->group(result);
  app.add_flag("--json", options.json, "Print one JSON object and nothing else")->group(result);
  add_checks(app, options, result);

  add_lab(app, options.lab, options.patience, "In the laboratory (with --on lab:CHIP)");
  add_limits(app, options, "Limits");
}

}  // namespace heddle::cli
