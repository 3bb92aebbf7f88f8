// SPDX-License-Identifier: Apache-2.0
//
// How far a run is, on the standard error: one line that is written over on a terminal, else a line now and then.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace heddle::cli {

class Progress {
 public:
  using Clock = std::chrono::steady_clock;

  /// The title names the run. Quiet prints nothing at all.
  Progress(std::string title, std::int64_t rounds, bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `done` rounds have been run and checked.
  void update(std::int64_t done);
  /// Takes the line away.
  void clear();

  /// The line itself: "tp_isolation  37/100 rounds  12.4 rounds/s  5 s left".
  static std::string line(const std::string& title, std::int64_t done, std::int64_t rounds,
                          std::chrono::nanoseconds elapsed);

 private:
  std::string title_;
  std::int64_t rounds_;
  bool quiet_, terminal_, shown_ = false;
  Clock::time_point start_, next_;
};

}  // namespace heddle::cli
