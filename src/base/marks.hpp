// SPDX-License-Identifier: Apache-2.0
//
// States that a test wants to have been reached ("ring_wrapped"). Filled by E::mark in test builds (-DHEDDLE_MARKS on
// the host, always in the lab). Relaxed throughout: a mark must not order the threads that pass it, or it would hide
// the races it is meant to expose.
#pragma once

#include <cstdint>
#include <string_view>

namespace heddle::base::marks {

// `name` must be a string literal. At most 256 different literals are kept; later ones are not counted.
void reach(const char* name) noexcept;

std::uint64_t count(std::string_view name) noexcept;
inline bool reached(std::string_view name) noexcept { return count(name) != 0; }

// Only while no other thread marks.
void clear() noexcept;

}  // namespace heddle::base::marks
