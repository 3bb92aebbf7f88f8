// SPDX-License-Identifier: Apache-2.0
#include "tests/random_views.hpp"

#include <algorithm>
#include <heddle/tensor.hpp>
#include <numeric>
#include <utility>

namespace heddle::random_graph {

namespace {

// Views are made over this memory; only where they lie in it is kept.
alignas(64) std::byte ground[buffer_bytes_most];

template <class T, int N, std::size_t... D>
Tensor<T, N> shaped(T* data, const std::array<std::int64_t, 5>& shape, bool by_reshape, std::index_sequence<D...>) {
  if (!by_reshape) return wrap(data, shape[D]...);
  return wrap(data, (std::int64_t{1} * ... * shape[D])).reshape(shape[D]...);
}

// `shape` counts elements of T; the last extent is a whole number of 8 bytes.
template <class T, int N>
Tensor<T, N> based(Random& random, std::byte* data, std::array<std::int64_t, 5> shape) {
  const auto dimensions = std::make_index_sequence<static_cast<std::size_t>(N)>();
  const bool by_reshape = random.chance(50);
  auto& last = shape[static_cast<std::size_t>(N - 1)];
  switch (random.below(3)) {
    case 0:
      last *= static_cast<std::int64_t>(sizeof(T));
      return shaped<std::uint8_t, N>(reinterpret_cast<std::uint8_t*>(data), shape, by_reshape, dimensions)
          .template cast<T>();
    case 1:
      last = last * static_cast<std::int64_t>(sizeof(T)) / 8;
      return shaped<std::uint64_t, N>(reinterpret_cast<std::uint64_t*>(data), shape, by_reshape, dimensions)
          .template cast<T>();
    default:
      return shaped<T, N>(reinterpret_cast<T*>(data), shape, by_reshape, dimensions);
  }
}

template <class T, int N>
Tensor<T, N> narrowed(Random& random, Tensor<T, N> tensor) {
  if (random.chance(40)) {
    std::array<int, static_cast<std::size_t>(N)> order{};
    std::iota(order.begin(), order.end(), 0);
    for (int d = N - 1; d > 0; --d)
      std::swap(order[static_cast<std::size_t>(d)], order[static_cast<std::size_t>(random.below(d + 1))]);
    tensor = tensor.permute(order);
  }
  if (random.chance(60)) {
    heddle::detail::Extents<N> offset{}, extent{};
    for (int d = 0; d < N; ++d) {
      const auto i = static_cast<std::size_t>(d);
      const int have = static_cast<int>(tensor.shape(d));
      offset[i] = random.chance(50) ? 0 : random.below(have);
      extent[i] = random.between(1, have - static_cast<int>(offset[i]));
    }
    tensor = tensor.view(offset, extent);
  }
  if (random.chance(50)) {
    const int dimension = random.below(N);
    const int have = static_cast<int>(tensor.shape(dimension));
    const int step = random.between(1, 3);
    const int first = random.below(std::min(have, step));
    tensor = tensor.slice(dimension, first, random.between(1, (have - 1 - first) / step + 1), step);
  }
  if (N > 1 && random.chance(20)) tensor = tensor.transpose(0, random.below(N));
  return tensor;
}

template <class T, int N>
Layout kept(const Tensor<T, N>& tensor, int type) {
  Layout layout;
  layout.offset = reinterpret_cast<const std::byte*>(tensor.strided().data) - ground;
  layout.rank = N;
  layout.type = type;
  std::copy(tensor.strided().shape.begin(), tensor.strided().shape.end(), layout.shape.begin());
  std::copy(tensor.strided().stride.begin(), tensor.strided().stride.end(), layout.stride.begin());
  return layout;
}

template <class T, int N>
Layout make(Random& random, int type, int bytes) {
  constexpr auto size = static_cast<std::int64_t>(sizeof(T));
  constexpr auto last = static_cast<std::size_t>(N - 1);
  std::array<std::int64_t, 5> shape;
  shape.fill(1);
  int first = 0, length = bytes;
  const int style = random.below(10);
  if (style < 3 && bytes >= 64) {  // a contiguous tile
    first = 64 * random.below(bytes / 64);
    shape[last] = 64 / size;
    return kept(based<T, N>(random, ground + first, shape), type);
  }
  if (style < 4 && N > 1 && bytes >= 64) {  // a column of rows of 32 bytes
    shape[last] = 32 / size;
    shape[last - 1] = bytes / 32;
    const int column = 8 * random.below(4);
    const auto rows = based<T, N>(random, ground, shape);
    return kept(rows.slice(N - 1, column / size, 8 / size), type);
  }
  if (style < 7) {
    first = 8 * random.below(bytes / 8);
    length = 8 * random.between(1, (bytes - first) / 8);
  }
  int words = length / 8;
  for (std::size_t d = 0; d < last; ++d) {
    shape[d] = random.between(1, std::min(4, words));
    words /= static_cast<int>(shape[d]);
  }
  shape[last] = words * 8 / size;
  return kept(narrowed(random, based<T, N>(random, ground + first, shape)), type);
}

using Maker = Layout (*)(Random&, int, int);
template <std::size_t... I>
constexpr std::array<Maker, sizeof...(I)> makers(std::index_sequence<I...>) {
  return {&make<std::tuple_element_t<I / 5, Types>, static_cast<int>(I % 5) + 1>...};
}

}  // namespace

Layout random_layout(Random& random, int type, int rank, int buffer_bytes) {
  static constexpr auto table = makers(std::make_index_sequence<static_cast<std::size_t>(type_count) * 5>());
  return table[static_cast<std::size_t>(type * 5 + rank - 1)](random, type, buffer_bytes);
}

Layout whole_layout(int type, int rank, int buffer_bytes) {
  Layout layout;
  layout.rank = rank;
  layout.type = type;
  const std::int64_t elements = buffer_bytes / type_bytes[static_cast<std::size_t>(type)];
  for (int d = 0; d < rank; ++d) {
    layout.shape[static_cast<std::size_t>(d)] = d == rank - 1 ? elements : 1;
    layout.stride[static_cast<std::size_t>(d)] = d == rank - 1 ? 1 : elements;
  }
  return layout;
}

ByteSet bytes_of(const Layout& layout) {
  ByteSet bytes;
  const std::int64_t size = type_bytes[static_cast<std::size_t>(layout.type)];
  std::array<std::int64_t, 5> at{};
  for (;;) {
    std::int64_t place = 0;
    for (std::size_t d = 0; d < static_cast<std::size_t>(layout.rank); ++d) {
      if (layout.shape[d] == 0) return bytes;
      place += at[d] * layout.stride[d];
    }
    for (std::int64_t b = 0; b < size; ++b) bytes.set(static_cast<std::size_t>(layout.offset + place * size + b));
    int d = layout.rank - 1;
    while (d >= 0 && ++at[static_cast<std::size_t>(d)] == layout.shape[static_cast<std::size_t>(d)])
      at[static_cast<std::size_t>(d--)] = 0;
    if (d < 0) return bytes;
  }
}

}  // namespace heddle::random_graph
