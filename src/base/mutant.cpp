// SPDX-License-Identifier: Apache-2.0
#include "base/mutant.hpp"

#include <array>
#include <cstddef>
#include <stdexcept>

namespace heddle::base::mutants {

namespace {

struct Set {
  std::array<const char*, 8> places{};
  std::size_t count = 0;
};

Set& active_set() noexcept {
  static Set set;
  return set;
}

}  // namespace

void activate(const char* place) {
  Set& set = active_set();
  if (set.count == set.places.size()) throw std::length_error("too many active mutants");
  set.places[set.count] = place;
  ++set.count;
}

void clear() noexcept { active_set().count = 0; }

bool active(std::string_view place) noexcept {
  const Set& set = active_set();
  for (std::size_t index = 0; index < set.count; ++index) {
    if (place == set.places[index]) return true;
  }
  return false;
}

}  // namespace heddle::base::mutants
