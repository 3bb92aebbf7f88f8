// SPDX-License-Identifier: Apache-2.0
//
// States that a test wants to have been reached ("ring_wrapped"). Filled by E::mark in test builds (-DHEDDLE_MARKS on
// the host, always in the lab). Relaxed throughout: a mark must not order the threads that pass it, or it would hide
// the races it is meant to expose.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace heddle::base::marks {

// `name` must be a string literal. At most 256 different literals are kept; later ones are not counted.
void reach(const char* name) noexcept;

std::uint64_t count(std::string_view name) noexcept;
inline bool reached(std::string_view name) noexcept { return count(name) != 0; }

// Every state that was reached, in the order of the names. While others mark, a count may be behind.
std::vector<std::pair<std::string_view, std::uint64_t>> all();

// Only while no other thread marks.
void clear() noexcept;

}  // namespace heddle::base::marks
