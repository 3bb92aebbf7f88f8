// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include <cstddef>

#include "base/fiber.hpp"

namespace {

using heddle::base::Fiber;

struct Pair {
  Fiber home = Fiber::adopt();
  Fiber other{std::size_t{64} << 10U,
              [](void* argument) {
                auto& self = *static_cast<Pair*>(argument);
                for (;;) Fiber::switch_to(self.other, self.home);
              },
              this};
};

// To a fiber and back: two switches.
void switch_there_and_back(benchmark::State& state) {
  Pair pair;
  for (auto _ : state) Fiber::switch_to(pair.home, pair.other);
}
BENCHMARK(switch_there_and_back);

// A stack made, started once and given back.
void make_start_and_destroy(benchmark::State& state) {
  for (auto _ : state) {
    Pair pair;
    Fiber::switch_to(pair.home, pair.other);
  }
}
BENCHMARK(make_start_and_destroy);

}  // namespace

BENCHMARK_MAIN();
