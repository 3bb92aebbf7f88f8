// SPDX-License-Identifier: Apache-2.0
//
// A barrier that is used again and again, and never returns its credits: the second time it lets everybody pass.
#include <heddle/heddle.hpp>

namespace {

using namespace heddle;

struct CreditReuse {
  bool repaired = false;
  int uses = 3;

  void parameters(ParameterList& list) {
    list.add("repaired", repaired, "each use waits for a credit of its own: the cell counts on");
    list.add("uses", uses, "times that a round passes the barrier", 1, 1000);
  }
  static Defaults defaults() { return {.ranks = 2, .rounds = 1}; }

  static void plan(Plan& plan) {
    plan.window("credit", static_cast<std::uint64_t>(plan.ranks()) * sizeof(std::int32_t));
  }

  void rank(Orchestrator& graph, const Io&) const {
    const Group peers = graph.group(graph.ranks());
    const auto credit = graph.window("credit").signals<std::int32_t>();
    const auto before = static_cast<std::int32_t>(graph.round() * uses);
    graph.submit("barriers", vector_core, [=, uses = uses, counts = repaired](Block& block) {
      for (int use = 0; use < uses; ++use) {
        for (Peer peer : peers.others()) block.notify(credit.at(peer)[peers.mine()], 1, Notify::add);
        for (Peer peer : peers.others()) block.wait(credit.mine()[peer], Compare::ge, counts ? before + use + 1 : 1);
      }
    });
  }
};

}  // namespace

HEDDLE_MODULE(heddle::entry<CreditReuse>("credit_reuse", "case: the credits of a barrier are never returned"));
