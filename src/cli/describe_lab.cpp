// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>

#include "cli/describe.hpp"

namespace heddle::cli {
namespace {

constexpr const char* hunt_footer = R"(
Examples:
  heddle hunt tp_isolation
  heddle hunt tp_isolation --budget 5min --faults lost_notify:1
  heddle hunt ./mine.so --strategy dfs --ranks 2 --budget 100000
  heddle hunt stencil --on lab:a5 --sweep-width 1,2,36 --out failures/

Schedule after schedule in the laboratory, on every core of this machine, until one fails or the budget is spent. The
failure goes to a file for 'heddle replay' and 'heddle shrink'. Ctrl-C stops in order, a second one at once. Exit codes:
0 nothing was found, 1 a failure was found (or the hunt was interrupted), 2 wrong use.)";

constexpr const char* replay_footer = R"(
Example:
  heddle replay tp_isolation-7.heddle

Exit codes: 0 the same failure by the same trace, 1 the failure was not shown, 2 wrong use or no usable file, 3 the same
verdict and code by another trace, as after a change of the program.)";

constexpr const char* shrink_footer = R"(
Example:
  heddle shrink tp_isolation-7.heddle

Fewer rounds, ranks, clusters and faults, smaller parameters, fewer choices, while the failure stays the same. Ctrl-C
stops in order and keeps what is small already. Exit codes: 0 a file was written, 1 the failure was not shown again,
2 wrong use.)";

constexpr const char* repair_footer = R"(
Example:
  heddle repair moe_missing_edge-7.heddle

Tries an edge between every two names of tasks, sizes of rings, released notifies, windows that are zeroed, and more
cores, one at a time. A change is reported when none of the schedules fails with it, of which some fail without. Exit
codes: 0 a repair was found, 1 none was, or the failure was not shown again, 2 wrong use.)";

constexpr const char* size_footer = R"(
Examples:
  heddle size moe_missing_edge --set repaired=true
  heddle size ./mine.so --schedules 1000 --heap-bytes 16777216

Looks for the least task window, heap and dependency pool with which every schedule that is tried passes, and shows for
each the failure at one step below. A rank has four rings, all of these sizes. The options of the rings say how large
they may be at most. Exit codes: 0 sizes were found, 1 the program fails by something else, or it was interrupted,
2 wrong use.)";

constexpr const char* verify_footer = R"(
Example:
  heddle run stencil --on lab:a2a3 --records stencil.jsonl
  heddle verify stencil.jsonl

Exit codes: 0 all of it is proved, 1 something does not hold (the standard error says in which line and why), 2 wrong use
or no usable file.)";

constexpr const char* explain_footer = R"(
Examples:
  heddle run circular_handshake --on lab:a2a3 --snapshot stuck.json
  heddle explain stuck.json
  heddle explain circular_handshake-7.heddle --html report.html

The verdict, the chain of waits, who could have satisfied each of them and why it did not, and what was not recorded. A
snapshot may come from another machine, or from another runtime: docs/snapshot.md says what it has to hold. Exit codes:
0 it was explained, 1 the run of a failure file did not fail again, 2 wrong use or no usable file.)";

constexpr const char* snapshot_footer = R"(
Examples:
  heddle snapshot 4711
  heddle snapshot 4711 --out now.json

The run goes on. 'kill -USR1 PID' asks for the same; the run then writes NAME-PID.snapshot.json in its own folder and says
so. Exit codes: 0 the snapshot is written, 1 no answer came, 2 wrong use, or a process that cannot be asked.)";

void add_file(CLI::App& app, std::string& file) {
  app.add_option("file", file, "A failure file, as heddle hunt writes it")->required()->type_name("FILE");
}

}  // namespace

void add_patience(CLI::App& app, std::string& patience, const char* group) {
  add_text(app, "--patience", patience, "TIME",
           "A run that takes no step for so long has left the laboratory (0s: never; default: 30s)", group);
}

void add_lab(CLI::App& app, LabOptions& options, std::string& patience, const char* group) {
  const auto text = [&](const char* name, std::string& value, const char* type, const char* help) {
    add_text(app, name, value, type, help, group);
  };
  text("--seed", options.seed, "N", "Where the choices begin (default: 1)");
  text("--strategy", options.strategy, "NAMES", "How choices are made; 'heddle list' shows the strategies");
  text("--faults", options.faults, "NAME:N,...", "Faults that may happen, and how often each at most (default: none)");
  text("--checkers", options.checkers, "NAMES", "Checkers that watch the run: all, none or their names");
  app.add_option("--chip-set", options.chip_set, "Set a constant of the chip; may be given many times")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false)
      ->group(group);
  text("--fidelity", options.fidelity, "LEVEL",
       "program: the schedulers' own steps are atomic; protocol: each of their accesses is a step (default: program)");
  text("--values", options.values, "on|off",
       "off: kernels skip their arithmetic, and no output is checked (default: on)");
  add_patience(app, patience, group);
}

