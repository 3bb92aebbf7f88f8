// SPDX-License-Identifier: Apache-2.0
//
// One rank has some tasks at once, and then tells the others, which wait for it. A scheduler that drops one of the
// ready tasks on a rare path stops this rank, and with it all that wait.
#include <heddle/heddle.hpp>
#include <vector>

namespace {

using namespace heddle;

struct LostReadyTask {
  int parts = 7;

  void parameters(ParameterList& list) { list.add("parts", parts, "tasks that are ready at the same time", 1, 1000); }
  static Defaults defaults() { return {.ranks = 16, .rounds = 1}; }

  static void plan(Plan& plan) { plan.window("told", sizeof(std::int32_t)); }

  void rank(Orchestrator& graph, const Io&) const {
    const auto told = graph.window("told").signals<std::int32_t>();
    const auto epoch = static_cast<std::int32_t>(graph.round() + 1);
    if (graph.rank() != graph.ranks() / 2) {
      graph.submit("listen", vector_core,
                   [own = told.mine()[0], epoch](Block& block) { block.wait(own, Compare::ge, epoch); });
      return;
    }
    std::vector<TaskHandle> made;
    for (int i = 0; i < parts; ++i)
      made.push_back(graph.submit("part", vector_core, [](Block& block) { block.spend(3'000); }));
    graph.submit(
        "tell", vector_core,
        [=, ranks = graph.ranks()](Block& block) {
          for (int peer = 0; peer < ranks; ++peer) block.notify(told.at(peer)[0], epoch, Notify::set);
        },
        after(made));
  }
};

}  // namespace

HEDDLE_MODULE(heddle::entry<LostReadyTask>("lost_ready_task",
                                           "case: a scheduler loses a ready task, and fifteen ranks wait for it"));
