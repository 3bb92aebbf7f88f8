// SPDX-License-Identifier: Apache-2.0
//
// Chains of single tasks keep the cores busy, and a cohort as wide as the chip becomes ready among them. Each end of a
// single task makes the next one ready at once, so that the cores are never free together unless they are kept back.
#include <heddle/heddle.hpp>
#include <vector>

namespace {

using namespace heddle;

struct OvertakenGang {
  int length = 12;

  void parameters(ParameterList& list) { list.add("length", length, "tasks in each chain", 3, 1000); }

  void rank(Orchestrator& graph, const Io&) const {
    const std::int64_t width = graph.width();
    const auto kernel = [](Block& block) { block.spend(20'000); };
    std::vector<TaskHandle> last;
    for (std::int64_t chain = 0; chain < width; ++chain) last.push_back(graph.submit("single", vector_core, kernel));
    const TaskHandle first = last.front();
    graph.spmd("cohort", vector_core, width, [](Block& block) { block.spend(1'000); }, sync_start(), after(first));
    for (int i = 1; i < length; ++i)
      for (TaskHandle& before : last) before = graph.submit("single", vector_core, kernel, after(before));
  }
};

}  // namespace

HEDDLE_MODULE(heddle::entry<OvertakenGang>("overtaken_gang", "case: single tasks overtake a cohort for ever"));
