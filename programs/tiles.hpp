// SPDX-License-Identifier: Apache-2.0
//
// Dense tile kernels in single precision over views of row-major matrices.
#pragma once

#include <heddle/heddle.hpp>

// A kernel runs on a small stack: Eigen's temporaries beyond this come from the heap.
#ifndef EIGEN_STACK_ALLOCATION_LIMIT
#define EIGEN_STACK_ALLOCATION_LIMIT 16384
#endif
#ifndef EIGEN_DONT_PARALLELIZE
#define EIGEN_DONT_PARALLELIZE
#endif
#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace heddle::programs {

template <class T>
using RowMajor = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// A view as an Eigen matrix. Contiguous within a row.
template <class T>
auto matrix(const View<T, 2>& view) {
  using Element = std::remove_const_t<T>;
  using Matrix = std::conditional_t<std::is_const_v<T>, const RowMajor<Element>, RowMajor<Element>>;
  return Eigen::Map<Matrix, Eigen::Unaligned, Eigen::OuterStride<>>(view.data(), view.shape(0), view.shape(1),
                                                                    Eigen::OuterStride<>(view.stride(0)));
}

/// c = a b
inline void multiply(const View<const float, 2>& a, const View<const float, 2>& b, const View<float, 2>& c) {
  matrix(c).noalias() = matrix(a) * matrix(b);
}
/// c += a b
inline void multiply_add(const View<const float, 2>& a, const View<const float, 2>& b, const View<float, 2>& c) {
  matrix(c).noalias() += matrix(a) * matrix(b);
}
/// c -= a b^T
inline void multiply_transposed_subtract(const View<const float, 2>& a, const View<const float, 2>& b,
                                         const View<float, 2>& c) {
  matrix(c).noalias() -= matrix(a) * matrix(b).transpose();
}
/// The lower half of c -= a a^T
inline void square_subtract(const View<const float, 2>& a, const View<float, 2>& c) {
  auto result = matrix(c);
  result.selfadjointView<Eigen::Lower>().rankUpdate(matrix(a), -1.0F);
}
/// a = a l^-T
inline void solve_transposed(const View<const float, 2>& l, const View<float, 2>& a) {
  auto result = matrix(a);
  matrix(l).transpose().triangularView<Eigen::Upper>().solveInPlace<Eigen::OnTheRight>(result);
}
/// a = l, the lower factor of a = l l^T; zeros above the diagonal. Reads the lower half of a only.
inline void factorize(const View<float, 2>& a) {
  auto result = matrix(a);
  Eigen::Ref<RowMajor<float>, 0, Eigen::OuterStride<>> in_place(result);
  const Eigen::LLT<decltype(in_place)> factor(in_place);
  if (factor.info() != Eigen::Success) throw std::domain_error("the matrix is not positive definite");
  result.triangularView<Eigen::StrictlyUpper>().setZero();
}

/// A square matrix cut into square tiles; the last row and column of tiles may be smaller.
struct Tiling {
  std::int64_t size = 1024, tile = 128;

  std::int64_t count() const { return (size + tile - 1) / tile; }
  std::int64_t extent(std::int64_t index) const { return std::min(tile, size - index * tile); }
  template <class T>
  Tensor<T, 2> operator()(const Tensor<T, 2>& matrix, std::int64_t row, std::int64_t column) const {
    return matrix.view({row * tile, column * tile}, {extent(row), extent(column)});
  }

  void parameters(ParameterList& list) {
    list.add("size", size, "rows and columns of the matrices", 1, 16384);
    list.add("tile", tile, "rows and columns of a tile", 1, 16384);
  }
  void validate() const {
    if (count() > 64)
      detail::throw_invalid("tile: " + std::to_string(tile) + " cuts " + std::to_string(size) +
                            " rows into more than 64 tiles; use at least " + std::to_string((size + 63) / 64));
  }
};

}  // namespace heddle::programs
