// SPDX-License-Identifier: Apache-2.0
// The tiled product as a oneTBB flow graph, one chain a tile of c, built and run in the measured time.
#include "common/tbb_graph.hpp"
#include "common/tiles.hpp"

namespace {
using namespace heddle::bench;

void run(MatmulProblem& p) {
  TbbGraph built;
  for (int i = 0; i < tiles_a_side; ++i)
    for (int j = 0; j < tiles_a_side; ++j) {
      TbbNode* previous = nullptr;
      for (int k = 0; k < tiles_a_side; ++k) {
        TbbNode& node = built.nodes.emplace_back(built.graph, [&p, i, j, k](const TbbMessage&) {
          gemm_tile(p.a.tile(i, k), p.b.tile(k, j), p.c.tile(i, j));
          return TbbMessage{};
        });
        if (previous != nullptr) oneapi::tbb::flow::make_edge(*previous, node);
        previous = &node;
      }
    }
  for (std::size_t first = 0; first < built.nodes.size(); first += tiles_a_side)
    built.nodes[first].try_put(TbbMessage{});
  built.graph.wait_for_all();
}
}  // namespace

int main(int argc, char** argv) {
  return run_main(argc, argv, [](const Options& options) {
    MatmulProblem problem;
    in_tbb_arena([&] { measure_tiled("matmul", "tbb", problem, run, options); });
  });
}
