// SPDX-License-Identifier: Apache-2.0
//
// A snapshot as JSON: docs/snapshot.md. What is read may come from anywhere: memory and time stay within bounds, and
// nothing but heddle::Error is thrown for what it says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "snapshot/snapshot.hpp"

namespace heddle::snapshot {

// Of a name or a sentence; of a longer one the beginning is read.
inline constexpr std::size_t text_bytes_most = 4096;

struct Limits {
  std::size_t bytes = std::size_t{256} << 20U;
  std::uint64_t values = 20'000'000;        // of the whole file
  std::uint64_t values_of_one = 1'000'000;  // of one record
  std::uint64_t records = 4'000'000;        // of all lists
  int depth = 16;
};

// One record a line. Bytes that are not UTF-8 are replaced.
std::string to_json(const Snapshot& snapshot);

// A file that is cut off gives what stands before the cut, and a note that says so. Throws Error(invalid_argument) with
// one line that begins with where it is, as "/tasks/3/rank": no snapshot, of a later version, a wrong type, a reference
// to what is not there, the same record twice, tasks that wait for each other's end, too large.
Snapshot parse(std::string_view text, const Limits& limits = {});

// Throws Error(invalid_argument) with the path, and the system's reason or what parse() says.
Snapshot read(const std::string& path, const Limits& limits = {});

// What parse() checks once all is there. `is_partial`: references to what is missing are dropped, with a note.
void check_references(Snapshot& snapshot, bool is_partial);

}  // namespace heddle::snapshot
