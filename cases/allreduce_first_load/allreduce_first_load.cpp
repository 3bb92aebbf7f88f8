// SPDX-License-Identifier: Apache-2.0
//
// A sum over two ranks: each stages its input in a window, and each loads what the other one has staged. Nothing says
// that the peer has staged it when it is loaded.
#include <heddle/heddle.hpp>

namespace {

using namespace heddle;

struct AllreduceFirstLoad {
  bool repaired = false;
  int elements = 256;

  void parameters(ParameterList& list) {
    list.add("repaired", repaired, "a rank says that it has staged its input, and the peer waits for that");
    list.add("elements", elements, "elements that are summed", 1, 1e6);
  }
  static Defaults defaults() { return {.ranks = 2, .rounds = 1, .group = 2}; }

  void plan(Plan& plan) const {
    plan.window("staged", static_cast<std::uint64_t>(elements) * sizeof(std::int32_t));
    plan.window("ready", sizeof(std::int32_t));
    plan.input<std::int32_t>("input", {elements});
    plan.output<std::int32_t>("sum", {elements});
  }

  void rank(Orchestrator& graph, const Io& io) const {
    const Group pair = graph.group(2);
    const int peer = pair[1 - pair.mine().index].rank;
    const auto staged = graph.window("staged").tensor<std::int32_t>(elements);
    const auto ready = graph.window("ready").signals<std::int32_t>();
    const auto epoch = static_cast<std::int32_t>(graph.round() + 1);
    const auto stage = graph.submit(
        "stage_in", vector_core,
        [](Block&, View<const std::int32_t> from, View<std::int32_t> to) {
          for (std::int64_t i = 0; i < from.size(); ++i) to(i) = from(i);
        },
        in(io.input<std::int32_t>("input")), out(staged.mine()));
    TaskHandle before = stage;
    if (repaired) {
      const auto tell = graph.submit(
          "tell", vector_core, [=](Block& block) { block.notify(ready.at(peer)[0], epoch, Notify::set); },
          after(stage));
      before = graph.dummy("peer_is_ready", completes_when(ready.mine()[0], Compare::ge, epoch), after(tell));
    }
    graph.submit(
        "reduce", vector_core,
        [=](Block& block, View<const std::int32_t> mine, View<std::int32_t> theirs, View<std::int32_t> sum) {
          block.get(theirs, staged.at(peer));
          for (std::int64_t i = 0; i < sum.size(); ++i) sum(i) = mine(i) + theirs(i);
        },
        in(staged.mine()), scratch<std::int32_t>(elements), out(io.output<std::int32_t>("sum")), after(before));
  }

  static void fill(HostIo& io) {
    for (std::int32_t& each : io.input<std::int32_t>("input")) each = value(io.rank(), io.round());
  }
  static void check(const HostIo& io) {
    const std::int32_t expected = value(io.rank(), io.round()) + value(io.rank() ^ 1, io.round());
    for (const std::int32_t each : io.tensor<std::int32_t>("sum"))
      io.expect(each == expected, "the peer's part was loaded before it was staged");
  }

 private:
  static std::int32_t value(int rank, std::int64_t round) {
    return static_cast<std::int32_t>((rank + 1) * 1'000 + round);
  }
};

}  // namespace

HEDDLE_MODULE(heddle::entry<AllreduceFirstLoad>("allreduce_first_load",
                                                "case: a peer's part is loaded before the peer has staged it"));
