// SPDX-License-Identifier: Apache-2.0
// Tiled fp32 matrices and the tile kernels that every contender of `matmul` and `cholesky` calls. The kernels are
// compiled once, in one library, for this machine's instruction set, and never start threads.
#pragma once

#include <cstddef>
#include <vector>

#include "common/harness.hpp"

namespace heddle::bench {

inline constexpr int tile_size = 128;                         ///< elements a side
inline constexpr int tiles_a_side = 8;                        ///< tiles a side: matrices of 1,024 x 1,024
inline constexpr int matrix_size = tile_size * tiles_a_side;  ///< elements a side
inline constexpr std::size_t tile_elements = tile_size * tile_size;
inline constexpr std::size_t tile_bytes = tile_elements * sizeof(float);

/// c += a * b
void gemm_tile(const float* a, const float* b, float* c);
/// c -= a * transpose(b)
void gemm_transposed_tile(const float* a, const float* b, float* c);
/// c -= a * transpose(a), the lower triangle; what stands above it is not defined
void syrk_tile(const float* a, float* c);
/// a = a * inverse(transpose(l)), l lower triangular
void trsm_tile(const float* l, float* a);
/// a = its Cholesky factor in the lower triangle
void potrf_tile(float* a);

/// A square matrix whose tiles each lie in one piece, row by row.
class TiledMatrix {
 public:
  TiledMatrix() : storage_(tile_elements * tiles_a_side * tiles_a_side + alignment / sizeof(float)) {}
  TiledMatrix(const TiledMatrix&) = delete;
  TiledMatrix& operator=(const TiledMatrix&) = delete;

  float* tile(int row, int column);
  const float* tile(int row, int column) const { return const_cast<TiledMatrix*>(this)->tile(row, column); }
  float& element(int row, int column);
  void copy_from(const TiledMatrix& other);
  void fill(float value);

 private:
  static constexpr std::size_t alignment = 64;  ///< bytes
  std::vector<float> storage_;
};

/// c = a * b, its inputs, and what the serial tile kernels make of them. Every contender runs the kernels of one tile
/// of c in the order of k, so that its result has to be the same to the last bit.
struct MatmulProblem {
  MatmulProblem();
  void reset() { c.fill(0.0F); }
  void check() const;

  TiledMatrix a, b, c;
  TiledMatrix expected;
};

/// The lower Cholesky factor of a symmetric positive definite matrix, in place.
struct CholeskyProblem {
  CholeskyProblem();
  void reset() { a.copy_from(input); }
  void check() const;

  TiledMatrix a;
  TiledMatrix input, expected;
};

/// A contender of a tiled work: `run(problem)` does it once; every sample's result is checked, outside of the time.
template <class Problem, class Run>
void measure_tiled(const char* work, const char* name, Problem& problem, Run run, const Options& options) {
  Contender contender{work, name, 1, {}, {}};
  contender.sample = [&] {
    problem.reset();
    const std::int64_t elapsed_ns = time_ns([&] { run(problem); });
    problem.check();
    return elapsed_ns;
  };
  measure(contender, options);
}

}  // namespace heddle::bench
