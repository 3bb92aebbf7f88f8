// SPDX-License-Identifier: Apache-2.0
//
// The files of --snapshot and --html.
#pragma once

#include <string>

#include "cli/run.hpp"
#include "cli/run_plan.hpp"
#include "doctor/report.hpp"
#include "host/snapshot_take.hpp"
#include "snapshot/snapshot.hpp"

namespace heddle::cli {

/// Adds what was run. `replay`: the command that shows it again.
void add_run(snapshot::Snapshot& snapshot, const RunPlan& plan, std::string replay);
void add_run(snapshot::Snapshot& snapshot, const RunPlan& plan, const std::string& strategy, std::uint64_t seed,
             std::string replay);

/// The command that makes a run again; one in the laboratory the same way.
std::string command_of(const RunPlan& plan, const RunOptions& options);
std::string command_of(const RunPlan& plan, const RunOptions& options, const std::string& strategy, std::uint64_t seed);

using host::write_snapshot;

/// The page of a report. Throws as write_snapshot().
void write_page(const std::string& path, const doctor::Report& report, const snapshot::Snapshot& snapshot);

/// "snapshot in FILE: heddle explain FILE tells who waits for whom"
std::string snapshot_note(const std::string& path);
/// "page in FILE: open it in a browser"
std::string page_note(const std::string& path);

}  // namespace heddle::cli
