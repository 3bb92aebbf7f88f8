// SPDX-License-Identifier: Apache-2.0
//
// Many more tasks than the task window has slots: each step's scope gives its slots back, and the orchestrator waits
// for them again and again. In the field 525,312 tasks went through a window of 16,384; here as many times as it is
// large.
#include <algorithm>
#include <heddle/heddle.hpp>

namespace {

using namespace heddle;

struct ManyThroughFew {
  int steps = 513, in_step = 4;

  void parameters(ParameterList& list) {
    list.add("steps", steps, "steps, each a scope", 1, 1e6);
    list.add("in_step", in_step, "tasks of a step", 1, 16'384);
  }

  void plan(Plan& plan) const { plan.output<std::int32_t>("cells", {in_step}); }

  void rank(Orchestrator& graph, const Io& io) const {
    const auto cells = io.output<std::int32_t>("cells");
    for (int step = 0; step < steps; ++step) {
      const Scope scope = graph.scope();
      for (int i = 0; i < in_step; ++i)
        graph.submit(
            "add", vector_core,
            [first = step == 0](Block&, View<std::int32_t> cell) { cell(0) = first ? 1 : cell(0) + 1; },
            inout(cells.rows(i, 1)));
    }
  }

  void check(const HostIo& io) const {
    for (const std::int32_t cell : io.tensor<std::int32_t>("cells"))
      io.expect(cell == steps, "a task was left out, or ran twice");
  }
};

}  // namespace

HEDDLE_MODULE(heddle::entry<ManyThroughFew>("many_through_few", "control: many tasks through a small task window"));
