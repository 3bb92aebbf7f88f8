// SPDX-License-Identifier: Apache-2.0
//
// For tests that make programs at random: numbers that are the same everywhere, where they begin, and how many
// programs.
#pragma once

#include <cstdint>
#include <cstdlib>

#include "base/sanitizer.hpp"

namespace heddle::test {

// Splitmix: small, and the same everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() { return scramble(state_ += 0x9e3779b97f4a7c15U); }
  // In [0, end).
  int below(int end) { return static_cast<int>(next() % static_cast<std::uint64_t>(end)); }
  // In [first, last].
  int between(int first, int last) { return first + below(last - first + 1); }
  bool chance(int percent) { return below(100) < percent; }
  static std::uint64_t scramble(std::uint64_t z) {
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }

 private:
  std::uint64_t state_;
};

inline std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 0);
}
inline std::uint64_t first_seed() { return from_environment("HEDDLE_SEED", 20'000'000); }
// `most` where the compiler optimizes and nothing watches.
inline std::uint64_t number_of_programs(std::uint64_t most) {
#if defined(__OPTIMIZE__) && !HEDDLE_ASAN && !HEDDLE_TSAN
  return from_environment("HEDDLE_GRAPHS", most);
#else
  return from_environment("HEDDLE_GRAPHS", most / 20);
#endif
}

}  // namespace heddle::test
