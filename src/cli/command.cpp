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
#include "cli/describe.hpp"
#include "cli/failure.hpp"
#include "cli/names.hpp"
#include "cli/output.hpp"

namespace heddle::cli {
namespace {

constexpr const char* main_footer = R"(
Examples:
  heddle list
  heddle run vector_add
  heddle run tp_isolation --matrix --ranks 16 --rounds 100 --trace isolation.json
  heddle run ./mine.so --set size=4096 --json
  heddle hunt tp_isolation --budget 5min
  heddle replay tp_isolation-7.heddle

'heddle run --help' explains its options. Exit codes: 0 passed, 1 the program failed, 2 wrong use.)";

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
  static const std::vector<std::string> commands{"list", "run",    "hunt",    "replay",   "shrink", "repair",
                                                 "size", "verify", "explain", "snapshot", "ladder", "cases"};
  if (first.empty()) return "say what to do: 'heddle list' or 'heddle run NAME'; see 'heddle --help'";
  const bool is_command = std::find(commands.begin(), commands.end(), first) != commands.end();
  if (!is_command && first.front() != '-') {
    return fmt::format("there is no command {}; {} (see 'heddle --help')", base::quoted(first),
                       advise(first, commands, ""));
  }
  const CLI::App& command = is_command ? *app.get_subcommand(first) : app;
  const std::string help = is_command ? fmt::format("see 'heddle {} --help'", first) : "see 'heddle --help'";
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) return explain_unexpected(command) + " (" + help + ")";
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr &&
      (first == "run" || first == "hunt" || first == "size" || first == "ladder")) {
    return fmt::format("say which program to {}: 'heddle list' shows them, and {}", first, help);
  }
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && first == "verify")
    return fmt::format("say which file to verify: 'heddle run --records FILE' writes them, and {}", help);
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && first == "explain")
    return fmt::format("say which file to explain: 'heddle run --snapshot FILE' and 'heddle hunt' write them, and {}",
                       help);
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && first == "snapshot")
    return fmt::format("say which process to ask: 'pgrep heddle' shows them, and {}", help);
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && is_command)
    return fmt::format("say which file to {}: 'heddle hunt' writes them, and {}", first, help);
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
  HuntOptions hunt_options;
  LadderOptions ladder_options;
  CasesOptions cases_options;
  ReplayOptions replay_options;
  ShrinkOptions shrink_options;
  RepairOptions repair_options;
  SizeOptions size_options;
  VerifyOptions verify_options;
  ExplainOptions explain_options;
  SnapshotOptions snapshot_options;
  CLI::App* list_command = app.add_subcommand("list", "Show the programs, their parameters and the backends");
  CLI::App* run_command = app.add_subcommand("run", "Run a program and check what it computes");
  CLI::App* hunt_command = app.add_subcommand("hunt", "Look for a schedule under which a program fails");
  CLI::App* ladder_command = app.add_subcommand("ladder", "Find out which layer a failure needs");
  CLI::App* cases_command = app.add_subcommand("cases", "List the gallery of hangs, and run it");
  CLI::App* replay_command = app.add_subcommand("replay", "Show a failure again");
  CLI::App* shrink_command = app.add_subcommand("shrink", "Make a failure smaller");
  CLI::App* repair_command = app.add_subcommand("repair", "Look for a small change with which a failure is gone");
  CLI::App* size_command = app.add_subcommand("size", "Find the least ring sizes with which a program passes");
  CLI::App* verify_command = app.add_subcommand("verify", "Prove a run's dispatch records");
  CLI::App* explain_command = app.add_subcommand("explain", "Tell who waits for whom, and who is to blame");
  CLI::App* snapshot_command = app.add_subcommand("snapshot", "Ask a run on the host where everything stands");
  describe_list(*list_command, list_options);
  describe_run(*run_command, run_options);
  describe_hunt(*hunt_command, hunt_options);
  describe_ladder(*ladder_command, ladder_options);
  describe_cases(*cases_command, cases_options);
  describe_replay(*replay_command, replay_options);
  describe_shrink(*shrink_command, shrink_options);
  describe_repair(*repair_command, repair_options);
  describe_size(*size_command, size_options);
  describe_verify(*verify_command, verify_options);
  describe_explain(*explain_command, explain_options);
  describe_snapshot(*snapshot_command, snapshot_options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help and --version
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    throw UsageError(explain(error, app, argc > 1 ? argv[1] : ""));
  }
  if (hunt_command->parsed()) return hunt(hunt_options);
  if (ladder_command->parsed()) return ladder(ladder_options);
  if (cases_command->parsed()) return cases(cases_options);
  if (replay_command->parsed()) return replay(replay_options);
  if (shrink_command->parsed()) return shrink(shrink_options);
  if (repair_command->parsed()) return repair(repair_options);
  if (size_command->parsed()) return size(size_options);
  if (verify_command->parsed()) return verify(verify_options);
  if (explain_command->parsed()) return explain(explain_options);
  if (snapshot_command->parsed()) return snapshot(snapshot_options);
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
