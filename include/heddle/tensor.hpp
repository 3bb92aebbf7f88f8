// SPDX-License-Identifier: Apache-2.0
//
// Tensors name memory for the orchestrator; views are what kernels read and write. Both are typed strided spans that
// copy nothing. Shapes and strides are 64-bit, strides count elements and are positive, rank is at most 5.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <heddle/error.hpp>
#include <heddle/types.hpp>
#include <initializer_list>
#include <span>
#include <type_traits>
#include <utility>

namespace heddle {

inline constexpr int max_tensor_rank = 5;

namespace detail {

/// The task that allocated a runtime-owned tensor; its scope bounds the tensor's life. Zero for all other memory.
struct Owner {
  std::uint64_t task = 0;
  friend bool operator==(const Owner&, const Owner&) = default;
};

[[noreturn]] void throw_bad_slice(const char* operation, int dimension, std::int64_t first, std::int64_t count,
                                  std::int64_t step, std::int64_t extent);
[[noreturn]] void throw_bad_shape(const char* operation, const std::int64_t* shape, int rank, std::int64_t have);
[[noreturn]] void throw_bad_dimension(const char* operation, int dimension, int rank);
/// Elements of a shape; throws invalid_argument when an extent is negative or the product does not fit 63 bits.
std::int64_t checked_size(const char* operation, const std::int64_t* shape, int rank, std::size_t element_bytes);

template <int N>
using Extents = std::array<std::int64_t, static_cast<std::size_t>(N)>;

/// Pointer, shape and strides; the arithmetic that View and Tensor share.
template <class T, int N>
struct Strided {
  static_assert(N >= 1 && N <= max_tensor_rank, "a tensor has 1 to 5 dimensions");
  static_assert(std::is_trivially_copyable_v<T>, "elements are trivially copyable");

  T* data = nullptr;
  Extents<N> shape{};
  Extents<N> stride{};

  static Strided dense(T* data, const Extents<N>& shape) noexcept {
    Strided result{data, shape, {}};
    std::int64_t step = 1;
    for (auto d = static_cast<std::size_t>(N); d-- > 0;) {
      result.stride[d] = step;
      step *= shape[d] > 0 ? shape[d] : 1;
    }
    return result;
  }

  std::int64_t size() const noexcept {
    std::int64_t product = 1;
    for (auto extent : shape) product *= extent;
    return product;
  }

  bool contiguous() const noexcept {
    std::int64_t step = 1;
    for (auto d = static_cast<std::size_t>(N); d-- > 0;) {
      if (shape[d] != 1 && stride[d] != step) return false;
      step *= shape[d];
    }
    return true;
  }

  void check_dimension(const char* operation, int dimension) const {
    if (dimension < 0 || dimension >= N) throw_bad_dimension(operation, dimension, N);
  }

  /// `count` indices of one dimension, from `first`, every `step`-th.
  Strided slice(const char* operation, int dimension, std::int64_t first, std::int64_t count, std::int64_t step) const {
    check_dimension(operation, dimension);
    const auto d = static_cast<std::size_t>(dimension);
    const bool fits = first >= 0 && count >= 0 && step >= 1 && first <= shape[d] &&
                      (count == 0 || (first < shape[d] && (count - 1) <= (shape[d] - 1 - first) / step));
    if (!fits) throw_bad_slice(operation, dimension, first, count, step, shape[d]);
    Strided result = *this;
    if (count > 0) result.data += first * stride[d];
    result.shape[d] = count;
    result.stride[d] = stride[d] * step;
    return result;
  }

  Strided window(const Extents<N>& offset, const Extents<N>& extent) const {
    Strided result = *this;
    for (int d = 0; d < N; ++d) {
      const auto i = static_cast<std::size_t>(d);
      result = result.slice("view", d, offset[i], extent[i], 1);
    }
    return result;
  }

  Strided permute(const std::array<int, static_cast<std::size_t>(N)>& order) const {
    Strided result = *this;
    unsigned seen = 0;
    for (std::size_t d = 0; d < static_cast<std::size_t>(N); ++d) {
      check_dimension("permute", order[d]);
      seen |= 1U << static_cast<unsigned>(order[d]);
      result.shape[d] = shape[static_cast<std::size_t>(order[d])];
      result.stride[d] = stride[static_cast<std::size_t>(order[d])];
    }
    if (seen != (1U << static_cast<unsigned>(N)) - 1U) throw_invalid("permute: a dimension is named twice");
    return result;
  }

