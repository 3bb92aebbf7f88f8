// SPDX-License-Identifier: Apache-2.0
// The tiled product with StarPU tasks, one handle a tile.
#include "common/starpu_session.hpp"
#include "common/tiles.hpp"

namespace {
using namespace heddle::bench;

void kernel(void** buffers, void*) {
  gemm_tile(starpu_buffer<const float>(buffers, 0), starpu_buffer<const float>(buffers, 1),
            starpu_buffer<float>(buffers, 2));
}

struct Handles {
  explicit Handles(TiledMatrix& matrix)
      : all(register_cells(matrix.tile(0, 0), tiles_a_side * tiles_a_side, tile_bytes)) {}
  starpu_data_handle_t at(int row, int column) const {
    return all[static_cast<std::size_t>(row * tiles_a_side + column)].get();
  }
  std::vector<StarpuHandle> all;
};
}  // namespace

int main(int argc, char** argv) {
  return run_main(argc, argv, [](const Options& options) {
    const StarpuSession session("2");
    starpu_codelet codelet = make_codelet(kernel, {STARPU_R, STARPU_R, STARPU_RW});
    MatmulProblem problem;
    const Handles a(problem.a), b(problem.b), c(problem.c);
    const auto run = [&](MatmulProblem&) {
      for (int i = 0; i < tiles_a_side; ++i)
        for (int j = 0; j < tiles_a_side; ++j)
          for (int k = 0; k < tiles_a_side; ++k)
            require_inserted(
                starpu_task_insert(&codelet, STARPU_R, a.at(i, k), STARPU_R, b.at(k, j), STARPU_RW, c.at(i, j), 0));
      starpu_task_wait_for_all();
    };
    measure_tiled("matmul", "starpu", problem, run, options);
  });
}
