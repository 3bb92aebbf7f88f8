// SPDX-License-Identifier: Apache-2.0
//
// What came of a run, and how it is shown: a table for people, an object for tools.
#pragma once

#include <chrono>
#include <cstdint>
#include <heddle/error.hpp>
#include <heddle/session.hpp>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::cli {

struct RunResult {
  std::string program;
  std::string variant;  ///< empty when the program was not run by a row of its matrix
  std::string backend;
  int ranks = 0;
  int threads = 0;
  std::int64_t rounds = 0;           ///< asked for
  std::int64_t rounds_done = 0;      ///< run and checked
  RoundStatistics total;             ///< of the rounds done; elapsed is the time within rounds
  std::chrono::nanoseconds wall{0};  ///< with filling and checking
  bool checked = true;
  bool interrupted = false;
  std::optional<Error> error;
  std::string trace;  ///< the file that was written

  bool passed() const { return !error.has_value(); }
};

/// A verdict in capital letters: PASSED, NOT CHECKED, INTERRUPTED, DEADLOCK, NO PROGRESS, CORE STALLED, FAILED.
std::string_view verdict_of(const RunResult& result);

/// The counters of one run of the graph, added to the others'.
void add(RoundStatistics& total, const RoundStatistics& run);

/// One line a run.
std::string result_table(const std::vector<RunResult>& results, bool colour);

/// One object a run. With several runs, `all` gives one object that holds them as "runs" and has the fields of the
/// first that failed.
nlohmann::ordered_json to_json(const RunResult& result);
nlohmann::ordered_json all_to_json(const std::vector<RunResult>& results);

}  // namespace heddle::cli
