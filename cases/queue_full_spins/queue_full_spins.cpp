// SPDX-License-Identifier: Apache-2.0
//
// One producer, and twice as many consumers as there is room for candidates of early dispatch. Whoever finds the queue
// full and asks again for ever never comes to empty it.
#include <heddle/heddle.hpp>

namespace {

using namespace heddle;

struct QueueFullSpins {
  int consumers = 128;

  void parameters(ParameterList& list) { list.add("consumers", consumers, "tasks that wait for one", 1, 1000); }

  void rank(Orchestrator& graph, const Io&) const {
    const auto late = graph.submit("late", vector_core, [](Block& block) { block.spend(400'000); });
    const auto producer =
        graph.submit("producer", vector_core, [](Block& block) { block.spend(5'000); }, after(late), allow_early());
    for (int i = 0; i < consumers; ++i)
      graph.submit("consumer", vector_core, [](Block& block) { block.spend(200); }, after(producer));
  }
};

}  // namespace

HEDDLE_MODULE(heddle::entry<QueueFullSpins>("queue_full_spins",
                                            "case: a full queue of candidates is asked again for ever"));
