// SPDX-License-Identifier: Apache-2.0
#include "window/half_wait.hpp"

namespace heddle::window {

std::string name_of_half(bool is_cube, std::uint32_t part, std::uint32_t vectors) {
  if (is_cube) return "cube half";
  return vectors == 1 ? "vector half" : "vector half " + std::to_string(part);
}

std::string name_of(const HalfWait& wait, const std::string& owner, std::int64_t has, std::int64_t needs) {
  const std::string flag = "flag " + std::to_string(wait.flag) + owner;
  const std::string lacks = " (it has " + std::to_string(has) + ", needs " + std::to_string(needs) + ")";
  const std::string full = " (it has " + std::to_string(has) + " of " + std::to_string(needs) + ")";
  switch (wait.what) {
    case HalfWait::What::flag:
      return flag + lacks;
    case HalfWait::What::flag_room:
      return "room in " + flag + full;
    case HalfWait::What::tile:
      return "a tile" + owner + lacks;
    case HalfWait::What::tile_room:
      return "room in a queue of tiles" + owner + full;
    case HalfWait::What::placement:
      break;
  }
  return "its " + other_of(wait) + " to be given a core";
}

}  // namespace heddle::window
