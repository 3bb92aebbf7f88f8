// SPDX-License-Identifier: Apache-2.0
//
// heddle shrink: makes the run of a failure file smaller while it fails in the same way.
#pragma once

#include <string>
#include <vector>

namespace heddle::cli {

struct ShrinkOptions {
  std::string file;
  std::vector<std::string> program_path;
  std::string out;
  std::string budget = "60s";
  std::string patience;
  bool json = false;
};

/// Exit code: 0 a failure file was written, 1 the failure was not shown, or the file could not be written. Throws
/// UsageError.
int shrink(const ShrinkOptions& options);

}  // namespace heddle::cli
