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

/// What a run in the laboratory tells besides.
struct LabOutcome {
  std::string verdict;   ///< "DEADLOCK (proved)"
  std::string sentence;  ///< the verdict in one line; empty of a run that passed
  std::vector<std::string> chain;
  std::vector<std::string> faults;  ///< that struck
  std::string strategy;
  std::uint64_t seed = 0;
  std::uint64_t trace_hash = 0, program_hash = 0;
  std::uint64_t virtual_ns = 0, events = 0, choices = 0;
};

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
  std::string trace, records, snapshot, html;  ///< the files that were written
  std::vector<std::string> chain;              ///< of waits, on the host: as its snapshot tells it, a sentence a step
  std::optional<LabOutcome> lab;
  RingConfig ring;               ///< of each ring
  std::optional<RoomUse> rooms;  ///< what was used of them, the most of any rank; when it was asked for

  bool passed() const { return !error.has_value(); }
};

/// A verdict in capital letters: PASSED, NOT CHECKED, INTERRUPTED, DEADLOCK, NO PROGRESS, CORE STALLED, FAILED; of a
/// run in the laboratory, what it has found.
std::string_view verdict_of(const RunResult& result);

/// The counters of one run of the graph, added to the others'.
void add(RoundStatistics& total, const RoundStatistics& run);

/// The chain of waits and the faults that struck, a line each; empty when there are none.
std::string explanation(const LabOutcome& outcome);
std::string explanation(const std::vector<std::string>& chain);

/// 16 hexadecimal digits.
std::string hash_text(std::uint64_t hash);

/// One line a run.
std::string result_table(const std::vector<RunResult>& results, bool colour);

/// One object a run. With several runs, `all` gives one object that holds them as "runs" and has the fields of the
/// first that failed.
nlohmann::ordered_json to_json(const RunResult& result);
void add_lab(nlohmann::ordered_json& json, const LabOutcome& outcome);
nlohmann::ordered_json all_to_json(const std::vector<RunResult>& results);

}  // namespace heddle::cli
