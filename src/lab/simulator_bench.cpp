// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lab/program_environment.hpp"
#include "lab/simulator.hpp"
#include "lab/strategies/strategies.hpp"

namespace heddle::lab {
namespace {

constexpr std::uint64_t events_a_run = 1'000'000;

void count(benchmark::State& state, std::uint64_t events) {
  state.counters["events/s"] = benchmark::Counter(static_cast<double>(events), benchmark::Counter::kIsRate);
}

// Pairs of agents that wake each other over a wire; the argument is how many pairs there are.
void ping_pong(benchmark::State& state) {
  const auto pairs = static_cast<std::uint64_t>(state.range(0));
  std::uint64_t events = 0;
  for (auto _ : state) {
    const auto strategy = make_strategy("random");
    strategy->begin(1, 0);
    Simulator simulator(*strategy);
    for (std::uint64_t pair = 0; pair < pairs; ++pair) {
      for (const AgentId side : {0U, 1U}) {
        const auto other = static_cast<AgentId>(2 * pair + (1 - side));
        simulator.spawn("agent " + std::to_string(2 * pair + side), [&simulator, other, side, pairs] {
          for (std::uint64_t turn = 0; turn < events_a_run / pairs / 2; ++turn) {
            if (side == 1 || turn != 0) simulator.park();
            simulator.charge(20);
            simulator.wake(other, simulator.now() + simulator.latency("wire", {180, 600, 1500}));
          }
        });
      }
    }
    (void)simulator.run();
    events += simulator.events();
  }
  count(state, events);
}
BENCHMARK(ping_pong)->Arg(1)->Arg(50)->Arg(600)->Unit(benchmark::kMillisecond);

struct Again final : Event {
  void happen() override {
    if (--left != 0) simulator->at(simulator->now() + simulator->latency("flight", {180, 600, 1500}), *this);
  }
  Simulator* simulator = nullptr;
  std::uint64_t left = 0;
};

// Events that schedule themselves again; the argument is how many are on their way.
void timed_events(benchmark::State& state) {
  const auto flying = static_cast<std::uint64_t>(state.range(0));
  std::uint64_t events = 0;
  for (auto _ : state) {
    const auto strategy = make_strategy("random");
    strategy->begin(1, 0);
    Simulator simulator(*strategy);
    std::vector<Again> flights(flying);
    for (Again& flight : flights) {
      flight.simulator = &simulator;
      flight.left = events_a_run / flying;
      simulator.at(0, flight);
    }
    (void)simulator.run();
    events += simulator.events();
  }
  count(state, events);
}
BENCHMARK(timed_events)->Arg(10)->Arg(1000)->Arg(20000)->Unit(benchmark::kMillisecond);

// An agent that computes, catches up and finds nothing earlier.
void run_ahead(benchmark::State& state) {
  const auto strategy = make_strategy("random");
  strategy->begin(1, 0);
  for (auto _ : state) {
    Simulator simulator(*strategy);
    simulator.spawn("agent", [] {
      for (int turn = 0; turn < 1'000'000; ++turn) {
        ProgramEnvironment::charge(10);
        ProgramEnvironment::catch_up();
      }
    });
    (void)simulator.run();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * 1'000'000);
}
BENCHMARK(run_ahead)->Unit(benchmark::kMillisecond);

// A simulator with a few agents from its making to its end, as each schedule of a hunt has one.
void make_and_destroy(benchmark::State& state) {
  const auto strategy = make_strategy("random");
  for (auto _ : state) {
    strategy->begin(1, 0);
    Simulator simulator(*strategy);
    for (int agent = 0; agent < 20; ++agent) simulator.spawn("agent " + std::to_string(agent), [] {});
    (void)simulator.run();
  }
}
BENCHMARK(make_and_destroy)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace heddle::lab
