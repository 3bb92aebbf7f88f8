// SPDX-License-Identifier: Apache-2.0
//
// A rank raises its peer's end flag, waits for its own and lowers the peer's again for the next round. That its own
// flag is up does not say that the peer has read the other one: a slow peer finds it lowered, and waits in vain.
#include <heddle/heddle.hpp>

namespace {

using namespace heddle;

struct ResetReordered {
  bool repaired = false;

  void parameters(ParameterList& list) { list.add("repaired", repaired, "flags count rounds, and are never lowered"); }
  static Defaults defaults() { return {.ranks = 2, .rounds = 2}; }

  static void plan(Plan& plan) { plan.window("end", sizeof(std::int32_t)); }

  void rank(Orchestrator& graph, const Io&) const {
    const Group pair = graph.group(graph.ranks());
    const auto end = graph.window("end").signals<std::int32_t>();
    const auto up = repaired ? static_cast<std::int32_t>(graph.round() + 1) : 1;
    const auto set = [=](Block& block, std::int32_t value) {
      for (Peer peer : pair.others()) block.notify(end.at(peer)[0], value, Notify::set);
    };
    const auto raised = graph.submit("raise_end", vector_core, set, up);
    const auto seen = graph.submit(
        "wait_end", vector_core, [=](Block& block) { block.wait(end.mine()[0], Compare::ge, up); }, after(raised));
    if (!repaired) graph.submit("reset_end", vector_core, set, 0, after(seen));
  }
};

}  // namespace

HEDDLE_MODULE(heddle::entry<ResetReordered>("reset_reordered",
                                            "case: an end flag is reset before the peer has read it"));
