// SPDX-License-Identifier: Apache-2.0
// The factorisation with StarPU tasks, one handle a tile.
#include "common/starpu_session.hpp"
#include "common/tiles.hpp"

namespace {
using namespace heddle::bench;

void potrf(void** buffers, void*) { potrf_tile(starpu_buffer<float>(buffers, 0)); }
void trsm(void** buffers, void*) {
  trsm_tile(starpu_buffer<const float>(buffers, 0), starpu_buffer<float>(buffers, 1));
}
void syrk(void** buffers, void*) {
  syrk_tile(starpu_buffer<const float>(buffers, 0), starpu_buffer<float>(buffers, 1));
}
void gemm(void** buffers, void*) {
  gemm_transposed_tile(starpu_buffer<const float>(buffers, 0), starpu_buffer<const float>(buffers, 1),
                       starpu_buffer<float>(buffers, 2));
}

class Factorisation {
 public:
  explicit Factorisation(TiledMatrix& matrix)
      : handles_(register_cells(matrix.tile(0, 0), tiles_a_side * tiles_a_side, tile_bytes)) {}

  void run() {
    for (int k = 0; k < tiles_a_side; ++k) {
      require_inserted(starpu_task_insert(&potrf_, STARPU_RW, at(k, k), 0));
      for (int i = k + 1; i < tiles_a_side; ++i)
        require_inserted(starpu_task_insert(&trsm_, STARPU_R, at(k, k), STARPU_RW, at(i, k), 0));
      for (int i = k + 1; i < tiles_a_side; ++i) {
        for (int j = k + 1; j < i; ++j)
          require_inserted(starpu_task_insert(&gemm_, STARPU_R, at(i, k), STARPU_R, at(j, k), STARPU_RW, at(i, j), 0));
        require_inserted(starpu_task_insert(&syrk_, STARPU_R, at(i, k), STARPU_RW, at(i, i), 0));
      }
    }
    starpu_task_wait_for_all();
  }

 private:
  starpu_data_handle_t at(int row, int column) const {
    return handles_[static_cast<std::size_t>(row * tiles_a_side + column)].get();
  }

  std::vector<StarpuHandle> handles_;
  starpu_codelet potrf_ = make_codelet(potrf, {STARPU_RW});
  starpu_codelet trsm_ = make_codelet(trsm, {STARPU_R, STARPU_RW});
  starpu_codelet syrk_ = make_codelet(syrk, {STARPU_R, STARPU_RW});
  starpu_codelet gemm_ = make_codelet(gemm, {STARPU_R, STARPU_R, STARPU_RW});
};
}  // namespace

int main(int argc, char** argv) {
  return run_main(argc, argv, [](const Options& options) {
    const StarpuSession session("2");
    CholeskyProblem problem;
    Factorisation factorisation(problem.a);
    const auto run = [&](CholeskyProblem&) { factorisation.run(); };
    measure_tiled("cholesky", "starpu", problem, run, options);
  });
}
