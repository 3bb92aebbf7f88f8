// SPDX-License-Identifier: Apache-2.0
//
// One rank allocates a window that the others do not: what each of them takes for its next window is another one, and
// the peers of the odd rank never hear of it. The runtime has to say who differs, and in what.
#include <heddle/heddle.hpp>

namespace {

using namespace heddle;

struct AsymmetricAllocation {
  bool repaired = false;

  void parameters(ParameterList& list) {
    list.add("repaired", repaired, "all ranks allocate the window, whether they use it or not");
  }
  static Defaults defaults() { return {.ranks = 4, .rounds = 1}; }

  void rank(Orchestrator& graph, const Io&) const {
    const bool is_last = graph.rank() == graph.ranks() - 1;
    if (repaired || is_last) graph.alloc_window("spare", 128);
    const auto arrived = graph.alloc_window("arrived", sizeof(std::int32_t)).signals<std::int32_t>();
    const Group ring = graph.group(graph.ranks());
    const int next = ring[(ring.mine().index + 1) % ring.size()].rank;
    graph.submit("send", vector_core, [=](Block& block) { block.notify(arrived.at(next)[0], 1, Notify::set); });
    graph.submit("wait", vector_core, [=](Block& block) { block.wait(arrived.mine()[0], Compare::eq, 1); });
  }
};

}  // namespace

HEDDLE_MODULE(heddle::entry<AsymmetricAllocation>("asymmetric_allocation",
                                                  "case: one rank allocates a window that the others do not"));
