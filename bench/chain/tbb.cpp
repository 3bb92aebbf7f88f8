// SPDX-License-Identifier: Apache-2.0
// One chain of tasks as a oneTBB flow graph, built and run in the measured time.
#include "common/tbb_graph.hpp"

namespace {
using namespace heddle::bench;

template <class Kernel>
std::int64_t run(FlatCells& cells) {
  TbbGraph built;
  return time_ns([&] {
    build_chain<Kernel>(built, cells);
    built.run();
  });
}
}  // namespace

int main(int argc, char** argv) {
  return run_main(argc, argv, [](const Options& options) {
    in_tbb_arena([&] {
      FlatCells cells(1);
      measure_tasks("chain", "tbb", cells, []<class Kernel>(FlatCells& all) { return run<Kernel>(all); }, options);
    });
  });
}
