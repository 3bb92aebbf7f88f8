// SPDX-License-Identifier: Apache-2.0
//
// A failure as a file that a person can read and that makes the run again: what was run, how it was decided, and what
// came of it. docs/failure-file.md describes the format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lab/choice.hpp"
#include "lab/run.hpp"

namespace heddle::lab {

using Settings = std::vector<std::pair<std::string, std::string>>;

// How the run is decided: by a strategy with a seed, or by a list of the choices that are not the default.
struct Schedule {
  std::string strategy = "random";
  std::uint64_t seed = 1;
  std::uint64_t length_hint = 0;  // what the strategy is told of the run's length
  bool is_list = false;
  bool by_time = true;  // of a list: whether events are taken in the order of their time
  std::vector<TakenChoice> choices;
  friend bool operator==(const Schedule&, const Schedule&) = default;
};

struct Failure {
  std::string program;
  std::string module;   // the path that it was loaded from; empty when it was found by its name
  std::string variant;  // for people: its settings are among `settings`
  Settings settings;    // in the order in which they are set
  RunSpec spec;
  Schedule schedule;

  Verdict verdict = Verdict::failed;
  std::uint16_t code = 0;
  std::string sentence;
  std::uint64_t trace_hash = 0;
  std::uint64_t program_hash = 0;
};

inline constexpr int failure_schema = 1;
inline constexpr std::size_t failure_bytes_most = std::size_t{16} << 20U;

// "deadlock", as the file names it. verdict_of returns false when there is none of that name.
std::string_view word_of(Verdict verdict) noexcept;
bool verdict_of(std::string_view word, Verdict& verdict) noexcept;

std::string to_text(const Failure& failure);

// Throws Error(invalid_argument) with one line that begins with the line's number: another version, edited, cut off,
// a key or value that is not known, too large.
Failure parse_failure(std::string_view text);

// Throws Error(user_error) with the path and the system's reason. The file appears whole or not at all.
void write_failure(const std::string& path, const Failure& failure);
// Throws Error(invalid_argument) with the path, and what parse_failure says.
Failure read_failure(const std::string& path);

}  // namespace heddle::lab
