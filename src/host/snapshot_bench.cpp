// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <heddle/heddle.hpp>
#include <thread>

#include "host/session_impl.hpp"
#include "snapshot/json.hpp"

namespace heddle::host {
namespace {

// Sixteen ranks whose tasks, one chain a rank, wait for one that has not begun to tell them, while a kernel runs.
struct ManyTasks {
  int tasks = 0;
  std::atomic<bool>* go_on = nullptr;
  std::atomic<int>* submitted = nullptr;

  static void plan(Plan& plan) { plan.window("gate", 64); }
  void rank(Orchestrator& graph, const Io&) const {
    static float cells[64];
    const auto gate = graph.window("gate").signals<std::int32_t>();
    float& cell = cells[graph.rank()];
    graph.submit(
        "first", vector_core, [gate](Block& block, View<float>) { block.wait(gate.mine()[0], Compare::ge, 1); },
        inout(wrap(&cell, 1)));
    for (int i = 1; i < tasks; ++i)
      graph.submit("one of many", vector_core, [](Block&, View<float>) {}, inout(wrap(&cell, 1)));
    ++*submitted;
    if (graph.rank() != 0) return;
    graph.submit("opens", vector_core, [gate, on = go_on, ranks = graph.ranks()](Block& block) {
      while (*on) ::sched_yield();
      for (int r = 0; r < ranks; ++r) block.notify(gate.at(r)[0], 1, Notify::set);
    });
  }
};

void of_live_tasks(benchmark::State& state, bool writes) {
  constexpr int ranks = 16;
  std::atomic<bool> go_on{true};
  std::atomic<int> submitted{0};
  Device device = Device::open("host", {.ranks = ranks, .threads = 2});
  Session session = device.prepare(ManyTasks{static_cast<int>(state.range(0)) / ranks, &go_on, &submitted});
  std::thread round([&] { session.run(); });
  while (submitted != ranks) ::sched_yield();
  std::size_t tasks = 0, bytes = 0;
  for (auto _ : state) {
    const snapshot::Snapshot taken = heddle::detail::SessionAccess::of(session).snapshot();
    tasks = taken.tasks.size();
    if (writes) bytes = snapshot::to_json(taken).size();
  }
  go_on = false;
  round.join();
  state.counters["tasks"] = static_cast<double>(tasks);
  if (writes) state.counters["bytes"] = static_cast<double>(bytes);
}
void take(benchmark::State& state) { of_live_tasks(state, false); }
void take_and_write(benchmark::State& state) { of_live_tasks(state, true); }
BENCHMARK(take)->Arg(1'000)->Arg(100'000)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(take_and_write)->Arg(100'000)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace heddle::host
