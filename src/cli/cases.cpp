// SPDX-License-Identifier: Apache-2.0
#include "cli/cases.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "base/text.hpp"
#include "cli/cases_report.hpp"
#include "cli/failure.hpp"
#include "cli/hunt_report.hpp"
#include "cli/interrupt.hpp"
#include "cli/lab_guard.hpp"
#include "cli/lab_run.hpp"
#include "cli/names.hpp"
#include "cli/output.hpp"
#include "cli/run_plan.hpp"
#include "cli/status_line.hpp"

namespace heddle::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t find_schedules = 2'000, pass_schedules = 200;
constexpr std::uint64_t starts_written = 20;  // of what is written down
constexpr std::int64_t starts_most = 10'000;

std::vector<CaseFile> chosen(const CasesOptions& options, const std::vector<std::string>& folders) {
  std::vector<CaseFile> all = find_cases(folders);
  if (all.empty()) throw UsageError("there is no case; give their folder with --program-path");
  if (options.names.empty()) return all;
  std::vector<std::string> known;
  for (const CaseFile& each : all) known.push_back(each.name);
  std::vector<CaseFile> cases;
  for (const std::string& name : options.names) {
    const auto found = std::find(known.begin(), known.end(), name);
    if (found == known.end())
      throw UsageError(fmt::format("there is no case {}; {}", base::quoted(name), advise(name, known, "")));
    cases.push_back(all[static_cast<std::size_t>(found - known.begin())]);
  }
  return cases;
}

CaseConfig config_of(const CasesOptions& options) {
  CaseConfig config;
  config.seed = options.write ? 1 : std::random_device{}();
  if (!options.seed.empty())
    config.seed =
        static_cast<std::uint64_t>(parse_number("--seed", options.seed, 0, std::numeric_limits<std::int64_t>::max()));
  config.starts = options.write ? starts_written : 1;
  if (!options.starts.empty())
    config.starts = static_cast<std::uint64_t>(parse_number("--starts", options.starts, 1, starts_most));
  config.find.runs = find_schedules;
  config.pass.runs = pass_schedules;
  if (!options.budget.empty()) config.find = config.pass = parse_budget(options.budget);
  config.jobs = options.jobs.empty() ? static_cast<int>(std::max(std::thread::hardware_concurrency(), 1U))
                                     : static_cast<int>(parse_number("--jobs", options.jobs, 1, lab::jobs_most));
  config.patience = patience_of(options.patience);
  return config;
}

void save(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) throw UsageError(fmt::format("--write: {} cannot be written", path.string()));
}

/// Before anything is run: an hour of hunts should not end with a folder that is not there.
void check_folder(const CasesOptions& options, const std::vector<CaseFile>& cases) {
  if (!options.write) return;
  const fs::path root = *options.write;
  if (options.list) throw UsageError("--write: --list runs nothing that could be written; leave one of them out");
  for (const CaseFile& each : cases)
    if (!fs::is_directory(root / "cases" / each.name))
      throw UsageError(fmt::format("--write {}: there is no folder {}; give the root of the sources",
                                   base::quoted(*options.write), (root / "cases" / each.name).string()));
  if (!fs::is_directory(root / "docs"))
    throw UsageError(
        fmt::format("--write {}: there is no folder {}", base::quoted(*options.write), (root / "docs").string()));
}

std::vector<std::string> write_all(const CasesOptions& options, const std::vector<CaseRun>& runs,
                                   const std::vector<FoundProgram>& programs, const CaseConfig& config) {
  std::vector<std::string> written;
  if (!options.write) return written;
  const fs::path root = *options.write;
  const auto add = [&](const fs::path& path, const std::string& text) {
    save(path, text);
    written.push_back(path.string());
  };
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const CaseShown shown = show_case(runs[i], programs[i]);
    add(root / "cases" / runs[i].about.name / "report.txt", shown.report);
    add(root / "cases" / runs[i].about.name / "waits.svg", shown.picture);
  }
  if (options.names.empty()) add(root / "docs" / "gallery.md", gallery_markdown(runs, config));
  return written;
}

}  // namespace

int cases(const CasesOptions& options) {
  keep_freed_memory();
  const std::vector<std::string> folders = program_folders(options.program_path);
  const std::vector<CaseFile> all = chosen(options, folders);
  CaseConfig config = config_of(options);
  check_folder(options, all);
  if (options.list) {
    if (options.json)
      write_json(cases_json(all, {}, config, {}));
    else
      fmt::print("{}", list_text(all));
    return exit_passed;
  }

  Interrupts interrupts;
  StatusLine status(options.json);
  config.interrupted = [&] { return interrupts.requested(); };
  config.progress = [&](const std::string& name, const lab::HuntCounts& counts) {
    if (status.is_due()) status.show(hunt_line(name, counts));
  };
  std::vector<FoundProgram> programs;
  std::vector<CaseRun> runs;
  for (const CaseFile& each : all) {
    programs.push_back(find_program(each.program, folders));
    runs.push_back(run_case(each, programs.back(), config));
    if (runs.back().stalled) {
      const lab::StalledRun& stalled = *runs.back().stalled;
      end_now(stall_message(fmt::format("{}: schedule {}", each.name, grouped(stalled.number)), stalled.what,
                            config.patience),
              "CORE STALLED", options.json);
    }
    if (runs.back().interrupted) break;
  }
  status.clear();

  const bool is_whole = runs.size() == all.size() && !runs.back().interrupted;
  const bool passed =
      is_whole && std::all_of(runs.begin(), runs.end(), [](const CaseRun& run) { return run.is_as_expected(); });
  const std::vector<std::string> written =
      passed ? write_all(options, runs, programs, config) : std::vector<std::string>{};
  if (options.json) {
    write_json(cases_json(all, runs, config, written));
  } else {
    fmt::print("{}", cases_text(runs, wants_colour(STDOUT_FILENO)));
    fmt::print("{} from seed {}\n", base::counted(static_cast<std::int64_t>(runs.size()), "case"), config.seed);
    if (!written.empty()) fmt::print("{} written\n", base::counted(static_cast<std::int64_t>(written.size()), "file"));
  }
  std::fflush(stdout);
  if (options.write && !passed) fmt::print(stderr, "heddle: cases: nothing was written, as not all are as they say\n");
  return passed ? exit_passed : exit_failed;
}

}  // namespace heddle::cli
