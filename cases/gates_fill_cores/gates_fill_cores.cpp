// SPDX-License-Identifier: Apache-2.0
//
// A producer of many blocks, and consumers that may be placed behind gates while it runs. A runtime that bounds the
// gated tasks for each edge, and not in all, gives them every core, and the producer has none left.
#include <heddle/heddle.hpp>

namespace {

using namespace heddle;

struct GatesFillCores {
  int blocks = 40, consumers = 16;

  void parameters(ParameterList& list) {
    list.add("blocks", blocks, "blocks of the producer, more than the chip has cores", 1, 1e6);
    list.add("consumers", consumers, "tasks that wait for all of it", 1, 1000);
  }

  void rank(Orchestrator& graph, const Io&) const {
    const auto kernel = [](Block& block) { block.spend(200); };
    const auto producer = graph.spmd("producer", vector_core, blocks, kernel, allow_early());
    for (int i = 0; i < consumers; ++i) graph.submit("consumer", vector_core, kernel, after(producer));
  }
};

}  // namespace

HEDDLE_MODULE(heddle::entry<GatesFillCores>("gates_fill_cores",
                                            "case: tasks behind gates take the cores that their producer needs"));
