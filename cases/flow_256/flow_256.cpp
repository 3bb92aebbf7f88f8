// SPDX-License-Identifier: Apache-2.0
//
// Scopes nest, each with some tasks; from a depth on they share a ring. None of them alone needs much of it, but the
// outer ones hold what they have taken until the inner ones end, and the task window is full.
#include <heddle/heddle.hpp>
#include <vector>

namespace {

using namespace heddle;

struct Flow256 {
  bool repaired = false;
  int depth = 8, tasks = 52;

  void parameters(ParameterList& list) {
    list.add("repaired", repaired, "each scope ends before the next one begins");
    list.add("depth", depth, "scopes", 1, 60);
    list.add("tasks", tasks, "tasks of each scope", 1, 1e6);
  }

  void rank(Orchestrator& graph, const Io&) const {
    std::vector<Scope> open;
    for (int i = 0; i < depth; ++i) {
      if (repaired) open.clear();
      open.push_back(graph.scope());
      for (int n = 0; n < tasks; ++n) graph.submit("step", vector_core, [](Block& block) { block.spend(1'000); });
    }
    while (!open.empty()) open.pop_back();
  }
};

}  // namespace

HEDDLE_MODULE(heddle::entry<Flow256>("flow_256", "case: nested scopes fill the task window that they share"));
