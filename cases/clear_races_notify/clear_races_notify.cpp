// SPDX-License-Identifier: Apache-2.0
//
// Every rank clears its signals when a round begins, so that they count from zero. A peer that is faster has begun the
// round already: its notify is cleared as well, and is waited for in vain.
#include <heddle/heddle.hpp>

namespace {

using namespace heddle;

struct ClearRacesNotify {
  bool repaired = false;

  void parameters(ParameterList& list) {
    list.add("repaired", repaired, "signals are cleared when all of them have been waited for");
  }
  static Defaults defaults() { return {.ranks = 2, .rounds = 2}; }

  static void plan(Plan& plan) { plan.window("arrived", sizeof(std::int32_t)); }

  void rank(Orchestrator& graph, const Io&) const {
    const Group peers = graph.group(graph.ranks());
    const auto arrived = graph.window("arrived").signals<std::int32_t>();
    const auto clear = [](Block& block, View<std::int32_t> cells) {
      block.write(cells, 0, 0);
      block.clean(cells);
    };
    const auto send = [=](Block& block) {
      for (Peer peer : peers.others()) block.notify(arrived.at(peer)[0], 1, Notify::add);
    };
    const auto wait = [=](Block& block) { block.wait(arrived.mine()[0], Compare::ge, peers.size() - 1); };
    if (repaired) {
      const auto sent = graph.submit("send", vector_core, send);
      const auto came = graph.submit("wait", vector_core, wait, after(sent));
      graph.submit("clear", vector_core, clear, out(arrived.tensor()), after(came));
    } else {
      const auto cleared = graph.submit("clear", vector_core, clear, out(arrived.tensor()));
      const auto sent = graph.submit("send", vector_core, send, after(cleared));
      graph.submit("wait", vector_core, wait, after(sent));
    }
  }
};

}  // namespace

HEDDLE_MODULE(heddle::entry<ClearRacesNotify>("clear_races_notify",
                                              "case: a rank clears a signal that a fast peer has sent"));
