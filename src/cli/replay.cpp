// SPDX-License-Identifier: Apache-2.0
#include "cli/replay.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "cli/failure.hpp"
#include "cli/failure_path.hpp"
#include "cli/interrupt.hpp"
#include "cli/lab_run.hpp"
#include "cli/names.hpp"
#include "cli/output.hpp"
#include "cli/result.hpp"
#include "cli/snapshot_file.hpp"
#include "cli/watched_run.hpp"
#include "lab/schedule.hpp"

namespace heddle::cli {
namespace {

std::uint16_t code_of(const lab::RunResult& result) {
  return result.error ? static_cast<std::uint16_t>(result.error->code()) : std::uint16_t{0};
}

bool is_same_failure(const lab::Failure& failure, const lab::RunResult& result) {
  return result.verdict == failure.verdict && code_of(result) == failure.code;
}

/// A sentence for each thing that is not as the file has it.
std::vector<std::string> differences(const lab::Failure& failure, const lab::RunResult& result) {
  std::vector<std::string> found;
  if (result.program_hash != failure.program_hash) {
    found.push_back(fmt::format("the program has changed: the hash of its graph is {}, the file has {}",
                                hash_text(result.program_hash), hash_text(failure.program_hash)));
  }
  if (result.verdict != failure.verdict)
    found.push_back(
        fmt::format("the verdict is {}, the file has {}", lab::name_of(result.verdict), lab::name_of(failure.verdict)));
  if (code_of(result) != failure.code) {
    found.push_back(fmt::format("the code is {}, the file has {}", info(static_cast<Code>(code_of(result))).name,
                                info(static_cast<Code>(failure.code)).name));
  }
  if (result.trace_hash != failure.trace_hash) {
    found.push_back(fmt::format("the trace hash is {}, the file has {}", hash_text(result.trace_hash),
                                hash_text(failure.trace_hash)));
  }
  return found;
}

void report(const ReplayOptions& options, const RunResult& shown, const lab::RunResult& result, bool is_same,
            const std::vector<std::string>& found) {
  if (options.json) {
    auto json = to_json(shown);
    json.update(
        {{"same_failure", is_same}, {"same_trace", found.empty()}, {"differences", found}, {"file", options.file}});
    write_json(json);
  } else {
    fmt::print("{}", result_table({shown}, wants_colour(STDOUT_FILENO)));
    if (!result.sentence.empty()) fmt::print("{}: {}\n", lab::name_of(result.verdict), result.sentence);
    if (shown.lab) fmt::print("{}", explanation(*shown.lab));
    if (found.empty()) fmt::print("the same failure, by the same trace\n");
    if (!shown.trace.empty()) fmt::print("{}\n", trace_note(shown, ""));
    if (!shown.records.empty()) fmt::print("{}\n", records_note(shown));
    if (!shown.snapshot.empty()) fmt::print("{}\n", snapshot_note(shown.snapshot));
    if (!shown.html.empty()) fmt::print("{}\n", page_note(shown.html));
  }
  std::fflush(stdout);
  for (const std::string& difference : found) fmt::print(stderr, "heddle: {}\n", difference);
}

void refuse_files_of_host(const RunFiles& files) {
  if (files.trace) throw UsageError("--trace: lab:host, which the file is of, has no virtual time to draw");
  if (files.records) throw UsageError("--records: lab:host, which the file is of, hands out no tokens");
  if (files.snapshot || files.html)
    throw UsageError(fmt::format("{}: lab:host, which the file is of, has no chips to look at",
                                 files.snapshot ? "--snapshot" : "--html"));
}

}  // namespace

FoundProgram program_of(const lab::Failure& failure, const std::vector<std::string>& program_path) {
  const std::string wanted =
      failure.module.empty() ? failure.program : fmt::format("{}:{}", failure.module, failure.program);
  return find_program(wanted, program_folders(program_path));
}

RunPlan plan_of(const lab::Failure& failure, const FoundProgram& found) {
  RunPlan plan;
  plan.name = failure.program;
  plan.variant = failure.variant;
  plan.settings = failure.settings;
  plan.program = create_program(found, failure.settings);
  plan.backend = "lab:" + failure.spec.chip;
  plan.device.ranks = failure.spec.ranks;
  plan.rounds = failure.spec.rounds;
  plan.session = failure.spec.session;
  plan.check = failure.spec.check;
  return plan;
}

void check_strategy(const lab::Failure& failure) {
  if (failure.schedule.is_list) return;
  std::vector<std::string> known;
  for (const lab::NamedHelp& each : lab::strategy_names()) known.push_back(each.name);
  const std::string& name = failure.schedule.strategy;
  if (std::find(known.begin(), known.end(), name) == known.end())
    throw UsageError(fmt::format("the file's strategy {} is not one of this heddle; {}", base::quoted(name),
                                 advise(name, known, "")));
}

int replay(const ReplayOptions& options) {
  const lab::Failure failure = load_failure(options.file);
  check_strategy(failure);
  const FoundProgram found = program_of(failure, options.program_path);
  const RunPlan plan = plan_of(failure, found);

  Interrupts interrupts;
  RunFiles files(options.files, interrupts);
  if (failure.spec.chip == "host") refuse_files_of_host(files);
  WatchedRun watched(files, trace_records_default);
  const lab::Schedule& schedule = failure.schedule;
  lab::RunResult result;
  const lab::Runner runner = [&](const lab::RunSpec& spec, lab::Strategy& strategy, std::uint64_t seed, bool record) {
    return lab::run_once(plan.program, spec, strategy, seed, record, watched.watch());
  };
  const auto start = std::chrono::steady_clock::now();
  in_lab(plan, interrupts, options.patience, options.json,
         [&] { result = lab::run_schedule(runner, strategy_maker(), failure.spec, schedule, false).result; });
  RunResult shown = result_of(plan, result, outcome_of(result, schedule.strategy, schedule.seed));
  shown.wall = std::chrono::steady_clock::now() - start;
  bool is_written = true;
  watched.write({plan, failure.spec, result, schedule.strategy, schedule.seed, "heddle replay " + options.file}, shown,
                [&](TraceFile& file, const TraceFile::Writer& writer, std::string RunResult::* path) {
                  is_written = write_file(file, writer, shown.*path) && is_written;
                });

  const std::vector<std::string> different = differences(failure, result);
  const bool is_same = is_same_failure(failure, result);
  report(options, shown, result, is_same, different);
  if (!is_written) return exit_failed;
  return !is_same ? exit_failed : result.trace_hash == failure.trace_hash ? exit_passed : exit_otherwise;
}

}  // namespace heddle::cli
