// SPDX-License-Identifier: Apache-2.0
//
// heddle list: the programs that were found with their parameters, and the backends.
#pragma once

#include <string>
#include <vector>

namespace heddle::cli {

struct ListOptions {
  std::vector<std::string> program_path;
  bool json = false;
};

/// Returns the exit code. Throws UsageError.
int list(const ListOptions& options);

}  // namespace heddle::cli
