// SPDX-License-Identifier: Apache-2.0
#include "cli/command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <heddle/program.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "cli/failure.hpp"
#include "cli/list.hpp"
#include "cli/names.hpp"
#include "cli/output.hpp"
#include "cli/run.hpp"

namespace heddle::cli {
namespace {

constexpr const char* main_footer = R"(
Examples:
  heddle list
  heddle run vector_add
  heddle run tp_isolation --matrix --ranks 16 --rounds 100 --trace isolation.json
  heddle run ./mine.so --set size=4096 --json

'heddle run --help' explains its options. Exit codes: 0 passed, 1 the program failed, 2 wrong use.)";

constexpr const char* run_footer = R"(
Examples:
  heddle run stencil --ranks 4 --rounds 1000
  heddle run tp_isolation --set padded=true --trace out.json
  heddle run tp_isolation --matrix --json
  heddle run ./mine.so            the only program of a module
  heddle run ./mine.so:second     one of several

Each round fills the inputs, runs the graph on every rank, and checks the outputs. Ctrl-C stops in order, a second one
at once. Exit codes: 0 passed, 1 the program failed (its report is on the standard error), 2 wrong use.)";

constexpr const char* list_footer = R"(
Programs are looked for in --program-path, in HEDDLE_PROGRAM_PATH, and beside the command.)";

void describe_list(CLI::App& app, ListOptions& options) {
  app.footer(list_footer);
  app.add_option("--program-path", options.program_path, "Folders of modules, separated by colons")
      ->type_name("DIR")
      ->allow_extra_args(false);
  app.add_flag("--json", options.json, "Print one JSON object and nothing else");
}

void describe_run(CLI::App& app, RunOptions& options) {
  app.footer(run_footer);
  const auto text = [&app](const char* name, std::string& value, const char* type, const char* help,
                           const char* group) { app.add_option(name, value, help)->type_name(type)->group(group); };
  const char* const what = "What to run";
  app.add_option("program", options.program, "A program's name, or a module: ./file.so or ./file.so:name")
      ->required()
      ->type_name("NAME");
  app.add_option("--program-path", options.program_path, "Folders of modules, separated by colons")
      ->type_name("DIR")
      ->allow_extra_args(false)
      ->group(what);
  text("--on", options.backend, "BACKEND", "Where to run it (default: host)", what);
  text("--ranks", options.ranks, "N", "Ranks (default: the program's own)", what);
  text("--rounds", options.rounds, "N", "Rounds (default: the program's own)", what);
  text("--threads", options.threads, "N", "Worker threads (default: the cores that the process may use)", what);
  app.add_option("--set", options.settings, "Set a parameter; may be given many times")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false)
      ->group(what);
  app.add_flag("--matrix", options.matrix, "Run every variant of the program's own matrix")->group(what);
  text("--variant", options.variant, "NAME", "Run one variant of the matrix", what);

  const char* const result = "What to see";
  app.add_option(
         "--trace", options.trace,
         "Write a trace for https://ui.perfetto.dev; of a matrix, of the first variant that fails, else of the last")
      ->type_name("FILE")
      ->group(result);
  text("--trace-records", options.trace_records, "N",
       "Newest records that a worker keeps for the trace (default: 65536)", result);
  app.add_flag("--json", options.json, "Print one JSON object and nothing else")->group(result);
  app.add_flag("--check,!--no-check", options.check,
               "Poison outputs before each round and check them after it (the default)")
      ->group(result);
  app.add_flag("--reset-windows", options.reset_windows, "Zero the windows before each round")->group(result);

  const char* const limits = "Limits";
  text("--scheduler-timeout", options.scheduler_timeout, "MS",
       "Nothing runs or retires for so long: no progress (0: never; default: 10000)", limits);
  text("--operation-timeout", options.operation_timeout, "MS",
       "One block runs so long: core stalled (0: never; default: 45000)", limits);
  text("--fence-timeout", options.fence_timeout, "MS",
       "Nothing retires in a round for so long: no progress (0: never; default: 50000)", limits);
  text("--tensor-timeout", options.tensor_timeout, "MS",
       "An orchestrator's access waits so long (0: never; default: 15000)", limits);
  text("--task-window", options.task_window, "N", "Tasks that each of a rank's four rings holds", limits);
  text("--heap-bytes", options.heap_bytes, "N", "Bytes that each of a rank's four rings holds", limits);
  text("--dep-pool", options.dep_pool, "N", "Edges that each of a rank's four rings holds", limits);
}

