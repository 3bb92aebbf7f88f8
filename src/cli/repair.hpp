// SPDX-License-Identifier: Apache-2.0
//
// heddle repair: looks for small changes with which a failure is gone.
#pragma once

#include <string>
#include <vector>

namespace heddle::cli {

struct RepairOptions {
  std::string file;
  std::vector<std::string> program_path;
  std::string budget = "60s";
  std::string patience;
  bool json = false;
};

/// Exit code: 0 a repair was found and proved, 1 none was, or the failure was not shown. Throws UsageError.
int repair(const RepairOptions& options);

}  // namespace heddle::cli
