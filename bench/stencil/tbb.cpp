// SPDX-License-Identifier: Apache-2.0
// The stencil as a oneTBB flow graph, built and run in the measured time.
#include "common/tbb_graph.hpp"

namespace {
using namespace heddle::bench;

template <class Kernel>
std::int64_t run(StencilCells& cells) {
  TbbGraph built;
  return time_ns([&] {
    build_stencil<Kernel>(built, cells);
    built.run();
  });
}
}  // namespace

int main(int argc, char** argv) {
  return run_main(argc, argv, [](const Options& options) {
    in_tbb_arena([&] {
      StencilCells cells;
      measure_tasks("stencil", "tbb", cells, []<class Kernel>(StencilCells& all) { return run<Kernel>(all); }, options);
    });
  });
}
