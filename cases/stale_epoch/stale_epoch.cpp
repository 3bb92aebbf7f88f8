// SPDX-License-Identifier: Apache-2.0
//
// A barrier by counters that only go up. The expected epoch starts at 1 in every round though the counters do not: from
// the second round on, every wait is satisfied by what the round before has left.
#include <heddle/heddle.hpp>

namespace {

using namespace heddle;

struct StaleEpoch {
  bool repaired = false;

  void parameters(ParameterList& list) { list.add("repaired", repaired, "the expected epoch counts rounds"); }
  static Defaults defaults() { return {.ranks = 4, .rounds = 9}; }

  static void plan(Plan& plan) {
    plan.window("arrived", static_cast<std::uint64_t>(plan.ranks()) * sizeof(std::int32_t));
  }

  void rank(Orchestrator& graph, const Io&) const {
    const Group peers = graph.group(graph.ranks());
    const auto arrived = graph.window("arrived").signals<std::int32_t>();
    graph.submit("barrier", vector_core, [=, counts_rounds = repaired](Block& block) {
      const auto epoch = static_cast<std::int32_t>(counts_rounds ? block.round() + 1 : 1);
      for (Peer peer : peers.others()) block.notify(arrived.at(peer)[peers.mine()], 1, Notify::add);
      for (Peer peer : peers.others()) block.wait(arrived.mine()[peer], Compare::ge, epoch);
    });
  }
};

}  // namespace

HEDDLE_MODULE(heddle::entry<StaleEpoch>("stale_epoch", "case: every wait is satisfied by the round before"));
