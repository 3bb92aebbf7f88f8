// SPDX-License-Identifier: Apache-2.0
// The stencil with the flight recorder on.
#include "common/stencil_program.hpp"

int main(int argc, char** argv) {
  using namespace heddle::bench;
  return run_main(argc, argv, [](const Options& options) {
    StencilCells cells;
    auto session = open_session(StencilProgram<EmptyKernel>{&cells}, {.recorder = true});
    Contender contender{"recorder", "heddle_on", flat_tasks, {}, {}};
    contender.sample = [&] { return time_ns([&] { session.run(); }); };
    measure(contender, options);
  });
}