/// The first argument that no option takes, with what it may have been meant as.
std::string explain_unexpected(const CLI::App& command) {
  const std::vector<std::string> left = command.remaining();
  if (left.empty()) return "an argument is not expected";
  // CLI11 keeps the values that follow an unknown option as well.
  const auto option =
      std::find_if(left.begin(), left.end(), [](const std::string& text) { return text.starts_with("-"); });
  if (option == left.end()) return fmt::format("the argument {} is not expected", base::quoted(left.front()));
  std::vector<std::string> known;
  for (const CLI::Option* each : command.get_options()) {
    for (const std::string& name : each->get_lnames()) known.push_back("--" + name);
  }
  const std::string name = option->substr(0, option->find('='));
  return fmt::format("there is no option {}; {}", base::quoted(name), advise(name, known, ""));
}

/// Wrong use in one line: what is wrong, and where help is.
std::string explain(const CLI::ParseError& error, const CLI::App& app, const std::string& first) {
  static const std::vector<std::string> commands{"list", "run"};
  if (first.empty()) return "say what to do: 'heddle list' or 'heddle run NAME'; see 'heddle --help'";
  const bool is_command = std::find(commands.begin(), commands.end(), first) != commands.end();
  if (!is_command && first.front() != '-') {
    return fmt::format("there is no command {}; {} (see 'heddle --help')", base::quoted(first),
                       advise(first, commands, ""));
  }
  const CLI::App& command = is_command ? *app.get_subcommand(first) : app;
  const std::string help = is_command ? fmt::format("see 'heddle {} --help'", first) : "see 'heddle --help'";
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) return explain_unexpected(command) + " (" + help + ")";
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && first == "run") {
    return "say which program to run: 'heddle list' shows them, and " + help;
  }
  std::string text = one_line(error.what());
  if (text.ends_with('.')) text.pop_back();
  return text + "; " + help;
}

int parse_and_do(int argc, const char* const* argv) {
  CLI::App app{"heddle runs programs of tasks, symmetric windows and signals on tiled machines.", "heddle"};
  app.footer(main_footer);
  app.set_version_flag("--version", fmt::format("heddle {} (module ABI {})", HEDDLE_VERSION, module_abi));
  app.require_subcommand(1);
  ListOptions list_options;
  RunOptions run_options;
  CLI::App* list_command = app.add_subcommand("list", "Show the programs, their parameters and the backends");
  CLI::App* run_command = app.add_subcommand("run", "Run a program and check what it computes");
  describe_list(*list_command, list_options);
  describe_run(*run_command, run_options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help and --version
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    throw UsageError(explain(error, app, argc > 1 ? argv[1] : ""));
  }
  return list_command->parsed() ? list(list_options) : run(run_options);
}

}  // namespace

int command(int argc, const char* const* argv) {
  const bool as_json = has_flag(argc, argv, "--json");
  int code = exit_failed;
  try {
    code = parse_and_do(argc, argv);
  } catch (const UsageError& error) {
    report_usage(error.what(), as_json);
    code = exit_usage;
  } catch (const std::exception& error) {
    // A module's own code may throw anything while its parameters are asked for.
    fmt::print(stderr, "heddle: {}\n", one_line(error.what()));
  }
  return finish_output() ? code : exit_failed;
}

}  // namespace heddle::cli