void describe_hunt(CLI::App& app, HuntOptions& options) {
  app.footer(hunt_footer);
  const char* const what = "What to run";
  add_what_to_run(app, options.run, what);
  add_text(app, "--on", options.run.backend, "lab:CHIP", "On which chip (default: lab:a2a3)", what);

  const char* const where = "Where to look";
  add_text(app, "--budget", options.budget, "BUDGET",
           "A time (60s, 5min, 2h), a number of schedules, or both with a comma (default: 60s)", where);
  add_text(app, "--jobs", options.jobs, "N", "Threads, each with a run of its own (default: one for each core)", where);
  add_lab(app, options.run.lab, options.run.patience, where);
  add_text(app, "--sweep-width", options.sweep_width, "N,...", "Numbers of clusters, by turns", where);
  app.add_flag("--keep-going", options.keep_going, "Count failures to the end of the budget; the first one is kept")
      ->group(where);

  const char* const result = "What to see";
  add_text(app, "--out", options.out, "PATH", "The failure file, or a folder for it (default: NAME-SEED.heddle here)",
           result);
  add_html(app, options.run.files.html, result);
  app.add_flag("--json", options.run.json, "Print one JSON object and nothing else")->group(result);
  add_checks(app, options.run, result);
  add_limits(app, options.run, "Limits");
}

void describe_size(CLI::App& app, SizeOptions& options) {
  app.footer(size_footer);
  const char* const what = "What to run";
  add_what_to_run(app, options.run, what);
  add_text(app, "--on", options.run.backend, "lab:CHIP", "On which chip (default: lab:a2a3)", what);

  const char* const where = "How to look";
  add_text(app, "--schedules", options.schedules, "N", "Schedules that have to pass at the sizes found (default: 100)",
           where);
  add_lab(app, options.run.lab, options.run.patience, where);

  const char* const result = "What to see";
  app.add_flag("--json", options.run.json, "Print one JSON object and nothing else")->group(result);
  add_checks(app, options.run, result);
  add_limits(app, options.run, "Limits");
}

void describe_replay(CLI::App& app, ReplayOptions& options) {
  app.footer(replay_footer);
  add_file(app, options.file);
  add_program_path(app, options.program_path, nullptr);
  add_patience(app, options.patience, nullptr);
  app.add_option("--trace", options.files.trace, "Write a trace of the run for https://ui.perfetto.dev")
      ->type_name("FILE");
  app.add_option("--records", options.files.records, "Write every hand-over to a core, for 'heddle verify'")
      ->type_name("FILE");
  app.add_option("--snapshot", options.files.snapshot, "Write where everything stood, for 'heddle explain'")
      ->type_name("FILE");
  add_html(app, options.files.html, nullptr);
  app.add_flag("--json", options.json, "Print one JSON object and nothing else");
}

void describe_explain(CLI::App& app, ExplainOptions& options) {
  app.footer(explain_footer);
  app.add_option("file", options.file, "A snapshot, or a failure file as heddle hunt writes it")
      ->required()
      ->type_name("FILE");
  app.add_option("--snapshot", options.snapshot, "Of a failure file: write the snapshot of its run")->type_name("FILE");
  add_html(app, options.html, nullptr);
  add_program_path(app, options.program_path, nullptr);
  add_patience(app, options.patience, nullptr);
  app.add_flag("--json", options.json, "Print one JSON object and nothing else");
}

void describe_snapshot(CLI::App& app, SnapshotOptions& options) {
  app.footer(snapshot_footer);
  app.add_option("pid", options.pid, "The process of a 'heddle run' on the host")->required()->type_name("PID");
  add_text(app, "--out", options.out, "PATH", "The file, or a folder for it (default: heddle-PID.snapshot.json here)",
           nullptr);
  add_text(app, "--patience", options.patience, "TIME", "How long to wait for the answer (default: 10s)", nullptr);
  app.add_flag("--json", options.json, "Print one JSON object and nothing else");
}

void describe_verify(CLI::App& app, VerifyOptions& options) {
  app.footer(verify_footer);
  app.add_option("file", options.file, "Dispatch records, as heddle run --records writes them")
      ->required()
      ->type_name("FILE");
  app.add_flag("--json", options.json, "Print one JSON object and nothing else");
}

void describe_shrink(CLI::App& app, ShrinkOptions& options) {
  app.footer(shrink_footer);
  add_file(app, options.file);
  add_text(app, "--out", options.out, "PATH",
           "The small file, or a folder for it (default: FILE-small.heddle beside FILE)", nullptr);
  add_text(app, "--budget", options.budget, "BUDGET",
           "A time (60s, 5min), a number of runs, or both with a comma (default: 60s)", nullptr);
  add_program_path(app, options.program_path, nullptr);
  add_patience(app, options.patience, nullptr);
  app.add_flag("--json", options.json, "Print one JSON object and nothing else");
}

void describe_repair(CLI::App& app, RepairOptions& options) {
  app.footer(repair_footer);
  add_file(app, options.file);
  add_text(app, "--budget", options.budget, "BUDGET",
           "A time (60s, 5min), a number of schedules for each change, or both with a comma (default: 60s,200)",
           nullptr);
  add_program_path(app, options.program_path, nullptr);
  add_patience(app, options.patience, nullptr);
  app.add_flag("--json", options.json, "Print one JSON object and nothing else");
}

}  // namespace heddle::cli
