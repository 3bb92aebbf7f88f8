// SPDX-License-Identifier: Apache-2.0
//
// A kernel waits for what a later task tells, and a cohort that needs its core becomes ready in between. While a
// scheduler drains the chip for the cohort nothing else is handed out: a drain without a bound never ends.
#include <heddle/heddle.hpp>

namespace {

using namespace heddle;

struct DrainNoExit {
  static void plan(Plan& plan) { plan.window("told", sizeof(std::int32_t)); }

  static void rank(Orchestrator& graph, const Io&) {
    const auto told = graph.window("told").signals<std::int32_t>().mine()[0];
    const auto epoch = static_cast<std::int32_t>(graph.round() + 1);
    graph.submit("listen", vector_core, [=](Block& block) { block.wait(told, Compare::ge, epoch); });
    const auto before = graph.submit("before", cube_core, [](Block& block) { block.spend(20'000); });
    graph.spmd("cohort", vector_core, graph.width(), [](Block& block) { block.spend(1'000); }, sync_start());
    graph.submit("tell", cube_core, [=](Block& block) { block.notify(told, epoch, Notify::set); }, after(before));
  }
};

}  // namespace

HEDDLE_MODULE(heddle::entry<DrainNoExit>("drain_no_exit", "case: a drain keeps back what it waits for"));
