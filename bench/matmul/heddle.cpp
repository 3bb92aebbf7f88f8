// SPDX-License-Identifier: Apache-2.0
// The tiled product with Heddle: dependences inferred from the tiles.
#include "common/heddle_session.hpp"
#include "common/tiles.hpp"

namespace {
using namespace heddle::bench;
using In = heddle::View<const float>;
using Out = heddle::View<float>;

struct Matmul {
  MatmulProblem* problem;

  void rank(heddle::Orchestrator& graph, const heddle::Io&) const {
    const auto tile = [](TiledMatrix& matrix, int row, int column) {
      return heddle::wrap(matrix.tile(row, column), tile_elements);
    };
    for (int i = 0; i < tiles_a_side; ++i)
      for (int j = 0; j < tiles_a_side; ++j)
        for (int k = 0; k < tiles_a_side; ++k)
          graph.submit(
              "gemm", heddle::cube_core,
              [](heddle::Block&, const In& a, const In& b, const Out& c) { gemm_tile(a.data(), b.data(), c.data()); },
              in(tile(problem->a, i, k)), in(tile(problem->b, k, j)), inout(tile(problem->c, i, j)));
  }
};
}  // namespace

int main(int argc, char** argv) {
  return run_main(argc, argv, [](const Options& options) {
    MatmulProblem problem;
    auto session = open_session(Matmul{&problem});
    measure_tiled("matmul", "heddle", problem, [&](MatmulProblem&) { session.run(); }, options);
  });
}
