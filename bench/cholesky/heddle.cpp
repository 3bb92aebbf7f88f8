// SPDX-License-Identifier: Apache-2.0
// The factorisation with Heddle: dependences inferred from the tiles.
#include "common/heddle_session.hpp"
#include "common/tiles.hpp"

namespace {
using namespace heddle::bench;
using In = heddle::View<const float>;
using Out = heddle::View<float>;

struct Cholesky {
  CholeskyProblem* problem;

  auto tile(int row, int column) const { return heddle::wrap(problem->a.tile(row, column), tile_elements); }

  void rank(heddle::Orchestrator& graph, const heddle::Io&) const {
    for (int k = 0; k < tiles_a_side; ++k) {
      graph.submit(
          "potrf", heddle::cube_core, [](heddle::Block&, const Out& pivot) { potrf_tile(pivot.data()); },
          inout(tile(k, k)));
      for (int i = k + 1; i < tiles_a_side; ++i)
        graph.submit(
            "trsm", heddle::cube_core,
            [](heddle::Block&, const In& pivot, const Out& panel) { trsm_tile(pivot.data(), panel.data()); },
            in(tile(k, k)), inout(tile(i, k)));
      update(graph, k);
    }
  }

  void update(heddle::Orchestrator& graph, int k) const {
    for (int i = k + 1; i < tiles_a_side; ++i) {
      for (int j = k + 1; j < i; ++j)
        graph.submit(
            "gemm", heddle::cube_core,
            [](heddle::Block&, const In& left, const In& right, const Out& target) {
              gemm_transposed_tile(left.data(), right.data(), target.data());
            },
            in(tile(i, k)), in(tile(j, k)), inout(tile(i, j)));
      graph.submit(
          "syrk", heddle::cube_core,
          [](heddle::Block&, const In& left, const Out& diagonal) { syrk_tile(left.data(), diagonal.data()); },
          in(tile(i, k)), inout(tile(i, i)));
    }
  }
};
}  // namespace

int main(int argc, char** argv) {
  return run_main(argc, argv, [](const Options& options) {
    CholeskyProblem problem;
    auto session = open_session(Cholesky{&problem});
    measure_tiled("cholesky", "heddle", problem, [&](CholeskyProblem&) { session.run(); }, options);
  });
}
