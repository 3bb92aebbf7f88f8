// SPDX-License-Identifier: Apache-2.0
//
// A = L L^T by tiles, the classic of task graphs: what may run at the same time changes from step to step, and is
// inferred from which tiles a task reads and writes.
#include <cmath>
#include <limits>

#include "pattern.hpp"
#include "tiles.hpp"

namespace {

using namespace heddle;
using namespace heddle::programs;

struct TiledCholesky {
  Tiling tiling;

  void parameters(ParameterList& list) { tiling.parameters(list); }
  void plan(Plan& plan) const {
    tiling.validate();
    plan.input<float>("a", {tiling.size, tiling.size});
    plan.output<float>("l", {tiling.size, tiling.size});
  }

  void rank(Orchestrator& graph, const Io& io) const {
    const auto a = io.input<float, 2>("a");
    const auto l = io.output<float, 2>("l");
    const std::int64_t count = tiling.count();
    const auto tile = [&](std::int64_t i, std::int64_t j) { return tiling(l, i, j); };
    load(graph, a, l);
    for (std::int64_t k = 0; k < count; ++k) {
      const Scope scope = graph.scope();
      graph.submit("factorize", cube_core, factorize_kernel, inout(tile(k, k)));
      for (std::int64_t i = k + 1; i < count; ++i)
        graph.submit("solve", cube_core, solve_kernel, in(tile(k, k)), inout(tile(i, k)));
      for (std::int64_t i = k + 1; i < count; ++i) {
        for (std::int64_t j = k + 1; j < i; ++j)
          graph.submit("update", cube_core, update_kernel, in(tile(i, k)), in(tile(j, k)), inout(tile(i, j)));
        graph.submit("square", cube_core, square_kernel, in(tile(i, k)), inout(tile(i, i)));
      }
    }
  }

  /// L starts as the lower half of A, with zeros above the diagonal.
  void load(Orchestrator& graph, const Tensor<const float, 2>& a, const Tensor<float, 2>& l) const {
    const Scope scope = graph.scope();
    for (std::int64_t i = 0; i < tiling.count(); ++i)
      for (std::int64_t j = 0; j < tiling.count(); ++j) {
        if (j <= i)
          graph.submit("load", vector_core, load_kernel, in(tiling(a, i, j)), out(tiling(l, i, j)));
        else
          graph.submit("zero", vector_core, zero_kernel, out(tiling(l, i, j)));
      }
  }

  static void load_kernel(Block& block, View<const float, 2> from, View<float, 2> to) {
    if (block.values()) matrix(to) = matrix(from);
  }
  static void zero_kernel(Block& block, View<float, 2> to) {
    if (block.values()) matrix(to).setZero();
  }
  static void factorize_kernel(Block& block, View<float, 2> a) {
    if (block.values()) factorize(a);
  }
  static void solve_kernel(Block& block, View<const float, 2> l, View<float, 2> a) {
    if (block.values()) solve_transposed(l, a);
  }
  static void square_kernel(Block& block, View<const float, 2> a, View<float, 2> c) {
    if (block.values()) square_subtract(a, c);
  }
  static void update_kernel(Block& block, View<const float, 2> a, View<const float, 2> b, View<float, 2> c) {
    if (block.values()) multiply_transposed_subtract(a, b, c);
  }

  void fill(HostIo& io) const {
    const auto a = io.input<float>("a");
    const Entry entry(io, tiling);
    for (int i = 0, size = static_cast<int>(tiling.size); i < size; ++i) {
      float* const row = a.data() + tiling.size * i;
      for (int j = 0; j < size; ++j) row[j] = entry(i, j);
    }
  }

  /// Zeros above the diagonal, and L L^T, multiplied in double, gives A back.
  void check(const HostIo& io) const {
    const auto values = io.tensor<float>("l");
    const int size = static_cast<int>(tiling.size), block = 128;
    const RowMajor<double> l = matrix(View<const float, 2>(values.data(), {size, size})).cast<double>();
    for (int i = 0; i < size; ++i)
      for (int j = i + 1; j < size; ++j)
        if (l(i, j) != 0) fail(io, "l", i, j, l(i, j));
    for (int i = 0; i < size; i += block)
      for (int j = 0; j <= i; j += block) {
        const int rows = std::min(block, size - i), columns = std::min(block, size - j), inner = j + columns;
        check_block(io, i, j, l.block(i, 0, rows, inner) * l.block(j, 0, columns, inner).transpose());
      }
  }

 private:
  /// Element (i, j) of A: symmetric, entries of about 0.75, dominated by its diagonal, so that it is positive definite
  /// and far from singular.
  struct Entry {
    Entry(const HostIo& io, const Tiling& tiling)
        : shift(static_cast<int>((io.rank() * 5 + io.round() * 13) % 61)), diagonal(static_cast<float>(tiling.size)) {}
    float operator()(int i, int j) const {
      const int value = (7 * (i + j) + 3 * (i > j ? i - j : j - i) + shift) % 61;
      return 0.25F + static_cast<float>(value) / 61.0F + (i == j ? diagonal : 0.0F);
    }
    int shift;
    float diagonal;
  };

  /// One block of L L^T, whose first element is (row, column), against the lower half of A.
  void check_block(const HostIo& io, int row, int column, const RowMajor<double>& product) const {
    const Entry entry(io, tiling);
    // A few units in the last place of the largest partial results: the size on the diagonal, about 1 elsewhere, where
    // `size` of them are summed.
    const double unit = static_cast<double>(std::numeric_limits<float>::epsilon()) * static_cast<double>(tiling.size);
    for (int i = row; i < row + product.rows(); ++i)
      for (int j = column; j < column + product.cols() && j <= i; ++j) {
        const double error = product(i - row, j - column) - static_cast<double>(entry(i, j));
        if (!(std::abs(error) <= (i == j ? 16 : 2) * unit)) fail(io, "(l l^T - a)", i, j, error);
      }
  }
  static void fail(const HostIo& io, const char* what, int i, int j, double value) {
    io.expect(false, std::string(what) + "[" + std::to_string(i) + "," + std::to_string(j) + "] is " + text_of(value) +
                         ", expected 0");
  }
};

}  // namespace

HEDDLE_MODULE(heddle::entry<TiledCholesky>("tiled_cholesky", "A = L L^T in tiles, fp32"));
