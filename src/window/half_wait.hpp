// SPDX-License-Identifier: Apache-2.0
//
// What a half of a mixed block waits for, when it is no signal: its cube core and its vector cores share counts.
#pragma once

#include <cstdint>
#include <heddle/error.hpp>
#include <string>

namespace heddle::window {

struct HalfWait {
  // flag, tile: for one to take. flag_room, tile_room: for the count not to be full. placement: until the other half
  // has been given a core.
  enum class What : std::uint8_t { flag, flag_room, tile, tile_room, placement };
  What what = What::flag;
  bool is_cube = false;       // who waits
  std::uint32_t flag = 0;     // its number
  std::uint32_t part = 0;     // the vector half that waits, or that the cube half waits for
  std::uint32_t vectors = 1;  // vector halves of the block
  Location location;          // of the call
};

// "cube half", "vector half", or "vector half 1" where there are two.
std::string name_of_half(bool is_cube, std::uint32_t part, std::uint32_t vectors);
inline std::string waiter_of(const HalfWait& wait) { return name_of_half(wait.is_cube, wait.part, wait.vectors); }
inline std::string other_of(const HalfWait& wait) { return name_of_half(!wait.is_cube, wait.part, wait.vectors); }

// "flag 3 of cluster 0 (it has 0, needs 1)". `owner`: " of cluster 0", or empty.
std::string name_of(const HalfWait& wait, const std::string& owner, std::int64_t has, std::int64_t needs);

}  // namespace heddle::window
