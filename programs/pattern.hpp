// SPDX-License-Identifier: Apache-2.0
//
// Test data that repeats with a short period, so that a megabyte of it is written and compared, element by element, at
// the speed of memory.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <heddle/heddle.hpp>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace heddle::programs {

/// One period of a sequence: element i of the sequence is period[i % 97]. A prime, so that no tile, row or chunk of a
/// sensible size looks like its neighbour.
inline constexpr std::int64_t pattern_period = 97;
template <class T>
using Period = std::array<T, static_cast<std::size_t>(pattern_period)>;

/// The period whose element i is value(i), an integer that T holds exactly.
template <class T, class Value>
Period<T> make_period(Value value) {
  Period<T> period;
  for (std::int64_t i = 0; i < pattern_period; ++i)
    period[static_cast<std::size_t>(i)] = static_cast<T>(static_cast<float>(value(i)));
  return period;
}

/// Writes the sequence.
template <class T>
void fill_periodic(std::span<T> data, const Period<T>& period) {
  constexpr std::size_t longest_copy = pattern_period * 64;  // stays in the nearest cache
  std::size_t done = std::min(period.size(), data.size());
  std::copy_n(period.begin(), done, data.begin());
  while (done < data.size()) {
    const std::size_t count = std::min({done, longest_copy, data.size() - done});
    std::memcpy(data.data() + done, data.data(), count * sizeof(T));
    done += count;
  }
}

/// The index of the first element that is not the sequence's, bit by bit; -1 when all are.
template <class T>
std::int64_t first_difference(std::span<const T> data, const Period<T>& period) {
  // All are right exactly if the first period is, and each later element equals the one a period before it.
  const std::size_t head = std::min(period.size(), data.size());
  if (std::memcmp(data.data(), period.data(), head * sizeof(T)) == 0 &&
      std::memcmp(data.data() + head, data.data(), (data.size() - head) * sizeof(T)) == 0)
    return -1;
  std::size_t i = 0;
  while (std::memcmp(&data[i], &period[i % period.size()], sizeof(T)) == 0) ++i;
  return static_cast<std::int64_t>(i);
}

/// The shortest text that names this value and no other of its type.
template <class T>
std::string text_of(T value) {
  if constexpr (std::is_same_v<T, bf16>) return text_of(static_cast<float>(value));
  char text[32];
  if constexpr (std::is_arithmetic_v<T>) return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

/// Fails the check, naming the element, unless `data` is the sequence. `first` is the index that data[0] is reported
/// as.
template <class T>
void expect_periodic(const HostIo& io, std::string_view name, std::span<const T> data, const Period<T>& period,
                     std::int64_t first = 0) {
  const std::int64_t i = first_difference(data, period);
  if (i < 0) return;
  io.expect(false, std::string(name) + "[" + std::to_string(first + i) + "] is " +
                       text_of(data[static_cast<std::size_t>(i)]) + ", expected " +
                       text_of(period[static_cast<std::size_t>(i % pattern_period)]));
}

/// The same for one element.
template <class T>
void expect_equal(const HostIo& io, std::string_view name, std::int64_t index, T actual, T expected) {
  if (actual == expected) return;
  io.expect(false, std::string(name) + "[" + std::to_string(index) + "] is " + text_of(actual) + ", expected " +
                       text_of(expected));
}

}  // namespace heddle::programs
