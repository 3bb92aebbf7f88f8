// SPDX-License-Identifier: Apache-2.0
//
// Odd rounds need all of the window, the heap and the dependency pool at once. The rounds between leave the empty ring
// parked somewhere else each time. A heap that is not whole from there on is too small for the next round.
#include <algorithm>
#include <heddle/heddle.hpp>
#include <span>
#include <vector>

namespace {

using namespace heddle;

struct ParkedRing {
  int window = 7, pages = 8, pool = 5;

  void parameters(ParameterList& list) {
    list.add("window", window, "slots of the ring", 5, 1000);
    list.add("pages", pages, "KiB of its heap", 1, 1000);
    list.add("pool", pool, "entries of its dependency pool", 1, 1000);
  }
  static Defaults defaults() { return {.ranks = 1, .rounds = 16}; }

  void rank(Orchestrator& graph, const Io&) const {
    if (graph.round() % 2 == 0)
      park(graph, graph.round() / 2);
    else
      take_all(graph);
  }

 private:
  static void nothing(Block&) {}
  static void fill(Block&, View<std::uint8_t> out) { std::fill_n(out.data(), out.size(), std::uint8_t{7}); }

  void park(Orchestrator& graph, std::int64_t by) const {
    for (std::int64_t i = 0; i < by % (window - 1); ++i) graph.submit("park", vector_core, nothing);
    graph.submit("park_heap", vector_core, fill, new_tensor<std::uint8_t>(1024 * (by % pages + 1)));
  }
  void take_all(Orchestrator& graph) const {
    std::vector<TaskHandle> before{
        graph.submit("whole", vector_core, fill, new_tensor<std::uint8_t>(std::int64_t{1024} * pages))};
    while (static_cast<int>(before.size()) < pool) before.push_back(graph.submit("before", vector_core, nothing));
    graph.submit("consumer", vector_core, nothing, after(std::span<const TaskHandle>(before)));
    for (int i = pool + 1; i < window; ++i) graph.submit("last", vector_core, nothing);
  }
};

}  // namespace

HEDDLE_MODULE(heddle::entry<ParkedRing>("parked_ring",
                                        "case: an empty ring is parked past its start, and then filled"));