  template <int M>
  Strided<T, M> reshape(const Extents<M>& to) const {
    if (!contiguous()) throw_invalid("reshape: the tensor is not contiguous; reshape a contiguous one, or copy it");
    if (checked_size("reshape", to.data(), M, sizeof(T)) != size()) throw_bad_shape("reshape", to.data(), M, size());
    return Strided<T, M>::dense(data, to);
  }

  template <class U>
  Strided<U, N> cast() const {
    static_assert(std::is_trivially_copyable_v<U>);
    constexpr auto from = static_cast<std::int64_t>(sizeof(T));
    constexpr auto into = static_cast<std::int64_t>(sizeof(U));
    Strided<U, N> result;
    result.data = reinterpret_cast<U*>(data);
    constexpr auto last = static_cast<std::size_t>(N - 1);
    if (stride[last] != 1 || (shape[last] * from) % into != 0)
      throw_invalid("cast: the last dimension must be contiguous and a whole number of the new elements");
    if (reinterpret_cast<std::uintptr_t>(data) % alignof(U) != 0)
      throw_invalid("cast: the memory is not aligned for the new element type");
    for (std::size_t d = 0; d < last; ++d) {
      if ((stride[d] * from) % into != 0) throw_invalid("cast: a stride is not a whole number of the new elements");
      result.shape[d] = shape[d];
      result.stride[d] = stride[d] * from / into;
    }
    result.shape[last] = shape[last] * from / into;
    result.stride[last] = 1;
    return result;
  }
};

template <class... I>
inline constexpr bool all_indices = (std::is_convertible_v<I, std::int64_t> && ...);

}  // namespace detail

/// What a kernel reads or writes. Indexing is checked: an index out of range fails the task with kernel_failed.
template <class T, int N = 1>
class View {
 public:
  using Element = T;
  static constexpr int rank = N;

  View() = default;
  explicit View(const detail::Strided<T, N>& strided) noexcept : s_(strided) {}
  View(T* data, const detail::Extents<N>& shape) noexcept : s_(detail::Strided<T, N>::dense(data, shape)) {}
  operator View<const T, N>() const noexcept
    requires(!std::is_const_v<T>)
  {
    return View<const T, N>(detail::Strided<const T, N>{s_.data, s_.shape, s_.stride});
  }

  T* data() const noexcept { return s_.data; }
  std::int64_t shape(int dimension) const {
    s_.check_dimension("shape", dimension);
    return s_.shape[static_cast<std::size_t>(dimension)];
  }
  /// In elements.
  std::int64_t stride(int dimension) const {
    s_.check_dimension("stride", dimension);
    return s_.stride[static_cast<std::size_t>(dimension)];
  }
  std::int64_t size() const noexcept { return s_.size(); }
  bool contiguous() const noexcept { return s_.contiguous(); }

  template <class... I>
    requires(sizeof...(I) == static_cast<std::size_t>(N) && detail::all_indices<I...>)
  T& operator()(I... index) const {
    const detail::Extents<N> at{static_cast<std::int64_t>(index)...};
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < static_cast<std::size_t>(N); ++d) {
      if (static_cast<std::uint64_t>(at[d]) >= static_cast<std::uint64_t>(s_.shape[d])) [[unlikely]]
        detail::throw_out_of_view(static_cast<int>(d), at[d], s_.shape[d]);
      offset += at[d] * s_.stride[d];
    }
    return s_.data[offset];
  }
  T& operator[](std::int64_t index) const
    requires(N == 1)
  {
    return (*this)(index);
  }

  /// `count` indices of the first dimension.
  View rows(std::int64_t first, std::int64_t count) const { return View(s_.slice("rows", 0, first, count, 1)); }
  View view(const detail::Extents<N>& offset, const detail::Extents<N>& extent) const {
    return View(s_.window(offset, extent));
  }
  View slice(int dimension, std::int64_t first, std::int64_t count, std::int64_t step = 1) const {
    return View(s_.slice("slice", dimension, first, count, step));
  }
  /// All elements in order; the view must be contiguous.
  std::span<T> span() const {
    if (!contiguous()) detail::throw_invalid("span: the view is not contiguous");
    return {s_.data, static_cast<std::size_t>(s_.size())};
  }
  const detail::Strided<T, N>& strided() const noexcept { return s_; }

