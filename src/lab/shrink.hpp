// SPDX-License-Identifier: Apache-2.0
//
// Makes a failure smaller while it stays the same failure: rounds, ranks, parameters, clusters and faults first, then
// the choices, until those that are left are all needed (or the budget is spent).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lab/schedule.hpp"

namespace heddle::lab {

// A whole-number parameter that has a least value: the program is smaller with less.
struct ShrinkParameter {
  std::string name;
  std::int64_t value = 0;
  std::int64_t least = 0;
};

struct ShrinkConfig {
  Failure failure;
  std::vector<ShrinkParameter> parameters;
  std::optional<std::uint64_t> runs;             // budgets: whichever ends first
  std::optional<std::chrono::nanoseconds> time;  // of the wall's clock
};

struct ShrinkSize {
  int ranks = 0;
  std::int64_t rounds = 0;
  std::uint64_t tasks = 0, blocks = 0, events = 0;
  std::uint64_t choices = 0;  // that are not the default
};

struct ShrinkProgress {
  const char* what = "";  // is made smaller now: "ranks", "choices", …
  std::uint64_t runs = 0;
  ShrinkSize size;
};

// How a schedule that passes differs from the small one that fails, in sentences; either may be empty.
struct NearestPass {
  std::vector<std::string> without;  // what the failing one has, and this one takes the default for
  std::vector<std::string> with;     // what this one has
};

struct ShrinkReport {
  bool is_shown = true;  // the failure of the file was shown when it was run again; else nothing else was tried
  Failure failure;       // the small one
  RunResult result;      // of its last run; with is_shown false, of the first
  ShrinkSize before, after;
  std::uint64_t runs = 0;
  bool is_minimal = false;  // everything was tried
  bool interrupted = false;
  std::vector<std::string> words;      // what is left of the choices, a sentence each; empty when the seed had to stay
  std::optional<NearestPass> nearest;  // of what was found within the budget
};

struct Shrinker {
  // Of the program with these parameters. Throws Error when it refuses them.
  std::function<Runner(const Settings&)> make_runner;
  std::function<int(const Settings&)> group_of;  // ranks are a multiple of it
  StrategyMaker strategies;
  std::function<bool()> interrupted = [] { return false; };
  std::function<void(const ShrinkProgress&)> progress = nullptr;
};

// Throws what the runner throws for the failure as it came.
ShrinkReport shrink(const ShrinkConfig& config, const Shrinker& shrinker);

}  // namespace heddle::lab
