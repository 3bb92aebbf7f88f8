// SPDX-License-Identifier: Apache-2.0
//
// Looks for small changes of a program, or of its session, with which a failure is gone. Each is proved by runs: over
// the same schedules as the program as it is, of which some fail, and with the change none does.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lab/schedule.hpp"

namespace heddle::lab {

inline constexpr std::uint64_t repair_schedules = 200;  // unless the budget says otherwise

struct RepairConfig {
  Failure failure;
  std::vector<std::string> strategies = {"random", "pct", "delay", "walk"};
  std::uint64_t schedules = repair_schedules;                       // of the program as it is, and of each change
  std::chrono::nanoseconds time = std::chrono::nanoseconds::max();  // of the wall's clock
};

struct Repair {
  std::string change;           // "edge combine_notify -> dispatch_meta"
  std::string advice;           // what to write
  std::uint64_t schedules = 0;  // that were run with it, and passed
  double slower = 1;            // virtual time with it, of that without: of the schedules that pass either way
  bool is_proved = false;       // all schedules were run, and some of them fail without it
};

struct RepairReport {
  bool is_shown = false;        // the failure of the file was shown when it was run again; else nothing was tried
  RunResult result;             // of that run
  std::uint64_t schedules = 0;  // of the program as it is
  std::uint64_t failures = 0;   // of those, whatever the failure
  std::vector<Repair> repairs;  // smallest first
  std::uint64_t changes = 0;    // that were tried
  std::uint64_t runs = 0;       // in all
  bool is_complete = true;      // everything was tried that is known
  bool interrupted = false;
};

struct Repairer {
  std::function<std::shared_ptr<ProgramBase>(const Settings&)> make;
  StrategyMaker strategies;
  std::function<bool()> interrupted = [] { return false; };
  // Which change is tried now (empty: none), and how many of how many have been.
  std::function<void(const std::string& change, std::uint64_t done, std::uint64_t of)> progress = nullptr;
};

// Throws Error(invalid_argument) for a failure whose program or specification is refused.
RepairReport repair(const RepairConfig& config, const Repairer& repairer);

}  // namespace heddle::lab
