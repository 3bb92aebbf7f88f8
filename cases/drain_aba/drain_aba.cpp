// SPDX-License-Identifier: Apache-2.0
//
// Cohorts as wide as the chip, one after the other, whose blocks meet; each has to start all at once. A drain that
// takes an acknowledgement of the attempt before for one of its own lets a cohort start before its cores are idle.
#include <heddle/heddle.hpp>

namespace {

using namespace heddle;

struct DrainAba {
  int cohorts = 3;

  void parameters(ParameterList& list) { list.add("cohorts", cohorts, "cohorts that fill the chip", 1, 100); }
  static Defaults defaults() { return {.ranks = 1, .rounds = 2}; }

  void plan(Plan& plan) const { plan.window("arrived", static_cast<std::uint64_t>(cohorts) * sizeof(std::int32_t)); }

  void rank(Orchestrator& graph, const Io&) const {
    const auto arrived = graph.window("arrived").signals<std::int32_t>().mine();
    const std::int64_t width = graph.width();
    const auto all = static_cast<std::int32_t>(width * (graph.round() + 1));
    for (int cohort = 0; cohort < cohorts; ++cohort) {
      graph.spmd("noise", vector_core, 7, [](Block& block) { block.spend(20'000); });
      graph.spmd(
          "cohort", vector_core, width,
          [cell = arrived[cohort], all](Block& block) {
            block.notify(cell, 1, Notify::add);
            block.wait(cell, Compare::ge, all);
          },
          sync_start());
    }
  }
};

}  // namespace

HEDDLE_MODULE(heddle::entry<DrainAba>("drain_aba",
                                      "case: a drain takes an earlier attempt's acknowledgement for its own"));
