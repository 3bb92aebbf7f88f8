// SPDX-License-Identifier: Apache-2.0
//
// heddle cases: the gallery of hangs, listed and run.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace heddle::cli {

struct CasesOptions {
  std::vector<std::string> names;  ///< empty: all
  std::vector<std::string> program_path;
  std::string budget, seed, starts, jobs, patience;
  std::optional<std::string> write;
  bool list = false;
  bool json = false;
};

/// Exit code: 0 all are as they say, 1 one differs or it was interrupted. Throws UsageError.
int cases(const CasesOptions& options);

}  // namespace heddle::cli
