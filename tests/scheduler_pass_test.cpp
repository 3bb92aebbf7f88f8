// SPDX-License-Identifier: Apache-2.0
//
// What a scheduler's pass over its cores costs in virtual time, measured from outside: by how much later a task begins
// after its producer when the scheduler has more cores to look at.
#include <gtest/gtest.h>

#include <heddle/heddle.hpp>
#include <string_view>

#include "lab/dispatch_log.hpp"
#include "lab/run.hpp"
#include "lab/strategies/strategies.hpp"

namespace heddle {
namespace {

constexpr int links = 200;
constexpr std::uint64_t link_ns = 30'000;

// A chain on one core, while other cores run and have nothing to tell.
struct ChainBesideOthers {
  int others = 0;
  static void plan(Plan&) {}
  void rank(Orchestrator& graph, const Io&) const {
    const auto busy = [](Block& block) { block.spend(2 * links * link_ns); };
    if (others > 0) {
      graph.spmd("cube", cube_core, 8, busy);
      graph.spmd("vector", vector_core, others - 8, busy);
    }
    // When those run, each submit begins where the one before it has ended.
    std::vector<TaskHandle> last;
    for (int i = 0; i < links; ++i)
      last = {graph.submit("link", vector_core, [](Block& block) { block.spend(link_ns); }, after(last))};
  }
};

// From the end of a link to the begin of the next, in ns on average.
double gap(int others, std::uint64_t seed) {
  lab::RunSpec spec;
  spec.chip = "a2a3";
  // One scheduler with 24 cores; nothing else that varies takes time.
  spec.chip_set = {{"clusters", 8},         {"schedulers", 1},  {"scheduler_turn", 0}, {"status_visible", 0},
                   {"dispatch_visible", 0}, {"task_switch", 0}, {"early_dispatch", 0}};
  lab::DispatchLog log;
  const lab::RunResult result = lab::run_once(make_program(ChainBesideOthers{others}), spec,
                                              *lab::make_strategy("random"), seed, false, {.records = &log});
  EXPECT_TRUE(result.passed()) << result.sentence;
  std::uint64_t finished = 0, sum = 0, gaps = 0;
  for (const lab::DispatchRecord& record : log.records()) {
    if (log.names()[record.name] != "link") continue;
    if (record.kind == lab::DispatchRecord::Kind::finish) finished = record.time;
    if (record.kind != lab::DispatchRecord::Kind::begin || finished == 0) continue;
    sum += record.time - finished;
    ++gaps;
  }
  EXPECT_EQ(gaps, links - 1U);
  return static_cast<double>(sum) / static_cast<double>(gaps);
}

TEST(SchedulerPass, CostsThePublishedLoadOfEachCoreThatRuns) {
  constexpr double published = 100;  // ns, the mean of one status load
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const double alone = gap(0, seed), among = gap(23, seed);
    EXPECT_NEAR(among - alone, 23 * published, 0.1 * 23 * published)
        << "seed " << seed << ": " << alone << " and " << among << " ns";
  }
}

}  // namespace
}  // namespace heddle
