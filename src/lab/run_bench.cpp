// SPDX-License-Identifier: Apache-2.0
//
// Whole schedules from preparing the session to the verdict, on one core: how many, what the checkers add, and how much
// memory a simulated core takes.
#include <benchmark/benchmark.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <ctime>
#include <fstream>
#include <heddle/program.hpp>
#include <memory>
#include <thread>

#include "graph/memory.hpp"
#include "lab/bench_programs.hpp"
#include "lab/run.hpp"
#include "lab/strategies/strategies.hpp"

namespace heddle::lab {
namespace {

std::vector<std::string> all_checkers() {
  std::vector<std::string> names;
  for (const NamedHelp& checker : checker_names()) names.push_back(checker.name);
  return names;
}

void whole_schedules(benchmark::State& state) {
  const std::shared_ptr<ProgramBase> program = make_program(SmallProgram{});
  RunSpec spec;
  spec.ranks = 2;
  if (state.range(0) != 0) spec.checkers = all_checkers();
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

// A round of 1,400 tasks on a whole chip. `tasks` is their number, as run.
void layers_on_a5(benchmark::State& state) {
  const std::shared_ptr<ProgramBase> program = make_program(LayersProgram{});
  RunSpec spec;
  spec.chip = "a5";
  spec.ranks = 1;
  const graph::MemoryReuse reuse;
  const auto strategy = make_strategy("random");
  std::uint64_t seed = 1, tasks = 0;
  for (auto _ : state) {
    const RunResult result = run_once(program, spec, *strategy, seed++);
    if (!result.passed()) state.SkipWithError(result.sentence.c_str());
    tasks = result.tasks;
  }
  state.counters["tasks"] = static_cast<double>(tasks);
}
BENCHMARK(layers_on_a5)->Unit(benchmark::kMillisecond);

double processor_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// Each seed without a checker and with all of them: `ratio` is what a run costs with them, of what it costs without.
template <class Program>
void cost_of_checkers(benchmark::State& state, Program made, int ranks) {
  const std::shared_ptr<ProgramBase> program = make_program(Program(made));
  RunSpec specs[2];
  specs[0].ranks = specs[1].ranks = ranks;
  specs[1].checkers = all_checkers();
  double seconds[2] = {};
  const graph::MemoryReuse reuse;
  const auto strategy = make_strategy("random");
  std::uint64_t seed = 1;
  for (auto _ : state) {
    for (const std::uint64_t turn : {seed % 2, 1 - seed % 2}) {
      const double before = processor_seconds();
      const RunResult result = run_once(program, specs[turn], *strategy, seed);
      seconds[turn] += processor_seconds() - before;
      if (!result.passed()) state.SkipWithError(result.sentence.c_str());
    }
    ++seed;
  }
  state.counters["ratio"] = seconds[1] / seconds[0];
}
BENCHMARK_CAPTURE(cost_of_checkers, small, SmallProgram{}, 2)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(cost_of_checkers, exchange, ExchangeProgram{}, 8)->Unit(benchmark::kMicrosecond);

double resident_bytes() {
  std::ifstream file("/proc/self/statm");
  double all = 0;
  double resident = 0;
  file >> all >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

// Many cores busy at once: every vector core in a block that waits, and measured by the last that notifies.
struct Wide {
  std::atomic<double>* most;
  void plan(Plan& plan) const { plan.window("go", sizeof(std::int32_t)); }
  void rank(Orchestrator& graph, const Io&) const {
    const auto go = graph.window("go").signals<std::int32_t>();
    graph.spmd("wait", vector_core, 48, [=](Block& block) { block.wait(go.mine()[0], Compare::ge, 24); });
    graph.spmd("go", cube_core, 24, [=, this](Block& block) {
      block.spend(1'000'000);  // until all that wait are there
      if (block.index() == 0) most->store(std::max(most->load(), resident_bytes()));
      block.notify(go.mine()[0], 1, Notify::add);
    });
  }
};

// In a thread of its own, which has no stacks and no memory of runs before.
void memory_of_a_core(benchmark::State& state) {
  constexpr int ranks = 16;
  constexpr int cores = 72;
  for (auto _ : state) {
    std::thread([&state] {
      ::malloc_trim(0);
      const double before = resident_bytes();
      std::atomic<double> most{0};
      RunSpec spec;
      spec.ranks = ranks;
      const RunResult result = run_once(make_program(Wide{&most}), spec, *make_strategy("random"), 1);
      if (!result.passed()) state.SkipWithError(result.sentence.c_str());
      state.counters["bytes_per_core"] = (most.load() - before) / (ranks * cores);
    }).join();
  }
}
BENCHMARK(memory_of_a_core)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace heddle::lab
