// SPDX-License-Identifier: Apache-2.0
//
// heddle snapshot: asks a process that runs a program where everything stands.
#pragma once

#include <string>

namespace heddle::cli {

struct SnapshotOptions {
  std::string pid;
  std::string out;
  std::string patience;
  bool json = false;
};

/// Exit code: 0 it has answered, 1 it has not. Throws UsageError for a process that cannot be asked.
int snapshot(const SnapshotOptions& options);

}  // namespace heddle::cli
