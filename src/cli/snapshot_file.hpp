// SPDX-License-Identifier: Apache-2.0
//
// The files of --snapshot and --html.
#pragma once

#include <string>

#include "cli/run.hpp"
#include "cli/run_plan.hpp"
#include "doctor/report.hpp"
#include "snapshot/snapshot.hpp"

namespace heddle::cli {

/// Adds what was run. `replay`: the command that shows it again.
void add_run(snapshot::Snapshot& snapshot, const RunPlan& plan, const std::string& strategy, std::uint64_t seed,
             std::string replay);

/// The command that makes a run in the laboratory again.
std::string command_of(const RunPlan& plan, const RunOptions& options, const std::string& strategy, std::uint64_t seed);

/// Throws heddle::Error when it cannot be written whole; then what was written of it is removed.
void write_snapshot(const std::string& path, const snapshot::Snapshot& snapshot);

/// The page of a report. Throws as write_snapshot().
void write_page(const std::string& path, const doctor::Report& report, const snapshot::Snapshot& snapshot);

/// "snapshot in FILE: heddle explain FILE tells who waits for whom"
std::string snapshot_note(const std::string& path);
/// "page in FILE: open it in a browser"
std::string page_note(const std::string& path);

}  // namespace heddle::cli
