// SPDX-License-Identifier: Apache-2.0
// What no program reaches: all kernels of the factorisation on one thread, and half of that time.
#include "common/tiles.hpp"

namespace {
using namespace heddle::bench;

void factorise(TiledMatrix& a) {
  for (int k = 0; k < tiles_a_side; ++k) {
    potrf_tile(a.tile(k, k));
    for (int i = k + 1; i < tiles_a_side; ++i) trsm_tile(a.tile(k, k), a.tile(i, k));
    for (int i = k + 1; i < tiles_a_side; ++i) {
      for (int j = k + 1; j < i; ++j) gemm_transposed_tile(a.tile(i, k), a.tile(j, k), a.tile(i, j));
      syrk_tile(a.tile(i, k), a.tile(i, i));
    }
  }
}
}  // namespace

int main(int argc, char** argv) {
  return run_main(argc, argv, [](const Options& options) {
    bind_thread(0);
    CholeskyProblem problem;
    Contender contender{"cholesky", "kernels_ideal", 1, {}, {}};
    contender.sample = [&] {
      problem.reset();
      const std::int64_t elapsed_ns = time_ns([&] { factorise(problem.a); });
      problem.check();
      return elapsed_ns / thread_count;
    };
    measure(contender, options);
  });
}
