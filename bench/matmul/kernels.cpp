// SPDX-License-Identifier: Apache-2.0
// The floor of the tiled product: the tile kernels in plain loops, each thread half of the tiles of c.
#include "common/team.hpp"
#include "common/tiles.hpp"

int main(int argc, char** argv) {
  using namespace heddle::bench;
  return run_main(argc, argv, [](const Options& options) {
    Team team;
    MatmulProblem problem;
    const auto run = [&](MatmulProblem& p) {
      team.run([&](int thread) {
        for (int i = thread; i < tiles_a_side; i += thread_count)
          for (int j = 0; j < tiles_a_side; ++j)
            for (int k = 0; k < tiles_a_side; ++k) gemm_tile(p.a.tile(i, k), p.b.tile(k, j), p.c.tile(i, j));
      });
    };
    measure_tiled("matmul", "kernels", problem, run, options);
  });
}
