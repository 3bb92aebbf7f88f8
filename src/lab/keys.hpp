// SPDX-License-Identifier: Apache-2.0
//
// Hashes that mean the same on every machine: names of choices, and the numbers that a strategy draws from them.
#pragma once

#include <cstdint>
#include <string_view>

namespace heddle::lab {

// SplitMix64's finish: every bit of the value reaches every bit of the result.
constexpr std::uint64_t scramble(std::uint64_t value) noexcept {
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31U);
}

constexpr std::uint64_t combine(std::uint64_t left, std::uint64_t right) noexcept {
  return scramble((left ^ (left >> 32U)) * 0x9e3779b97f4a7c15U + right + 0x632be59bd9b4e019U);
}

// Of the name of an agent or the text of a label: FNV-1a, scrambled.
constexpr std::uint64_t key_of(std::string_view text) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3U;
  return scramble(hash);
}

// In [0, n), for n below 2^32: uniform up to n / 2^32.
constexpr std::uint32_t below(std::uint64_t hash, std::uint32_t n) noexcept {
  return static_cast<std::uint32_t>(((hash >> 32U) * n) >> 32U);
}

}  // namespace heddle::lab
