// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include <random>

#include "doctor/wait_graph.hpp"

namespace heddle::doctor {
namespace {

// Nodes with three needs of one or two alternatives each, to anywhere; one in a thousand is dead.
WaitGraph random_graph(std::uint32_t nodes) {
  std::mt19937_64 random(1);
  WaitGraph graph;
  for (std::uint32_t i = 0; i < nodes; ++i) (void)graph.add(random() % 1'000 == 0);
  for (std::uint32_t i = 0; i < nodes; ++i) {
    for (int needs = 0; needs < 3; ++needs) {
      const auto need = graph.need(i);
      for (auto left = 1 + random() % 2; left > 0; --left)
        graph.alternative(need, static_cast<std::uint32_t>(random() % nodes), 0);
    }
  }
  return graph;
}

// A standstill of a large job: most tasks wait for a producer, and the last ones for each other.
WaitGraph chains(std::uint32_t nodes) {
  WaitGraph graph;
  for (std::uint32_t i = 0; i < nodes; ++i) (void)graph.add();
  for (std::uint32_t i = 0; i < nodes; ++i) {
    graph.needs(i, i < 64 ? (i + 1) % 64 : i - 64, 0);
    if (i >= 64) graph.needs(i, i - 1 - i % 63, 0);
  }
  return graph;
}

void report(benchmark::State& state, const WaitGraph& graph) {
  for (auto _ : state) benchmark::DoNotOptimize(analyse(graph));
  state.counters["edges"] = static_cast<double>(graph.edges().size());
  state.counters["edges/s"] =
      benchmark::Counter(static_cast<double>(graph.edges().size()), benchmark::Counter::kIsIterationInvariantRate);
}

void any_graph(benchmark::State& state) { report(state, random_graph(static_cast<std::uint32_t>(state.range(0)))); }
void long_chains(benchmark::State& state) { report(state, chains(static_cast<std::uint32_t>(state.range(0)))); }
BENCHMARK(any_graph)->Arg(1'000)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(long_chains)->Arg(1'000)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace heddle::doctor
