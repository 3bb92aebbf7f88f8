// SPDX-License-Identifier: Apache-2.0
//
// heddle hunt: looks for a schedule, a latency or a fault under which a program fails.
#pragma once

#include <string>

#include "cli/run.hpp"

namespace heddle::cli {

struct HuntOptions {
  HuntOptions() { run.backend = "lab:a2a3"; }

  RunOptions run;  ///< the program, its parameters, and what every run is told
  std::string budget = "60s";
  std::string jobs;
  std::string out;
  std::string sweep_width;
  bool keep_going = false;
};

/// Exit code: 0 nothing was found in the budget, 1 a failure was. Throws UsageError.
int hunt(const HuntOptions& options);

}  // namespace heddle::cli
