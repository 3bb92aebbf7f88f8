// SPDX-License-Identifier: Apache-2.0
//
// Whole schedules of a small graph: 20 tasks on 2 ranks, with a signal each way, from preparing the session to the
// verdict. On one core.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <cstdint>
#include <heddle/program.hpp>
#include <memory>

#include "graph/memory.hpp"
#include "lab/run.hpp"
#include "lab/strategies/strategies.hpp"

namespace heddle::lab {
namespace {

struct Small {
  int chain = 8;
  void plan(Plan& plan) const {
    plan.window("arrived", sizeof(std::int32_t));
    plan.output<std::int32_t>("x", {64});
  }
  void rank(Orchestrator& graph, const Io& io) const {
    const auto arrived = graph.window("arrived").signals<std::int32_t>();
    const auto x = io.output<std::int32_t>("x");
    const int peer = 1 - graph.rank();
    graph.submit("tell", vector_core, [=](Block& block) { block.notify(arrived.at(peer)[0], 1, Notify::add); });
    const auto round = static_cast<std::int32_t>(graph.round()) + 1;
    const auto heard =
        graph.submit("hear", vector_core, [=](Block& block) { block.wait(arrived.mine()[0], Compare::ge, round); });
    for (int i = 0; i < chain; ++i)
      graph.submit("step", vector_core, [](Block&, View<std::int32_t> view) { view(0) += 1; }, inout(x), after(heard));
  }
};

void whole_schedules(benchmark::State& state) {
  const std::shared_ptr<ProgramBase> program = make_program(Small{});
  RunSpec spec;
  spec.ranks = 2;
  if (state.range(0) != 0)
    for (const NamedHelp& checker : checker_names()) spec.checkers.push_back(checker.name);
  const graph::MemoryReuse reuse;
  const auto strategy = make_strategy("random");
  std::uint64_t seed = 1;
  std::uint64_t events = 0;
  for (auto _ : state) {
    const RunResult result = run_once(program, spec, *strategy, seed++);
    if (!result.passed()) state.SkipWithError(result.sentence.c_str());
    events += result.events;
  }
  state.SetItemsProcessed(state.iterations());
  state.counters["events"] = benchmark::Counter(static_cast<double>(events), benchmark::Counter::kIsRate);
}
BENCHMARK(whole_schedules)->Arg(0)->Arg(1)->ArgName("checkers")->Unit(benchmark::kMicrosecond);

// Many cores busy at once: 16 ranks with every vector core in a block that waits.
struct Wide {
  void plan(Plan& plan) const { plan.window("go", sizeof(std::int32_t)); }
  void rank(Orchestrator& graph, const Io&) const {
    const auto go = graph.window("go").signals<std::int32_t>();
    graph.spmd("wait", vector_core, 48, [=](Block& block) { block.wait(go.mine()[0], Compare::ge, 1); });
    graph.spmd("go", cube_core, 24, [=](Block& block) { block.notify(go.mine()[0], 1, Notify::set); });
  }
};

void memory_of_a_core(benchmark::State& state) {
  const auto resident = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_maxrss) * 1024.0;
  };
  const std::shared_ptr<ProgramBase> program = make_program(Wide{});
  RunSpec spec;
  spec.ranks = 16;
  const auto strategy = make_strategy("random");
  const double before = resident();
  for (auto _ : state) {
    const RunResult result = run_once(program, spec, *strategy, 1);
    if (!result.passed()) state.SkipWithError(result.sentence.c_str());
  }
  state.counters["bytes_per_core"] = (resident() - before) / (16 * 72);
}
BENCHMARK(memory_of_a_core)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace heddle::lab
