// SPDX-License-Identifier: Apache-2.0
//
// The least ring sizes with which a program passes: searched for each ring resource, explored at the sizes found, and
// proved to be least by a failure at one step below.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <heddle/session.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lab/schedule.hpp"

namespace heddle::lab {

enum class RingResource : std::uint8_t { task_window, heap_bytes, dep_pool };
inline constexpr std::array ring_resources{RingResource::task_window, RingResource::heap_bytes, RingResource::dep_pool};

const char* name_of(RingResource resource) noexcept;    // "task_window"
std::uint64_t step_of(RingResource resource) noexcept;  // in which it is searched: also the least there is
std::uint64_t size_of(const RingConfig& ring, RingResource resource) noexcept;
void set_size(RingConfig& ring, RingResource resource, std::uint64_t size) noexcept;

struct SizeConfig {
  RunSpec spec;  // its ring sizes are the largest that are tried
  std::vector<std::string> strategies = {"random", "pct", "delay", "walk"};
  std::uint64_t seed = 1;
  std::uint64_t schedules =
      100;  // explored at the sizes found; schedule i has strategy i modulo theirs, seed `seed + i`
};

// A run, and how it was decided.
struct SizedRun {
  RunSpec spec;
  Schedule schedule;
  RunResult result;
};

struct LeastSize {
  RingResource resource = RingResource::task_window;
  std::uint64_t size = 0;
  std::optional<SizedRun> below;  // what fails at one step below; none: `size` is the least there is
};

struct SizeReport {
  std::optional<std::array<LeastSize, 3>> least;  // with which all `schedules` passed
  std::uint64_t schedules = 0;                    // that were explored at those sizes
  std::uint64_t runs = 0;                         // in all
  std::optional<SizedRun> failure;  // the program fails at the sizes given, or by something else than its rings
  bool interrupted = false;
};

struct Sizer {
  Runner runner;
  StrategyMaker strategies;
  std::function<bool()> interrupted = [] { return false; };
  // What is tried now, and how many runs there were.
  std::function<void(const RingConfig&, std::uint64_t runs)> progress = [](const RingConfig&, std::uint64_t) {};
};

// Throws Error(invalid_argument) for a configuration out of range, and what the runner throws.
SizeReport find_sizes(const SizeConfig& config, const Sizer& sizer);

}  // namespace heddle::lab
