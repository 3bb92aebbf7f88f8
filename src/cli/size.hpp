// SPDX-License-Identifier: Apache-2.0
//
// heddle size: the least ring sizes with which a program passes.
#pragma once

#include <string>

#include "cli/run.hpp"

namespace heddle::cli {

struct SizeOptions {
  SizeOptions() { run.backend = "lab:a2a3"; }

  RunOptions run;  ///< its ring sizes are the largest that are tried
  std::string schedules;
};

/// Exit code: 0 sizes were found, 1 the program fails otherwise or it was interrupted. Throws UsageError.
int size(const SizeOptions& options);

}  // namespace heddle::cli
