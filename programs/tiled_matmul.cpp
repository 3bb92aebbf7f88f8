// SPDX-License-Identifier: Apache-2.0
//
// C = A B by tiles. Each task multiplies two tiles into a third; that those of one tile of C follow each other, and all
// others may run at the same time, is inferred from the views.
#include "pattern.hpp"
#include "tiles.hpp"

namespace {

using namespace heddle;
using namespace heddle::programs;

struct TiledMatmul {
  Tiling tiling;

  void parameters(ParameterList& list) { tiling.parameters(list); }
  void plan(Plan& plan) const {
    tiling.validate();
    plan.input<float>("a", {tiling.size, tiling.size});
    plan.input<float>("b", {tiling.size, tiling.size});
    plan.output<float>("c", {tiling.size, tiling.size});
  }

  void rank(Orchestrator& graph, const Io& io) const {
    const auto a = io.input<float, 2>("a"), b = io.input<float, 2>("b");
    const auto c = io.output<float, 2>("c");
    for (std::int64_t k = 0; k < tiling.count(); ++k) {
      const Scope scope = graph.scope();
      for (std::int64_t i = 0; i < tiling.count(); ++i)
        for (std::int64_t j = 0; j < tiling.count(); ++j) {
          const auto left = in(tiling(a, i, k)), right = in(tiling(b, k, j));
          const auto sum = tiling(c, i, j);
          if (k == 0)
            graph.submit("multiply", cube_core, multiply_kernel, left, right, out(sum));
          else
            graph.submit("multiply_add", cube_core, multiply_add_kernel, left, right, inout(sum));
        }
    }
  }
  static void multiply_kernel(Block& block, View<const float, 2> a, View<const float, 2> b, View<float, 2> c) {
    if (block.values()) multiply(a, b, c);
  }
  static void multiply_add_kernel(Block& block, View<const float, 2> a, View<const float, 2> b, View<float, 2> c) {
    if (block.values()) multiply_add(a, b, c);
  }

  void fill(HostIo& io) const {
    const auto a = io.input<float>("a"), b = io.input<float>("b");
    const std::size_t size = static_cast<std::size_t>(tiling.size);
    const auto b_row = [&](std::int64_t k) {
      return make_period<float>([&](std::int64_t j) { return b_at(io, k, j); });
    };
    for (std::size_t row = 0; row < size; ++row) {
      const auto i = static_cast<std::int64_t>(row);
      fill_periodic(a.subspan(row * size, size), make_period<float>([&](std::int64_t k) { return a_at(io, i, k); }));
      fill_periodic(b.subspan(row * size, size), b_row(i));
    }
  }

  /// Row i of A depends on i % 97 only, column j of B on j % 97: a table of 97 x 97 dot products says all of C. All
  /// partial sums are integers below 2^24, so that C is exact in any order.
  void check(const HostIo& io) const {
    constexpr auto period = static_cast<std::size_t>(pattern_period);
    std::vector<Period<float>> expected(period);
    std::vector<Period<double>> b_rows;
    for (std::int64_t k = 0; k < pattern_period; ++k)
      b_rows.push_back(make_period<double>([&](std::int64_t j) { return b_at(io, k, j); }));
    for (std::size_t i = 0; i < period; ++i) {
      Period<double> row{};
      for (std::int64_t k = 0; k < tiling.size; ++k) {
        const double factor = static_cast<double>(a_at(io, static_cast<std::int64_t>(i), k));
        const auto& b_row = b_rows[static_cast<std::size_t>(k % pattern_period)];
        for (std::size_t j = 0; j < period; ++j) row[j] += factor * b_row[j];
      }
      for (std::size_t j = 0; j < period; ++j) expected[i][j] = static_cast<float>(row[j]);
    }
    const auto c = io.tensor<float>("c");
    const std::size_t size = static_cast<std::size_t>(tiling.size);
    for (std::size_t i = 0; i < size; ++i)
      expect_periodic(io, "c", c.subspan(i * size, size), expected[i % period], static_cast<std::int64_t>(i * size));
  }

 private:
  /// Small integers that repeat every 97 rows and columns.
  static std::int64_t a_at(const HostIo& io, std::int64_t i, std::int64_t k) {
    return (3 * i + i % pattern_period * k + io.rank() * 7 + io.round() * 13) % pattern_period % 31 - 15;
  }
  static std::int64_t b_at(const HostIo& io, std::int64_t k, std::int64_t j) {
    return (5 * k * k + 11 * j + k % pattern_period * j + io.rank() * 5 + io.round() * 17) % pattern_period % 31 - 15;
  }
};

}  // namespace

HEDDLE_MODULE(heddle::entry<TiledMatmul>("tiled_matmul", "C = A B in tiles, fp32"));
