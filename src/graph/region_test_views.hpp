// SPDX-License-Identifier: Apache-2.0
//
// Random views and the bytes they name, one by one: what the tests of regions compare with.
#pragma once

#include <algorithm>
#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "graph/region.hpp"

namespace heddle::graph::test {

using Extents = std::array<std::int64_t, Region::max_rank>;

struct ViewCase {
  std::uintptr_t base = 0;
  int rank = 0;
  Extents shape{};
  Extents stride{};
  std::uint64_t element = 1;

  Region region() const {
    return Region::from_view(reinterpret_cast<const void*>(base), rank, shape.data(), stride.data(), element);
  }
};

inline std::uint64_t environment_or(const char* name, std::uint64_t fallback) {
  const char* text = std::getenv(name);
  return text == nullptr ? fallback : std::strtoull(text, nullptr, 10);
}

/// The same sequence everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t below(std::uint64_t bound) { return (engine_() >> 8U) % bound; }
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low + 1)));
  }
  bool one_in(std::uint64_t n) { return below(n) == 0; }

 private:
  std::mt19937_64 engine_;
};

// All views of one run lie in [arena_base, arena_base + arena_bytes).
inline constexpr std::uintptr_t arena_base = 0x7000'0001;
inline constexpr std::size_t arena_bytes = 1024;
using Bytes = std::bitset<arena_bytes>;

inline void mark(Bytes& bytes, const ViewCase& view, int d, std::uintptr_t at) {
  if (d == view.rank) {
    for (std::uint64_t b = 0; b < view.element; ++b) bytes.set(at - arena_base + b);
    return;
  }
  const auto i = static_cast<std::size_t>(d);
  for (std::int64_t k = 0; k < view.shape[i]; ++k)
    mark(bytes, view, d + 1, at + static_cast<std::uint64_t>(k * view.stride[i]) * view.element);
}

inline Bytes bytes_of(const ViewCase& view) {
  Bytes bytes;
  mark(bytes, view, 0, view.base);
  return bytes;
}

// A dense row-major tensor somewhere in the arena, then sliced with steps and permuted, as a user would.
inline ViewCase random_view(Random& random) {
  ViewCase view;
  view.element = std::uint64_t{1} << random.below(4);
  view.rank = static_cast<int>(random.between(1, 5));
  const std::int64_t capacity = static_cast<std::int64_t>(arena_bytes / 2 / view.element);
  Extents parent{};
  std::int64_t size = 1;
  for (int d = view.rank; d-- > 0;) {
    const auto i = static_cast<std::size_t>(d);
    parent[i] =
        random.between(1, std::max<std::int64_t>(1, std::min<std::int64_t>(view.rank < 3 ? 24 : 7, capacity / size)));
    view.stride[i] = size;
    size *= parent[i];
  }
  const std::size_t room = arena_bytes - static_cast<std::size_t>(size) * view.element;
  view.base = arena_base + random.below(std::min<std::size_t>(room, 64) + 1);
  for (std::size_t i = 0; i < static_cast<std::size_t>(view.rank); ++i) {
    const std::int64_t first = random.one_in(2) ? 0 : random.between(0, parent[i] - 1);
    const std::int64_t step = random.one_in(2) ? 1 : random.between(1, 3);
    view.shape[i] = random.between(1, (parent[i] - 1 - first) / step + 1);
    view.base += static_cast<std::uint64_t>(first * view.stride[i]) * view.element;
    view.stride[i] *= step;
  }
  for (int d = view.rank - 1; d > 0 && random.one_in(2); --d) {
    const auto i = static_cast<std::size_t>(d);
    const std::size_t other = random.below(i + 1);
    std::swap(view.shape[i], view.shape[other]);
    std::swap(view.stride[i], view.stride[other]);
  }
  return view;
}

inline std::string describe(const ViewCase& view) {
  std::string text = "base " + std::to_string(view.base - arena_base) + " element " + std::to_string(view.element);
  for (std::size_t d = 0; d < static_cast<std::size_t>(view.rank); ++d)
    text += " (" + std::to_string(view.shape[d]) + " by " + std::to_string(view.stride[d]) + ")";
  return text;
}

inline ViewCase dense(std::uintptr_t base, std::vector<std::int64_t> shape, std::uint64_t element) {
  ViewCase view{base, static_cast<int>(shape.size()), {}, {}, element};
  std::int64_t step = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    view.shape[d] = shape[d];
    view.stride[d] = step;
    step *= shape[d];
  }
  return view;
}

}  // namespace heddle::graph::test
