// SPDX-License-Identifier: Apache-2.0
//
// Options that only runs in the laboratory have, and what they come to. The same for run, hunt, replay and shrink.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lab/run.hpp"
#include "lab/schedule.hpp"
#include "lab/strategies/strategies.hpp"

namespace heddle::cli {

struct RunPlan;

/// As the command line gives them; empty where they were not given.
struct LabOptions {
  std::string seed, strategy, fidelity, faults, checkers, values;
  std::vector<std::string> chip_set;  ///< "name=value"
};

/// The name of the first option that was given, as "--seed"; empty when none was.
std::string_view first_given(const LabOptions& options);

/// "a2a3" of "lab:a2a3"; nullopt when the backend is none of the laboratory's.
std::optional<std::string> chip_of(std::string_view backend);

/// All that a run in the laboratory is told but its choices. `checkers`: what is used when the option was not given.
/// Throws UsageError.
lab::RunSpec make_spec(const RunPlan& plan, const LabOptions& options, std::string_view checkers);

/// `otherwise` when it was not given. Throws UsageError.
std::uint64_t seed_of(const LabOptions& options, std::uint64_t otherwise);

/// Names of known strategies, from a list with commas. Throws UsageError.
std::vector<std::string> strategies_of(const LabOptions& options, const std::vector<std::string>& otherwise);

/// "60s", "500ms", "2min", "1h", or a number of runs; or one of each with a comma. Throws UsageError.
struct Budget {
  std::optional<std::chrono::nanoseconds> time;
  std::optional<std::uint64_t> runs;
};
Budget parse_budget(const std::string& text);

/// A time as a budget has it, zero allowed. Throws UsageError that names the option.
std::chrono::nanoseconds parse_time(std::string_view option, const std::string& text);

/// The strategies of the laboratory.
lab::StrategyMaker strategy_maker();

}  // namespace heddle::cli
