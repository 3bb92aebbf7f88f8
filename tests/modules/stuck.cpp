// SPDX-License-Identifier: Apache-2.0
//
// Kernels and a rank's program that do not return of themselves, each in a function and on a line that a report has to
// name. The functions are for tests that load this module by hand, the program is for the command.
#include <heddle/heddle.hpp>

using namespace heddle;

extern "C" {

int stuck_in_loop_line() { return __LINE__ + 2; }
[[gnu::noinline]] void stuck_in_loop(const bool* go_on) {
  while (__atomic_load_n(go_on, __ATOMIC_RELAXED)) continue;
}

int stuck_in_calls_line() { return __LINE__ + 2; }
[[gnu::noinline]] void stuck_in_calls(Block* block) {
  while (!block->cancelled()) continue;
}

int stuck_in_program_line() { return __LINE__ + 2; }
[[gnu::noinline]] void stuck_in_program(Orchestrator* graph) {
  while (!graph->stopped()) continue;
}
}

namespace {

struct Stuck {
  void rank(Orchestrator& graph, const Io&) const {
    graph.spmd("lingers", vector_core, 2, [](Block& block) {
      if (block.index() == 1) stuck_in_calls(&block);
    });
  }
};

}  // namespace

HEDDLE_MODULE(heddle::entry<Stuck>("stuck", "one block of each rank runs until it is cancelled"));
