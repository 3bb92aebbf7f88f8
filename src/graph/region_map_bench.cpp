// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "graph/region_map.hpp"

namespace heddle::graph {
namespace {

const void* at(std::uintptr_t address) { return reinterpret_cast<const void*>(address); }

// Tasks complete `window` tasks after they were submitted.
struct Completion {
  TaskRef now = 0;
  TaskRef window = 0;
  bool operator()(TaskRef task) const { return task + window > now; }
};

// Cells of `bytes` in two buffers; each task reads three neighbours of one and writes one of the other.
void stencil(benchmark::State& state) {
  constexpr std::int64_t cells = 32;
  const auto bytes = static_cast<std::uint64_t>(state.range(0));
  RegionMap map;
  Completion live{0, 64};
  std::uintptr_t from = 0x10000, to = 0x20000;
  std::uint64_t edges = 0;
  const auto count = [&edges](TaskRef) { ++edges; };
  const auto cell = [bytes](std::uintptr_t buffer, std::int64_t index) {
    const std::int64_t shape = static_cast<std::int64_t>(bytes), stride = 1;
    return Region::from_view(at(buffer + static_cast<std::uint64_t>((index + cells) % cells) * bytes), 1, &shape,
                             &stride, 1);
  };
  std::int64_t index = 0;
  for (auto step : state) {
    (void)step;
    const Region left = cell(from, index - 1), middle = cell(from, index), right = cell(from, index + 1);
    const Region output = cell(to, index);
    ++live.now;
    map.collect(left, Access::read, live, count);
    map.collect(middle, Access::read, live, count);
    map.collect(right, Access::read, live, count);
    map.collect(output, Access::write, live, count);
    map.record(left, Access::read, live.now, live);
    map.record(middle, Access::read, live.now, live);
    map.record(right, Access::read, live.now, live);
    map.record(output, Access::write, live.now, live);
    if (++index == cells) {
      index = 0;
      std::swap(from, to);
    }
  }
  state.counters["edges_per_task"] = static_cast<double>(edges) / static_cast<double>(state.iterations());
}
BENCHMARK(stencil)->Arg(8)->Arg(64);

// Writes that never come back to a cell before 100,000 others; `range(1)` tasks are in flight.
void fresh_writes(benchmark::State& state) {
  constexpr std::uint64_t cells = 100'000;
  const auto bytes = static_cast<std::uint64_t>(state.range(0));
  RegionMap map;
  Completion live{0, static_cast<TaskRef>(state.range(1))};
  std::uint64_t edges = 0, cell = 0;
  for (auto step : state) {
    (void)step;
    ++live.now;
    const Region region = Region::contiguous(at(0x10000 + cell * bytes), bytes);
    map.collect(region, Access::write, live, [&edges](TaskRef) { ++edges; });
    map.record(region, Access::write, live.now, live);
    cell = cell + 1 == cells ? 0 : cell + 1;
  }
  if (edges != 0) state.SkipWithError("distinct cells gave an edge");
  state.counters["regions"] = map.regions();
}
BENCHMARK(fresh_writes)->Args({8, 64})->Args({64, 1024})->Args({64, 16384})->Args({4096, 1024})->Args({4160, 1024});

// 256 tiles of a buffer are written one by one, then the whole is read; per access.
void tiles_then_whole(benchmark::State& state) {
  constexpr std::uint64_t tiles = 256, tile = 4096;
  RegionMap map;
  Completion live{0, static_cast<TaskRef>(state.range(0))};
  std::uint64_t edges = 0, index = 0;
  const auto count = [&edges](TaskRef) { ++edges; };
  for (auto step : state) {
    (void)step;
    ++live.now;
    const bool whole = index == tiles;
    const Region region =
        whole ? Region::contiguous(at(0x100000), tiles * tile) : Region::contiguous(at(0x100000 + index * tile), tile);
    const Access access = whole ? Access::read : Access::write;
    map.collect(region, access, live, count);
    map.record(region, access, live.now, live);
    index = whole ? 0 : index + 1;
  }
  state.counters["edges_per_access"] = static_cast<double>(edges) / static_cast<double>(state.iterations());
}
BENCHMARK(tiles_then_whole)->Arg(32)->Arg(1024);

// Columns of one matrix in turn: all have the same bounding box.
void columns(benchmark::State& state) {
  const std::int64_t width = state.range(0), shape[] = {1024, 1}, stride[] = {width, 1};
  RegionMap map;
  Completion live{0, 256};
  std::uint64_t edges = 0;
  std::int64_t column = 0;
  const auto access = [&] {
    ++live.now;
    const Region region =
        Region::from_view(at(0x1000000 + static_cast<std::uint64_t>(column) * 4), 2, shape, stride, 4);
    map.collect(region, Access::write, live, [&edges](TaskRef) { ++edges; });
    map.record(region, Access::write, live.now, live);
    column = column + 1 == width ? 0 : column + 1;
  };
  for (std::int64_t n = 0; n < width; ++n) access();
  for (auto step : state) {
    (void)step;
    access();
  }
  state.counters["edges"] = static_cast<double>(edges);
}
BENCHMARK(columns)->Arg(64)->Arg(4096);

// The first access of each column, when none is remembered; time is for all of them.
void first_columns(benchmark::State& state) {
  const std::int64_t width = state.range(0), shape[] = {1024, 1}, stride[] = {width, 1};
  for (auto step : state) {
    (void)step;
    RegionMap map;
    for (std::int64_t column = 0; column < width; ++column) {
      const Region region =
          Region::from_view(at(0x1000000 + static_cast<std::uint64_t>(column) * 4), 2, shape, stride, 4);
      map.record(region, Access::write, 1, [](TaskRef) { return true; });
    }
  }
  state.SetItemsProcessed(state.iterations() * width);
}
BENCHMARK(first_columns)->Arg(256)->Arg(4096)->Unit(benchmark::kMicrosecond);

// Reads of one region while every earlier reader is still running, or when they complete in turn.
void readers_of_one(benchmark::State& state) {
  RegionMap map;
  Completion live{0, static_cast<TaskRef>(state.range(0))};
  const Region region = Region::contiguous(at(0x1000), 64);
  for (auto step : state) {
    (void)step;
    ++live.now;
    map.collect(region, Access::read, live, [](TaskRef) {});
    map.record(region, Access::read, live.now, live);
  }
}
BENCHMARK(readers_of_one)->Arg(4)->Arg(256)->Arg(32768);

// Describing a dense or a tiled argument.
void describe_dense(benchmark::State& state) {
  std::int64_t shape[] = {8, 16, 4}, stride[] = {64, 4, 1};
  benchmark::DoNotOptimize(&shape);
  for (auto step : state) {
    (void)step;
    benchmark::ClobberMemory();
    benchmark::DoNotOptimize(Region::from_view(at(0x1000), 3, shape, stride, 4));
  }
}
BENCHMARK(describe_dense);

void describe_tile(benchmark::State& state) {
  std::int64_t shape[] = {64, 64}, stride[] = {4096, 1};
  benchmark::DoNotOptimize(&shape);
  for (auto step : state) {
    (void)step;
    benchmark::ClobberMemory();
    benchmark::DoNotOptimize(Region::from_view(at(0x1000), 2, shape, stride, 4));
  }
}
BENCHMARK(describe_tile);

}  // namespace
}  // namespace heddle::graph
