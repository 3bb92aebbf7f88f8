// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include "base/recorder.hpp"
#include "base/ticks.hpp"

namespace heddle::base {
namespace {

void recorder_write(benchmark::State& state) {
  RecorderSet set(1, static_cast<std::uint32_t>(state.range(0)));
  std::uint64_t now = 1;
  for (auto _ : state) {
    set[0].write(Event::block, now, now + 10, 42, 3, 7, 1);
    now += 20;
    benchmark::ClobberMemory();
  }
}
BENCHMARK(recorder_write)->Arg(1024)->Arg(1 << 20);

void recorder_write_frozen(benchmark::State& state) {
  RecorderSet set(1, 1024, false);
  std::uint64_t now = 1;
  for (auto _ : state) {
    set[0].write(Event::block, now, now + 10, 42, 3, 7, 1);
    now += 20;
    benchmark::ClobberMemory();
  }
}
BENCHMARK(recorder_write_frozen);

void recorder_write_with_time(benchmark::State& state) {
  RecorderSet set(1, 1024);
  std::uint64_t last = ticks();
  for (auto _ : state) {
    const std::uint64_t now = ticks();
    set[0].write(Event::block, last, now, 42, 3, 7, 1);
    last = now;
    benchmark::ClobberMemory();
  }
}
BENCHMARK(recorder_write_with_time);

void recorder_snapshot(benchmark::State& state) {
  RecorderSet set(1, 1024);
  for (std::uint64_t n = 0; n < 2048; ++n) set[0].write(Event::block, n, n + 1, 42, 3, 7, 1);
  for (auto _ : state) benchmark::DoNotOptimize(set.snapshot());
}
BENCHMARK(recorder_snapshot);

}  // namespace
}  // namespace heddle::base
