// SPDX-License-Identifier: Apache-2.0
//
// Ranks in a ring: each sends to its right-hand neighbour and waits for its left-hand one. Each waits first.
#include <heddle/heddle.hpp>

namespace {

using namespace heddle;

struct WaitBeforeOwnSend {
  bool repaired = false;

  void parameters(ParameterList& list) { list.add("repaired", repaired, "each rank sends before it waits"); }
  static Defaults defaults() { return {.ranks = 4, .rounds = 1, .group = 2}; }

  static void plan(Plan& plan) { plan.window("arrived", sizeof(std::int32_t)); }

  void rank(Orchestrator& graph, const Io&) const {
    const auto arrived = graph.window("arrived").signals<std::int32_t>();
    const int right = (graph.rank() + 1) % graph.ranks();
    const auto epoch = static_cast<std::int32_t>(graph.round() + 1);
    graph.submit("exchange", vector_core, [=, sends_first = repaired](Block& block) {
      if (sends_first) block.notify(arrived.at(right)[0], epoch, Notify::set);
      block.wait(arrived.mine()[0], Compare::ge, epoch);
      if (!sends_first) block.notify(arrived.at(right)[0], epoch, Notify::set);
    });
  }
};

}  // namespace

HEDDLE_MODULE(heddle::entry<WaitBeforeOwnSend>("wait_before_own_send",
                                               "case: each rank waits for its peer before it sends"));
