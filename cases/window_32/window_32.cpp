// SPDX-License-Identifier: Apache-2.0
//
// One scope with more tasks than the ring has slots: no slot is taken back while the scope is open, and the scope is
// not closed before the last task is submitted.
#include <algorithm>
#include <heddle/heddle.hpp>

namespace {

using namespace heddle;

struct Window32 {
  bool repaired = false;
  int tasks = 40;

  void parameters(ParameterList& list) {
    list.add("repaired", repaired, "the scope is closed and opened again after every 16 tasks");
    list.add("tasks", tasks, "tasks", 33, 1e6);
  }

  void rank(Orchestrator& graph, const Io&) const {
    const int of_a_scope = repaired ? 16 : tasks;
    for (int begun = 0; begun < tasks; begun += of_a_scope) {
      const Scope scope = graph.scope();
      for (int i = begun; i < std::min(begun + of_a_scope, tasks); ++i)
        graph.submit("step", vector_core, [](Block& block) { block.spend(1'000); });
    }
  }
};

}  // namespace

HEDDLE_MODULE(heddle::entry<Window32>("window_32", "case: a scope of more tasks than the ring has slots"));
