// SPDX-License-Identifier: Apache-2.0
// The tile kernels of the factorisation in plain loops, each step's tiles dealt to both threads, a barrier where one
// kind of kernel needs what another wrote.
#include "common/team.hpp"
#include "common/tiles.hpp"

namespace {
using namespace heddle::bench;

void update(TiledMatrix& a, int i, int j, int k) {
  if (i == j)
    syrk_tile(a.tile(i, k), a.tile(i, i));
  else
    gemm_transposed_tile(a.tile(i, k), a.tile(j, k), a.tile(i, j));
}

void factorise(TiledMatrix& a, int thread, SpinBarrier& barrier) {
  for (int k = 0; k < tiles_a_side; ++k) {
    if (thread == 0) potrf_tile(a.tile(k, k));
    barrier.wait();
    for (int i = k + 1 + thread; i < tiles_a_side; i += thread_count) trsm_tile(a.tile(k, k), a.tile(i, k));
    barrier.wait();
    int turn = 0;
    for (int i = k + 1; i < tiles_a_side; ++i)
      for (int j = k + 1; j <= i; ++j)
        if (turn++ % thread_count == thread) update(a, i, j, k);
    barrier.wait();
  }
}
}  // namespace

int main(int argc, char** argv) {
  return run_main(argc, argv, [](const Options& options) {
    Team team;
    CholeskyProblem problem;
    const auto run = [&](CholeskyProblem& p) { team.run([&](int thread) { factorise(p.a, thread, team.barrier()); }); };
    measure_tiled("cholesky", "kernels", problem, run, options);
  });
}
