// SPDX-License-Identifier: Apache-2.0
//
// The file of --trace. It appears whole or not at all: the trace is written beside it and then takes its name.
#pragma once

#include <heddle/session.hpp>
#include <string>

#include "cli/interrupt.hpp"

namespace heddle::cli {

class TraceFile {
 public:
  /// Throws UsageError when the file could not be written. Leaves what is there as it is.
  TraceFile(std::string path, Interrupts& interrupts);
  /// Throws heddle::Error, and removes what it had written, when the trace does not fit or cannot be written.
  void write(const Session& session);
  const std::string& path() const { return path_; }
  bool is_written() const { return is_written_; }

 private:
  std::string path_;
  std::string unfinished_;  ///< empty for what is no regular file, as a pipe: it is written in place
  Interrupts& interrupts_;
  bool is_written_ = false;
};

}  // namespace heddle::cli
