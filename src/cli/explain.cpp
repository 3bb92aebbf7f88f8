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
#include "cli/lab_run.hpp"
#include "cli/output.hpp"
#include "cli/replay.hpp"
#include "cli/snapshot_file.hpp"
#include "cli/trace_file.hpp"
#include "doctor/write.hpp"
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
std::optional<snapshot::Snapshot> shown_again(const ExplainOptions& options, Interrupts& interrupts) {
  const lab::Failure failure = load_failure(options.file);
  check_strategy(failure);
  if (failure.spec.chip == "host")
    throw UsageError("lab:host, which the file is of, has no chips to look at; 'heddle replay' shows its failure");
  const FoundProgram found = program_of(failure, options.program_path);
  const RunPlan plan = plan_of(failure, found);
  std::optional<snapshot::Snapshot> taken;
  in_lab(plan, interrupts, options.patience, options.json,
         [&] { taken = snapshot_of(plan.program, failure.spec, failure.schedule); });
  if (taken) add_run(*taken, plan, failure.schedule.strategy, failure.schedule.seed, "heddle replay " + options.file);
  return taken;
}

snapshot::Snapshot read(const std::string& path) {
  try {
    return snapshot::read(path);
  } catch (const Error& error) {
    throw UsageError(one_line(error));
  } catch (const std::bad_alloc&) {
    throw UsageError("there is not enough memory for this snapshot; leave out what has ended");
  }
}

void check_names(const ExplainOptions& options, bool is_failure) {
  if (options.snapshot && !is_failure)
    throw UsageError("--snapshot: the file is no failure file, and so no run is made; leave it out");
  std::error_code none;  // one of them does not exist
  if (options.html && std::filesystem::equivalent(*options.html, options.file, none))
    throw UsageError("--html: " + *options.html + " is the file to explain; give the page a name of its own");
}

}  // namespace

int explain(const ExplainOptions& options) {
  const bool is_failure = is_failure_file(options.file);
  check_names(options, is_failure);
  Interrupts interrupts;
  RunFiles files({{}, {}, options.snapshot, options.html}, interrupts);
  std::optional<snapshot::Snapshot> snapshot = is_failure ? shown_again(options, interrupts) : read(options.file);
  if (!snapshot) {
    fmt::print(stderr, "heddle: the run did not fail again: there is nothing to explain\n");
    if (options.json) write_json({{"verdict", "PASSED"}, {"code", 0}, {"file", options.file}});
    return exit_failed;
  }
  const doctor::Report report = doctor::diagnose(*snapshot);
  std::string page, written;
  bool is_written = true;
  const auto write = [&](std::optional<TraceFile>& file, const TraceFile::Writer& writer, std::string& path) {
    if (file) is_written = write_file(*file, writer, path) && is_written;
  };
  write(files.snapshot, [&](const std::string& path) { write_snapshot(path, *snapshot); }, written);
  write(files.html, [&](const std::string& path) { write_page(path, report, *snapshot); }, page);
  if (options.json) {
    auto json = doctor::to_json(report);
    json["file"] = options.file;
    if (!page.empty()) json["html"] = page;
    write_json(json);
  } else {
    doctor::TextOptions text;
    text.colour = wants_colour(STDOUT_FILENO);
    fmt::print("{}", doctor::to_text(report, *snapshot, text));
    if (!page.empty()) fmt::print("\n{}\n", page_note(page));
  }
  std::fflush(stdout);
  return is_written ? exit_passed : exit_failed;
}

}  // namespace heddle::cli
