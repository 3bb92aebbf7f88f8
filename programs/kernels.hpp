// SPDX-License-Identifier: Apache-2.0
//
// Small kernels and pieces of kernels that several programs use.
#pragma once

#include <algorithm>
#include <cstdint>
#include <heddle/heddle.hpp>
#include <utility>

namespace heddle::programs {

/// Copies a view into one of the same shape. Both are contiguous within a row.
template <class T>
void copy(const View<const T, 2>& from, const View<T, 2>& to) {
  for (std::int64_t row = 0; row < to.shape(0); ++row)
    std::copy_n(from.data() + row * from.stride(0), to.shape(1), to.data() + row * to.stride(0));
}
template <class T>
void copy(const View<const T>& from, const View<T>& to) {
  std::copy_n(from.data(), to.size(), to.data());
}

/// sum += term, with float arithmetic.
template <class T>
void add_to(const View<T>& sum, const View<const T>& term) {
  T* const to = sum.data();
  const T* const from = term.data();
  for (std::int64_t i = 0, count = sum.size(); i < count; ++i)
    to[i] = static_cast<T>(static_cast<float>(to[i]) + static_cast<float>(from[i]));
}

/// The whole of a view, as a kernel.
template <class T>
void copy_all(Block& block, View<const T> from, View<T> to) {
  if (block.values()) copy(from, to);
}

/// This block's share of `count` elements: where it starts, and how long it is.
inline std::pair<std::int64_t, std::int64_t> share(const Block& block, std::int64_t count) {
  const std::int64_t first = count * block.index() / block.count();
  return {first, count * (block.index() + 1) / block.count() - first};
}

}  // namespace heddle::programs
