// SPDX-License-Identifier: Apache-2.0
#include "common/tiles.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>

namespace heddle::bench {
namespace {

using Tile = Eigen::Matrix<float, tile_size, tile_size, Eigen::RowMajor>;
using TileMap = Eigen::Map<Tile, Eigen::Aligned64>;
using ConstTileMap = Eigen::Map<const Tile, Eigen::Aligned64>;
using Whole = Eigen::MatrixXf;

constexpr unsigned seed = 7;

Whole whole(const TiledMatrix& tiled) {
  Whole dense(matrix_size, matrix_size);
  for (int row = 0; row < tiles_a_side; ++row)
    for (int column = 0; column < tiles_a_side; ++column)
      dense.block<tile_size, tile_size>(row * tile_size, column * tile_size) = ConstTileMap(tiled.tile(row, column));
  return dense;
}

void require_same(const float* actual, const float* expected, const char* what) {
  require(std::memcmp(actual, expected, tile_bytes) == 0, what);
}

void fill_random(TiledMatrix& matrix, std::mt19937& random) {
  std::uniform_real_distribution<float> values(-1.0F, 1.0F);
  for (int row = 0; row < matrix_size; ++row)
    for (int column = 0; column < matrix_size; ++column) matrix.element(row, column) = values(random);
}

/// Symmetric, and strong enough on the diagonal to be positive definite.
void fill_definite(TiledMatrix& matrix, std::mt19937& random) {
  std::uniform_real_distribution<float> values(-1.0F, 1.0F);
  for (int row = 0; row < matrix_size; ++row) {
    for (int column = 0; column < row; ++column)
      matrix.element(row, column) = matrix.element(column, row) = values(random);
    matrix.element(row, row) = static_cast<float>(matrix_size);
  }
}

}  // namespace

void gemm_tile(const float* a, const float* b, float* c) { TileMap(c).noalias() += ConstTileMap(a) * ConstTileMap(b); }

void gemm_transposed_tile(const float* a, const float* b, float* c) {
  TileMap(c).noalias() -= ConstTileMap(a) * ConstTileMap(b).transpose();
}

void syrk_tile(const float* a, float* c) {
  TileMap(c).selfadjointView<Eigen::Lower>().rankUpdate(ConstTileMap(a), -1.0F);
}

void trsm_tile(const float* l, float* a) {
  TileMap panel(a);
  ConstTileMap(l).transpose().triangularView<Eigen::Upper>().solveInPlace<Eigen::OnTheRight>(panel);
}

void potrf_tile(float* a) {
  TileMap diagonal(a);
  const Eigen::LLT<Eigen::Ref<Tile>> factor(diagonal);
}

float* TiledMatrix::tile(int row, int column) {
  const auto misplaced = reinterpret_cast<std::uintptr_t>(storage_.data()) % alignment;
  float* const first = storage_.data() + (misplaced == 0 ? 0 : (alignment - misplaced) / sizeof(float));
  return first + static_cast<std::size_t>(row * tiles_a_side + column) * tile_elements;
}

float& TiledMatrix::element(int row, int column) {
  return tile(row / tile_size, column / tile_size)[row % tile_size * tile_size + column % tile_size];
}

void TiledMatrix::copy_from(const TiledMatrix& other) {
  std::memcpy(tile(0, 0), other.tile(0, 0), tile_bytes * tiles_a_side * tiles_a_side);
}

void TiledMatrix::fill(float value) { std::fill_n(tile(0, 0), tile_elements * tiles_a_side * tiles_a_side, value); }

MatmulProblem::MatmulProblem() {
  std::mt19937 random(seed);
  fill_random(a, random);
  fill_random(b, random);
  expected.fill(0.0F);
  for (int i = 0; i < tiles_a_side; ++i)
    for (int j = 0; j < tiles_a_side; ++j)
      for (int k = 0; k < tiles_a_side; ++k) gemm_tile(a.tile(i, k), b.tile(k, j), expected.tile(i, j));
  const Whole reference = whole(a) * whole(b);
  require((whole(expected) - reference).cwiseAbs().maxCoeff() < 1e-3F, "the tile kernels do not multiply");
}

void MatmulProblem::check() const {
  for (int i = 0; i < tiles_a_side; ++i)
    for (int j = 0; j < tiles_a_side; ++j) require_same(c.tile(i, j), expected.tile(i, j), "the product is wrong");
}

CholeskyProblem::CholeskyProblem() {
  std::mt19937 random(seed);
  fill_definite(input, random);
  expected.copy_from(input);
  for (int k = 0; k < tiles_a_side; ++k) {
    potrf_tile(expected.tile(k, k));
    for (int i = k + 1; i < tiles_a_side; ++i) trsm_tile(expected.tile(k, k), expected.tile(i, k));
    for (int i = k + 1; i < tiles_a_side; ++i) {
      for (int j = k + 1; j < i; ++j)
        gemm_transposed_tile(expected.tile(i, k), expected.tile(j, k), expected.tile(i, j));
      syrk_tile(expected.tile(i, k), expected.tile(i, i));
    }
  }
  const Whole lower = whole(expected).triangularView<Eigen::Lower>();
  const Whole reference = whole(input);
  require((lower * lower.transpose() - reference).cwiseAbs().maxCoeff() < 1e-2F, "the tile kernels do not factorise");
}

void CholeskyProblem::check() const {
  for (int i = 0; i < tiles_a_side; ++i)
    for (int j = 0; j <= i; ++j) require_same(a.tile(i, j), expected.tile(i, j), "the factor is wrong");
}

}  // namespace heddle::bench
