// SPDX-License-Identifier: Apache-2.0
//
// A task waits in its kernel for a signal of its own rank, on every vector core of the cluster. Its producer becomes
// ready after it, and stands behind it.
#include <heddle/heddle.hpp>

namespace {

using namespace heddle;

struct WaitHoldsCore {
  bool repaired = false;
  int waiting_blocks = 2;

  void parameters(ParameterList& list) {
    list.add("repaired", repaired, "the wait comes after its producer");
    list.add("waiting_blocks", waiting_blocks, "blocks that wait, each on a vector core", 1, 1000);
  }

  static void plan(Plan& plan) { plan.window("ready", sizeof(std::int32_t)); }

  void rank(Orchestrator& graph, const Io&) const {
    const auto ready = graph.window("ready").signals<std::int32_t>().mine()[0];
    const auto epoch = static_cast<std::int32_t>(graph.round() + 1);
    const auto wait = [=](Block& block) { block.wait(ready, Compare::ge, epoch); };
    const auto produce = [=](Block& block) { block.notify(ready, epoch, Notify::set); };
    if (repaired) {
      const auto producer = graph.submit("produce", vector_core, produce);
      graph.spmd("consume", vector_core, waiting_blocks, wait, after(producer));
    } else {
      graph.spmd("consume", vector_core, waiting_blocks, wait);
      graph.submit("produce", vector_core, produce);
    }
  }
};

}  // namespace

HEDDLE_MODULE(heddle::entry<WaitHoldsCore>("wait_holds_core", "case: a wait holds the core that its producer needs"));
