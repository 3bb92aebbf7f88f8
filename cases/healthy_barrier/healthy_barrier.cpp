// SPDX-License-Identifier: Apache-2.0
//
// A barrier by notify and wait, used several times in a round, with a cell for each peer and a number for each use.
// Nothing is wrong with it.
#include <heddle/heddle.hpp>

namespace {

using namespace heddle;

struct HealthyBarrier {
  int uses = 4;

  void parameters(ParameterList& list) { list.add("uses", uses, "times that a round passes the barrier", 1, 1000); }
  static Defaults defaults() { return {.ranks = 8, .rounds = 3}; }

  static void plan(Plan& plan) {
    plan.window("arrived", static_cast<std::uint64_t>(plan.ranks()) * sizeof(std::int32_t));
  }

  void rank(Orchestrator& graph, const Io&) const {
    const Group peers = graph.group(graph.ranks());
    const auto arrived = graph.window("arrived").signals<std::int32_t>();
    graph.submit("barriers", vector_core, [=, uses = uses](Block& block) {
      for (int use = 0; use < uses; ++use) {
        const auto number = static_cast<std::int32_t>(block.round() * uses + use + 1);
        for (Peer peer : peers.others()) block.notify(arrived.at(peer)[peers.mine()], number, Notify::set);
        for (Peer peer : peers.others()) block.wait(arrived.mine()[peer], Compare::ge, number);
      }
    });
  }
};

}  // namespace

HEDDLE_MODULE(heddle::entry<HealthyBarrier>("healthy_barrier", "control: a barrier that has no fault"));
