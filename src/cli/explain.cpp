// SPDX-License-Identifier: Apache-2.0
#include "cli/explain.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <new>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

#include "cli/failure.hpp"
#include "cli/failure_path.hpp"
#include "cli/interrupt.hpp"
#include "cli/lab_guard.hpp"
#include "cli/lab_run.hpp"
#include "cli/output.hpp"
#include "cli/replay.hpp"
#include "cli/snapshot_file.hpp"
#include "doctor/write.hpp"
#include "lab/schedule.hpp"
#include "lab/snapshot_log.hpp"
#include "snapshot/json.hpp"

namespace heddle::cli {
namespace {

constexpr std::string_view failure_word = "heddle-failure ";

bool is_failure_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string first(failure_word.size(), '\0');
  file.read(first.data(), static_cast<std::streamsize>(first.size()));
  return file.gcount() == static_cast<std::streamsize>(first.size()) && first == failure_word;
}

/// What stands when the failure's run is made again; nothing when it does not fail.
std::optional<snapshot::Snapshot> shown_again(const ExplainOptions& options) {
  const lab::Failure failure = load_failure(options.file);
  check_strategy(failure);
  if (failure.spec.chip == "host")
    throw UsageError("lab:host, which the file is of, has no chips to look at; 'heddle replay' shows its failure");
  const FoundProgram found = program_of(failure, options.program_path);
  const RunPlan plan = plan_of(failure, found);
  lab::SnapshotLog log;
  const lab::Runner runner = [&](const lab::RunSpec& spec, lab::Strategy& strategy, std::uint64_t seed, bool record) {
    lab::RunWatch watch;
    watch.snapshot = &log;
    return lab::run_once(plan.program, spec, strategy, seed, record, watch);
  };
  Interrupts interrupts;
  try {
    const LabGuard guard(plan.name, interrupts, LabGuard::OnInterrupt::ends, patience_of(options.patience),
                         options.json);
    (void)lab::run_schedule(runner, strategy_maker(), failure.spec, failure.schedule, false);
  } catch (const Error& error) {
    throw UsageError(one_line(error));
  } catch (const std::bad_alloc&) {
    throw UsageError("there is not enough memory for this run");
  }
  if (log.taken)
    add_run(*log.taken, plan, failure.schedule.strategy, failure.schedule.seed, "heddle replay " + options.file);
  return std::move(log.taken);
}

}  // namespace

int explain(const ExplainOptions& options) {
  std::optional<snapshot::Snapshot> snapshot;
  if (is_failure_file(options.file)) {
    snapshot = shown_again(options);
    if (!snapshot) {
      fmt::print(stderr, "heddle: the run did not fail again: there is nothing to explain\n");
      if (options.json) write_json({{"verdict", "PASSED"}, {"code", 0}, {"file", options.file}});
      return exit_failed;
    }
  } else {
    if (options.snapshot)
      throw UsageError("--snapshot: the file is no failure file, and so no run is made; leave it out");
    try {
      snapshot = snapshot::read(options.file);
    } catch (const Error& error) {
      throw UsageError(one_line(error));
    } catch (const std::bad_alloc&) {
      throw UsageError("there is not enough memory for this snapshot; leave out what has ended");
    }
  }
  if (options.snapshot) {
    try {
      write_snapshot(*options.snapshot, *snapshot);
    } catch (const Error& error) {
      throw UsageError("--snapshot: " + one_line(error));
    }
  }
  const doctor::Report report = doctor::diagnose(*snapshot);
  if (options.html) {
    std::error_code none;  // one of them does not exist
    if (std::filesystem::equivalent(*options.html, options.file, none))
      throw UsageError("--html: " + *options.html + " is the file to explain; give the page a name of its own");
    try {
      write_page(*options.html, report, *snapshot);
    } catch (const Error& error) {
      throw UsageError("--html: " + one_line(error));
    }
  }
  if (options.json) {
    auto json = doctor::to_json(report);
    json["file"] = options.file;
    if (options.html) json["html"] = *options.html;
    write_json(json);
  } else {
    doctor::TextOptions text;
    text.colour = wants_colour(STDOUT_FILENO);
    fmt::print("{}", doctor::to_text(report, *snapshot, text));
    if (options.html) fmt::print("\npage in {}: open it in a browser\n", *options.html);
  }
  std::fflush(stdout);
  return exit_passed;
}

}  // namespace heddle::cli
