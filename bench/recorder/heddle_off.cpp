// SPDX-License-Identifier: Apache-2.0
// The stencil with the flight recorder off.
#include "common/stencil_program.hpp"

int main(int argc, char** argv) {
  using namespace heddle::bench;
  return run_main(argc, argv, [](const Options& options) {
    StencilCells cells;
    auto session = open_session(StencilProgram<EmptyKernel>{&cells}, {.recorder = false});
    Contender contender{"recorder", "heddle_off", flat_tasks, {}, {}};
    contender.sample = [&] { return time_ns([&] { session.run(); }); };
    measure(contender, options);
  });
}
