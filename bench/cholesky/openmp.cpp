// SPDX-License-Identifier: Apache-2.0
// The factorisation with OpenMP tasks, dependences by the addresses of the tiles.
#include "common/openmp_settings.hpp"
#include "common/tiles.hpp"

namespace {
using namespace heddle::bench;

void submit_updates(TiledMatrix& a, int k) {
  for (int i = k + 1; i < tiles_a_side; ++i) {
    const float* const left = a.tile(i, k);
    for (int j = k + 1; j < i; ++j) {
      const float* const right = a.tile(j, k);
      float* const target = a.tile(i, j);
#pragma omp task depend(in : *left, *right) depend(inout : *target) firstprivate(left, right, target)
      gemm_transposed_tile(left, right, target);
    }
    float* const diagonal = a.tile(i, i);
#pragma omp task depend(in : *left) depend(inout : *diagonal) firstprivate(left, diagonal)
    syrk_tile(left, diagonal);
  }
}

void submit(TiledMatrix& a) {
  for (int k = 0; k < tiles_a_side; ++k) {
    float* const pivot = a.tile(k, k);
#pragma omp task depend(inout : *pivot) firstprivate(pivot)
    potrf_tile(pivot);
    for (int i = k + 1; i < tiles_a_side; ++i) {
      float* const panel = a.tile(i, k);
#pragma omp task depend(in : *pivot) depend(inout : *panel) firstprivate(pivot, panel)
      trsm_tile(pivot, panel);
    }
    submit_updates(a, k);
  }
}

void run(CholeskyProblem& problem) {
#pragma omp parallel num_threads(thread_count)
#pragma omp single
  submit(problem.a);
}
}  // namespace

int main(int argc, char** argv) {
  ensure_openmp_settings(argv);
  return run_main(argc, argv, [](const Options& options) {
    CholeskyProblem problem;
    measure_tiled("cholesky", "openmp", problem, run, options);
  });
}
