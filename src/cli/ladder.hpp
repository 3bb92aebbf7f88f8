// SPDX-License-Identifier: Apache-2.0
//
// heddle ladder: which layer a failure needs.
#pragma once

#include <string>
#include <vector>

#include "cli/run.hpp"

namespace heddle::cli {

struct LadderOptions {
  LadderOptions() { run.backend = "lab:a2a3"; }

  RunOptions run;  ///< the program, its parameters, and what every run is told
  std::string budget = "60s";
  std::string jobs;
  std::vector<std::string> tries;  ///< "name=value": parameters that are changed besides
};

/// Exit code: 0 nothing failed in the budget, 1 a failure was looked into. Throws UsageError.
int ladder(const LadderOptions& options);

}  // namespace heddle::cli
