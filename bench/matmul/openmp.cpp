// SPDX-License-Identifier: Apache-2.0
// The tiled product with OpenMP tasks, dependences by the addresses of the tiles.
#include "common/openmp_settings.hpp"
#include "common/tiles.hpp"

namespace {
using namespace heddle::bench;

void run(MatmulProblem& p) {
#pragma omp parallel num_threads(thread_count)
#pragma omp single
  for (int i = 0; i < tiles_a_side; ++i)
    for (int j = 0; j < tiles_a_side; ++j)
      for (int k = 0; k < tiles_a_side; ++k) {
        const float* const a = p.a.tile(i, k);
        const float* const b = p.b.tile(k, j);
        float* const c = p.c.tile(i, j);
#pragma omp task depend(in : *a, *b) depend(inout : *c) firstprivate(a, b, c)
        gemm_tile(a, b, c);
      }
}
}  // namespace

int main(int argc, char** argv) {
  ensure_openmp_settings(argv);
  return run_main(argc, argv, [](const Options& options) {
    MatmulProblem problem;
    measure_tiled("matmul", "openmp", problem, run, options);
  });
}
