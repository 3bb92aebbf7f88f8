// SPDX-License-Identifier: Apache-2.0
//
// Looks for a schedule under which a program fails. Schedules are numbered: schedule i uses strategy i modulo their
// number, with the seed `seed + i`. Of all that fail the one with the lowest number is reported, whatever the threads
// do: those below it are finished first.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lab/schedule.hpp"

namespace heddle::lab {

inline constexpr std::int64_t jobs_most = 1024;  // threads of a hunt

struct HuntConfig {
  RunSpec spec;
  std::vector<std::string> strategies = {"random", "pct", "delay", "walk"};  // or {"dfs"} alone
  std::uint64_t seed = 1;
  std::optional<std::uint64_t> schedules;        // budgets: whichever ends first, and one of them at least
  std::optional<std::chrono::nanoseconds> time;  // of the wall's clock
  int jobs = 1;                                  // threads, each with a run of its own
  std::vector<Fidelity> fidelities;              // by turns; empty: the specification's
  std::vector<std::uint64_t> widths;             // numbers of clusters by turns; empty: the specification's
  bool keep_going = false;                       // counts failures to the end of the budget
  std::chrono::nanoseconds patience = std::chrono::seconds(30);  // of a run that takes no step; zero: forever
};

struct StrategyCount {
  std::string name;
  std::uint64_t schedules = 0;
  std::uint64_t failures = 0;
};

struct HuntCounts {
  std::uint64_t schedules = 0;
  std::uint64_t failures = 0;
  std::uint64_t events = 0;
  std::chrono::nanoseconds elapsed{0};
  std::map<Verdict, std::uint64_t> verdicts;
  std::vector<StrategyCount> strategies;
  std::vector<std::pair<std::string, std::uint64_t>> states;  // marks that were reached, and how often
  double per_second() const;
};

struct FoundFailure {
  std::uint64_t number = 0;  // of the schedule
  RunSpec spec;
  Schedule schedule;
  RunResult result;
  bool is_repeatable = true;  // a second run with the same choices had the same trace
};

// A run whose thread does not come back: threads are left behind, so end the process without waiting for them.
struct StalledRun {
  std::uint64_t number = 0;
  std::string strategy;
  std::uint64_t seed = 0;
  std::string what;  // runs; empty when it is not known
};

struct HuntReport {
  HuntCounts counts;
  std::optional<FoundFailure> failure;
  std::optional<StalledRun> stalled;
  bool complete = false;  // dfs: every schedule was run
  bool interrupted = false;
};

// The first two are called on the threads of the hunt, and after a stall may be called after hunt() has returned: they
// hold what they use.
struct Hunter {
  std::function<Runner()> make_runner;  // one for each thread
  StrategyMaker strategies;
  std::function<bool()> interrupted = [] { return false; };   // asked now and then, on the caller's thread
  std::function<void(const HuntCounts&)> progress = nullptr;  // told now and then, on the caller's thread
};

// Throws Error(invalid_argument) for a configuration out of range, and what the runner throws.
HuntReport hunt(const HuntConfig& config, const Hunter& hunter);

}  // namespace heddle::lab
