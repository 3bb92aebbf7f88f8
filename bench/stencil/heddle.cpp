// SPDX-License-Identifier: Apache-2.0
// The stencil with Heddle.
#include "common/stencil_program.hpp"

namespace {
using namespace heddle::bench;

template <class Kernel>
std::int64_t run(StencilCells& cells) {
  static auto session = open_session(StencilProgram<Kernel>{&cells});
  return time_ns([&] { session.run(); });
}
}  // namespace

int main(int argc, char** argv) {
  return run_main(argc, argv, [](const Options& options) {
    StencilCells cells;
    measure_tasks(
        "stencil", "heddle", cells, []<class Kernel>(StencilCells& all) { return run<Kernel>(all); }, options);
  });
}
