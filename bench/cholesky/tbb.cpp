// SPDX-License-Identifier: Apache-2.0
// The factorisation as a oneTBB flow graph with edges by hand, built and run in the measured time.
#include "common/tbb_graph.hpp"
#include "common/tiles.hpp"

namespace {
using namespace heddle::bench;

/// The graph under construction; `writer` is the last node that wrote a tile.
struct Builder {
  explicit Builder(TiledMatrix& matrix) : a(matrix) {}

  /// A node that changes tile (row, column) after the writers of that tile and of the tiles it reads.
  template <class Body>
  void add(int row, int column, std::initializer_list<std::pair<int, int>> reads, Body body) {
    TbbNode& node = built.nodes.emplace_back(built.graph, [body](const TbbMessage&) {
      body();
      return TbbMessage{};
    });
    for (const auto& [r, c] : reads) oneapi::tbb::flow::make_edge(*writer[r][c], node);
    if (writer[row][column] != nullptr) oneapi::tbb::flow::make_edge(*writer[row][column], node);
    writer[row][column] = &node;
  }

  void add_step(int k) {
    add(k, k, {}, [this, k] { potrf_tile(a.tile(k, k)); });
    for (int i = k + 1; i < tiles_a_side; ++i)
      add(i, k, {{k, k}}, [this, i, k] { trsm_tile(a.tile(k, k), a.tile(i, k)); });
    for (int i = k + 1; i < tiles_a_side; ++i) {
      for (int j = k + 1; j < i; ++j)
        add(i, j, {{i, k}, {j, k}},
            [this, i, j, k] { gemm_transposed_tile(a.tile(i, k), a.tile(j, k), a.tile(i, j)); });
      add(i, i, {{i, k}}, [this, i, k] { syrk_tile(a.tile(i, k), a.tile(i, i)); });
    }
  }

  TiledMatrix& a;
  TbbGraph built;
  TbbNode* writer[tiles_a_side][tiles_a_side] = {};
};

void run(CholeskyProblem& problem) {
  Builder builder(problem.a);
  for (int k = 0; k < tiles_a_side; ++k) builder.add_step(k);
  builder.built.start_count = 1;  // only the first potrf has no predecessor
  builder.built.run();
}
}  // namespace

int main(int argc, char** argv) {
  return run_main(argc, argv, [](const Options& options) {
    CholeskyProblem problem;
    in_tbb_arena([&] { measure_tiled("cholesky", "tbb", problem, run, options); });
  });
}