 private:
  detail::Strided<T, N> s_;
};

/// Names memory on the orchestrator's side: what tasks are submitted with. Never dereferenced there; use
/// Orchestrator::read and write for single elements.
template <class T, int N = 1>
class Tensor {
 public:
  using Element = T;
  static constexpr int rank = N;

  Tensor() = default;
  Tensor(const detail::Strided<T, N>& strided, const detail::Owner& owner) noexcept : s_(strided), owner_(owner) {}
  operator Tensor<const T, N>() const noexcept
    requires(!std::is_const_v<T>)
  {
    return Tensor<const T, N>(detail::Strided<const T, N>{s_.data, s_.shape, s_.stride}, owner_);
  }

  std::int64_t shape(int dimension) const {
    s_.check_dimension("shape", dimension);
    return s_.shape[static_cast<std::size_t>(dimension)];
  }
  std::int64_t stride(int dimension) const {
    s_.check_dimension("stride", dimension);
    return s_.stride[static_cast<std::size_t>(dimension)];
  }
  std::int64_t size() const noexcept { return s_.size(); }
  bool contiguous() const noexcept { return s_.contiguous(); }

  /// A box: offset and extent in each dimension. All of these throw invalid_argument when they leave the tensor.
  Tensor view(const detail::Extents<N>& offset, const detail::Extents<N>& extent) const {
    return {s_.window(offset, extent), owner_};
  }
  Tensor rows(std::int64_t first, std::int64_t count) const { return {s_.slice("rows", 0, first, count, 1), owner_}; }
  /// `count` indices of `dimension`, from `first`, every `step`-th.
  Tensor slice(int dimension, std::int64_t first, std::int64_t count, std::int64_t step = 1) const {
    return {s_.slice("slice", dimension, first, count, step), owner_};
  }
  Tensor transpose(int left, int right) const {
    s_.check_dimension("transpose", left);
    s_.check_dimension("transpose", right);
    std::array<int, static_cast<std::size_t>(N)> order{};
    for (std::size_t d = 0; d < static_cast<std::size_t>(N); ++d) order[d] = static_cast<int>(d);
    std::swap(order[static_cast<std::size_t>(left)], order[static_cast<std::size_t>(right)]);
    return {s_.permute(order), owner_};
  }
  Tensor permute(const std::array<int, static_cast<std::size_t>(N)>& order) const {
    return {s_.permute(order), owner_};
  }
  /// Contiguous tensors only; the number of elements stays.
  template <class... I>
    requires detail::all_indices<I...>
  Tensor<T, static_cast<int>(sizeof...(I))> reshape(I... extent) const {
    constexpr int M = static_cast<int>(sizeof...(I));
    return {s_.template reshape<M>(detail::Extents<M>{static_cast<std::int64_t>(extent)...}), owner_};
  }
  /// The same bytes as elements of another type.
  template <class U>
  Tensor<std::conditional_t<std::is_const_v<T>, const U, U>, N> cast() const {
    return {s_.template cast<std::conditional_t<std::is_const_v<T>, const U, U>>(), owner_};
  }

  const detail::Strided<T, N>& strided() const noexcept { return s_; }
  const detail::Owner& owner() const noexcept { return owner_; }

 private:
  detail::Strided<T, N> s_;
  detail::Owner owner_;
};

/// Wraps memory of the caller's as a tensor. It must outlive the round; `in` and `out` on it order tasks as on any
/// other.
template <class T, class... I>
  requires detail::all_indices<I...>
Tensor<T, static_cast<int>(sizeof...(I))> wrap(T* data, I... extent) {
  constexpr int N = static_cast<int>(sizeof...(I));
  const detail::Extents<N> shape{static_cast<std::int64_t>(extent)...};
  if (detail::checked_size("wrap", shape.data(), N, sizeof(T)) > 0 && data == nullptr)
    detail::throw_invalid("wrap: the memory is null");
  return {detail::Strided<T, N>::dense(data, shape), detail::Owner{}};
}

}  // namespace heddle
