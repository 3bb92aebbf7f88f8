// SPDX-License-Identifier: Apache-2.0
//
// Watches the thread that runs a program in the laboratory, which cannot be stopped from within: a kernel that blocks
// it outside of the laboratory, or an interrupt, ends the process with a report.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "cli/interrupt.hpp"

namespace heddle::cli {

/// What a stall is told as: `heddle: PREFIX: the kernel of task "a", rank 1 has not come back for 30 s; …`.
std::string stall_message(const std::string& prefix, const std::string& what, std::chrono::nanoseconds patience);

/// Prints the message and, when `as_json`, one object with the verdict, and ends the process at once: exit code 1.
[[noreturn]] void end_now(const std::string& message, const char* verdict, bool as_json);

class LabGuard {
 public:
  enum class OnInterrupt : std::uint8_t { ends, is_left_to_the_caller };

  /// Watches the calling thread. A patience of zero: forever.
  LabGuard(std::string prefix, Interrupts& interrupts, OnInterrupt on_interrupt, std::chrono::nanoseconds patience,
           bool as_json);
  ~LabGuard();
  LabGuard(const LabGuard&) = delete;
  LabGuard& operator=(const LabGuard&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable closing_now_;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace heddle::cli
