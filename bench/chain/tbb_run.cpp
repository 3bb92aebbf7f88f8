// SPDX-License-Identifier: Apache-2.0
// One chain of tasks as a oneTBB flow graph that is built once: only its runs are measured.
#include <memory>

#include "common/tbb_graph.hpp"

namespace {
using namespace heddle::bench;

template <class Kernel>
std::int64_t run(FlatCells& cells) {
  static std::unique_ptr<TbbGraph> built;
  if (!built) {
    built = std::make_unique<TbbGraph>();
    build_chain<Kernel>(*built, cells);
  }
  return time_ns([&] { built->run(); });
}
}  // namespace

int main(int argc, char** argv) {
  return run_main(argc, argv, [](const Options& options) {
    in_tbb_arena([&] {
      FlatCells cells(1);
      measure_tasks("chain", "tbb_run", cells, []<class Kernel>(FlatCells& all) { return run<Kernel>(all); }, options);
    });
  });
}
