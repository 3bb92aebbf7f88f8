// SPDX-License-Identifier: Apache-2.0
//
// heddle run --on lab:CHIP: one run in the laboratory.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cli/interrupt.hpp"
#include "cli/result.hpp"
#include "cli/run.hpp"
#include "cli/run_plan.hpp"
#include "cli/trace_file.hpp"
#include "lab/dispatch_file.hpp"
#include "lab/run.hpp"
#include "lab/schedule.hpp"
#include "snapshot/snapshot.hpp"

namespace heddle::cli {

/// Runs one plan. Throws UsageError for what the laboratory refuses.
RunResult run_in_lab(const RunPlan& plan, const RunOptions& options, Interrupts& interrupts, RunFiles& files,
                     bool is_last);

/// Does what runs a program on this thread, which a guard watches. What the laboratory refuses is wrong use.
/// `too_large`: what is said when memory does not suffice.
void in_lab(const RunPlan& plan, Interrupts& interrupts, const std::string& patience, bool as_json,
            const std::function<void()>& action, const char* too_large = "there is not enough memory for this run");

/// Makes a run again; what stands when it has failed, nothing when it does not fail.
std::optional<snapshot::Snapshot> snapshot_of(const std::shared_ptr<ProgramBase>& program, const lab::RunSpec& spec,
                                              const lab::Schedule& schedule);

/// What stands in the first line of a run's dispatch records.
lab::DispatchHeader records_header(const RunPlan& plan, const lab::RunSpec& spec, const lab::RunResult& result,
                                   const std::string& strategy, std::uint64_t seed);

/// What the laboratory told, as the command shows it.
LabOutcome outcome_of(const lab::RunResult& result, const std::string& strategy, std::uint64_t seed);
RunResult result_of(const RunPlan& plan, const lab::RunResult& result, LabOutcome outcome);

/// For commands that run a program thousands of times.
void keep_freed_memory();

/// The time that a run may take no step, from --patience.
std::chrono::nanoseconds patience_of(const std::string& text);

}  // namespace heddle::cli
