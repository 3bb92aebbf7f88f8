// SPDX-License-Identifier: Apache-2.0
//
// One line on the standard error that says how far something is: written over on a terminal, else not shown at all.
#pragma once

#include <chrono>
#include <string>

namespace heddle::cli {

class StatusLine {
 public:
  explicit StatusLine(bool quiet);
  ~StatusLine() { clear(); }
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  /// Whether it is time for a new text: building one that is not shown is left to the caller.
  bool is_due() const;
  void show(const std::string& text);
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  bool shows_, shown_ = false;
  Clock::time_point next_ = Clock::now();
};

}  // namespace heddle::cli
