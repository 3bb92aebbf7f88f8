// SPDX-License-Identifier: Apache-2.0
//
// Dispatch records as JSON lines: a first line that says what was run, a line for each record, and a last line with
// their number and a checksum. docs/command.md describes them.
#pragma once

#include <cstdint>
#include <string>

#include "lab/dispatch_log.hpp"

namespace heddle::lab {

inline constexpr int dispatch_version = 1;

// What was run.
struct DispatchHeader {
  std::string program;
  std::string variant;  // empty: none
  std::string backend;
  int ranks = 1;
  std::int64_t rounds = 1;
  std::uint32_t cores = 1;  // of a rank's device
  std::uint32_t lanes = 1;  // of a cluster
  std::string strategy;
  std::uint64_t seed = 0;
  std::uint64_t trace_hash = 0;
};

// What the last line begins with; the checksum is of all before it and of this.
std::string dispatch_end(std::uint64_t records, std::uint64_t dropped, bool passed);

// Replaces the file. `passed`: every graph ended. Throws invalid_argument when it cannot be opened and user_error when
// it cannot be written whole; then what was written of it is removed.
void write_dispatch(const std::string& path, const DispatchHeader& header, const DispatchLog& log, bool passed);

struct DispatchReading {
  DispatchHeader header;
  DispatchEnd end = DispatchEnd::passed;
  DispatchProof proof;
  std::uint64_t dropped = 0;
  bool edited = false;  // the lines are not those that were written
  // Records follow the first line.
  static std::uint64_t line_of(const DispatchFault& fault) { return fault.record + 2; }
};

// Reads a file once, and proves what can be proved of it. Throws Error(invalid_argument) in one line: the file cannot
// be read, is none of records, is of another version, is cut off, or has a line that cannot be one.
DispatchReading verify_dispatch(const std::string& path);

}  // namespace heddle::lab
