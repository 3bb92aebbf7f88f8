// SPDX-License-Identifier: Apache-2.0
// Independent tasks as a oneTBB flow graph, built and run in the measured time.
#include "common/tbb_graph.hpp"

namespace {
using namespace heddle::bench;

template <class Kernel>
std::int64_t run(FlatCells& cells) {
  TbbGraph built;
  return time_ns([&] {
    for (int i = 0; i < flat_tasks; ++i) add_independent<Kernel>(built, cells, i).try_put(TbbMessage{});
    built.graph.wait_for_all();
  });
}
}  // namespace

int main(int argc, char** argv) {
  return run_main(argc, argv, [](const Options& options) {
    in_tbb_arena([&] {
      FlatCells cells(flat_tasks);
      measure_tasks(
          "independent", "tbb", cells, []<class Kernel>(FlatCells& all) { return run<Kernel>(all); }, options);
    });
  });
}
