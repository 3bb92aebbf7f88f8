// SPDX-License-Identifier: Apache-2.0
//
// A payload of many lines is written with scalar stores, which stay in the core's cache. One line of it is written
// back, then the peer is told, which reads all of them.
#include <heddle/heddle.hpp>

namespace {

using namespace heddle;

constexpr std::int64_t line = 16;  // elements of 4 bytes

struct OneLineWrittenBack {
  bool repaired = false;
  int lines = 112;

  void parameters(ParameterList& list) {
    list.add("repaired", repaired, "all lines are written back");
    list.add("lines", lines, "lines of the payload", 2, 10'000);
  }
  static Defaults defaults() { return {.ranks = 2, .rounds = 1, .group = 2}; }

  void plan(Plan& plan) const {
    plan.window("payload", static_cast<std::uint64_t>(lines * line) * sizeof(std::int32_t));
    plan.window("ready", sizeof(std::int32_t));
    plan.output<std::int32_t>("received", {lines, line});
  }

  void rank(Orchestrator& graph, const Io& io) const {
    const Group pair = graph.group(2);
    const int peer = pair[1 - pair.mine().index].rank;
    const auto payload = graph.window("payload").tensor<std::int32_t>(lines, line);
    const auto ready = graph.window("ready").signals<std::int32_t>();
    const auto epoch = static_cast<std::int32_t>(graph.round() + 1);
    graph.submit(
        "produce", vector_core,
        [=, all = repaired](Block& block, View<std::int32_t, 2> data) {
          for (std::int64_t row = 0; row < data.shape(0); ++row)
            for (std::int64_t i = 0; i < line; ++i) block.write(data, epoch, row, i);
          block.clean(all ? data : data.rows(0, 1));
          block.notify(ready.at(peer)[0], epoch, Notify::set);
        },
        out(payload.mine()));
    const auto told = graph.dummy("told", completes_when(ready.mine()[0], Compare::ge, epoch));
    graph.submit(
        "consume", vector_core,
        [=](Block& block, View<std::int32_t, 2> received) { block.get(received, payload.at(peer)); },
        out(io.output<std::int32_t, 2>("received")), after(told));
  }

  static void check(const HostIo& io) {
    for (const std::int32_t each : io.tensor<std::int32_t>("received"))
      io.expect(each == io.round() + 1, "a line was read before it was written back");
  }
};

}  // namespace

HEDDLE_MODULE(heddle::entry<OneLineWrittenBack>("one_line_written_back",
                                                "case: one line of a payload is written back, and all of it is read"));
