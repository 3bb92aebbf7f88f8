// SPDX-License-Identifier: Apache-2.0
//
// heddle replay: makes the run of a failure file again.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/file_names.hpp"
#include "cli/program_loader.hpp"
#include "cli/run_plan.hpp"
#include "lab/failure_file.hpp"

namespace heddle::cli {

/// The failure is the same, but came about in another way.
inline constexpr int exit_otherwise = 3;

struct ReplayOptions {
  std::string file;
  std::vector<std::string> program_path;
  std::string patience;
  FileNames files;
  bool json = false;
};

/// Exit code: 0 the same failure with the same trace, 1 it was not shown, 3 the same verdict and code with another
/// trace. Throws UsageError.
int replay(const ReplayOptions& options);

/// The program that a failure names. Throws UsageError when it is not there.
FoundProgram program_of(const lab::Failure& failure, const std::vector<std::string>& program_path);

/// What is shown of the run that the failure describes. Throws UsageError for parameters that the program does not
/// take.
RunPlan plan_of(const lab::Failure& failure, const FoundProgram& found);

/// Throws UsageError for a strategy that this build does not have.
void check_strategy(const lab::Failure& failure);

}  // namespace heddle::cli
