// SPDX-License-Identifier: Apache-2.0
//
// heddle run: prepares a program and runs its rounds, each filled before and checked after.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/file_names.hpp"
#include "cli/lab_options.hpp"

namespace heddle::cli {

/// As the command line gives them; numbers are read, and refused, by run.
struct RunOptions {
  std::string program;
  std::vector<std::string> program_path;
  std::string backend = "host";
  std::string ranks, rounds, threads;  ///< empty: the program's default; threads: one a core
  std::vector<std::string> settings;   ///< "name=value"
  bool matrix = false;
  std::string variant;
  FileNames files;
  std::string trace_records;
  bool stats = false;
  bool json = false;
  bool check = true;
  bool reset_windows = false;
  /// Milliseconds; 0 switches one off.
  std::string scheduler_timeout, operation_timeout, fence_timeout, tensor_timeout;
  std::string task_window, heap_bytes, dep_pool;
  /// Of runs in the laboratory.
  LabOptions lab;
  std::string patience;
};

/// Returns the exit code. Throws UsageError before anything has run.
int run(const RunOptions& options);

}  // namespace heddle::cli
