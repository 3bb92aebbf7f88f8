// SPDX-License-Identifier: Apache-2.0
//
// Every rank waits for chunks of its peer and scatters its own. The waits are submitted first and fill the cores; the
// scatters that the peer waits for stand behind them. As deferred waits they hold no core.
#include <heddle/heddle.hpp>

namespace {

using namespace heddle;

constexpr std::int64_t width = 64;

struct DeferWaitPair {
  bool repaired = false;
  int chunks = 4;

  void parameters(ParameterList& list) {
    list.add("repaired", repaired, "the waits are deferred: they complete when the signal says so");
    list.add("chunks", chunks, "chunks that each rank scatters, and waits for", 1, 1000);
  }
  static Defaults defaults() { return {.ranks = 2, .rounds = 1, .group = 2}; }

  void plan(Plan& plan) const {
    plan.window("inbox", static_cast<std::uint64_t>(chunks * width) * sizeof(std::int32_t));
    plan.window("arrived", static_cast<std::uint64_t>(chunks) * sizeof(std::int32_t));
    plan.input<std::int32_t>("data", {chunks, width});
  }

  void rank(Orchestrator& graph, const Io& io) const {
    const Group pair = graph.group(2);
    const int peer = pair[1 - pair.mine().index].rank;
    const auto inbox = graph.window("inbox").tensor<std::int32_t>(chunks, width);
    const auto arrived = graph.window("arrived").signals<std::int32_t>();
    const auto epoch = static_cast<std::int32_t>(graph.round() + 1);
    for (int chunk = 0; chunk < chunks; ++chunk) {
      const auto cell = arrived.mine()[chunk];
      if (repaired)
        graph.dummy("wait", completes_when(cell, Compare::ge, epoch));
      else
        graph.submit("wait", vector_core, [=](Block& block) { block.wait(cell, Compare::ge, epoch); });
    }
    for (int chunk = 0; chunk < chunks; ++chunk)
      graph.submit(
          "scatter", vector_core,
          [=](Block& block, View<const std::int32_t, 2> data) {
            block.put(inbox.at(peer).rows(chunk, 1), data);
            block.notify(arrived.at(peer)[chunk], epoch, Notify::set);
          },
          in(io.input<std::int32_t, 2>("data").rows(chunk, 1)));
  }
};

}  // namespace

HEDDLE_MODULE(heddle::entry<DeferWaitPair>("defer_wait_pair",
                                           "case: waits fill the cores that the peer's chunks need"));
