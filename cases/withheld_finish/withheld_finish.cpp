// SPDX-License-Identifier: Apache-2.0
//
// More tasks than there are cores, so that each core has a pending one while it runs another. Where a core never takes
// up the pending one, nothing tells that it has ended what it ran. After each task comes one that waits for it alone.
#include <heddle/heddle.hpp>

namespace {

using namespace heddle;

struct WithheldFinish {
  int parts = 200;

  void parameters(ParameterList& list) { list.add("parts", parts, "pairs of tasks, one after the other", 1, 1e6); }

  void rank(Orchestrator& graph, const Io&) const {
    const auto kernel = [](Block& block) { block.spend(5'000); };
    for (int i = 0; i < parts; ++i) {
      const auto part = graph.submit("part", vector_core, kernel);
      graph.submit("next", vector_core, kernel, after(part));
    }
  }
};

}  // namespace

HEDDLE_MODULE(heddle::entry<WithheldFinish>("withheld_finish", "case: a core never takes up its pending task"));
