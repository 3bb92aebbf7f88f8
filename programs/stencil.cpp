// SPDX-License-Identifier: Apache-2.0
//
// Heat along a rod: in every step each cell becomes a weighted mean of itself and its neighbours; the two ends are
// kept. A task updates one tile and reads it with one cell more on either side, so that each task depends on three of
// the step before, and on three that still read what it overwrites. Nobody says so: it follows from the bytes.
#include "kernels.hpp"
#include "pattern.hpp"

namespace {

using namespace heddle;
using namespace heddle::programs;

/// Multiplying by powers of two is exact, so that the sum rounds alike with and without fused multiply-add.
float mean(float left, float middle, float right) { return 0.25F * left + 0.5F * middle + 0.25F * right; }

struct Stencil {
  int tiles = 32, tile = 1024, steps = 100, scope_steps = 16;

  void parameters(ParameterList& list) {
    list.add("tiles", tiles, "tiles of the rod", 1, 4096);
    list.add("tile", tile, "cells of a tile", 1, 1 << 20);
    list.add("steps", steps, "time steps", 0, 1'000'000);
    list.add("scope_steps", scope_steps, "steps submitted in one scope; its task slots are free again when it ends", 1,
             256);
  }
  std::int64_t cells() const { return std::int64_t{tiles} * tile; }
  void plan(Plan& plan) const {
    if (tiles * scope_steps > 8192)
      detail::throw_invalid("scope_steps: tiles x scope_steps must be at most 8192, not " +
                            std::to_string(tiles * scope_steps) + ": they share one task window");
    plan.input<float>("initial", {cells()});
    plan.output<float>("final", {cells()});
  }

  void rank(Orchestrator& graph, const Io& io) const {
    const auto initial = io.input<float>("initial");
    const auto untouched = [](Block&, View<float>) {};
    const auto other = graph.submit("other", vector_core, untouched, new_tensor<float>(cells()));
    // The steps alternate between two buffers. The last one writes the output.
    Tensor<float> now = io.output<float>("final"), next = other.output<0>();
    if (steps % 2 != 0) std::swap(now, next);

    graph.spmd(
        "load", vector_core, tiles,
        [](Block& block, View<const float> from, View<float> to) {
          const auto [first, size] = share(block, to.size());
          if (block.values()) copy(from.rows(first, size), to.rows(first, size));
        },
        in(initial), out(now));

    for (int step = 0; step < steps;) {
      const Scope scope = graph.scope();
      for (int end = std::min(steps, step + scope_steps); step < end; ++step) {
        for (int i = 0; i < tiles; ++i) update(graph, now, next, i);
        std::swap(now, next);
      }
    }
  }

  void update(Orchestrator& graph, const Tensor<float>& now, const Tensor<float>& next, int index) const {
    const std::int64_t first = std::int64_t{index} * tile;
    const std::int64_t before = index > 0 ? 1 : 0, behind = index + 1 < tiles ? 1 : 0;
    graph.submit(
        "update", vector_core,
        [before, behind](Block& block, View<const float> from, View<float> to) {
          if (!block.values()) return;
          const std::int64_t last = to.size() - 1;
          const float* const here = from.data() + before;
          float* const there = to.data();
          if (before == 0) there[0] = here[0];
          if (behind == 0) there[last] = here[last];
          for (std::int64_t i = 1 - before; i < last + behind; ++i) there[i] = mean(here[i - 1], here[i], here[i + 1]);
        },
        in(now.rows(first - before, before + tile + behind)), out(next.rows(first, tile)));
  }

  void fill(HostIo& io) const { fill_periodic(io.input<float>("initial"), start(io)); }

  void check(const HostIo& io) const {
    const auto result = io.tensor<float>("final");
    std::vector<float> now(result.size()), next(result.size());
    fill_periodic(std::span(now), start(io));
    for (int step = 0; step < steps; ++step) {
      next.front() = now.front();
      next.back() = now.back();
      for (std::size_t i = 1; i + 1 < now.size(); ++i) next[i] = mean(now[i - 1], now[i], now[i + 1]);
      std::swap(now, next);
    }
    for (std::size_t i = 0; i < now.size(); ++i)
      expect_equal(io, "final", static_cast<std::int64_t>(i), result[i], now[i]);
  }

 private:
  /// Rough, so that a tile that missed a step stands out.
  static Period<float> start(const HostIo& io) {
    return make_period<float>([&](std::int64_t i) { return (i * i * 31 + io.rank() * 7 + io.round() * 13) % 1009; });
  }
};

}  // namespace

HEDDLE_MODULE(heddle::entry<Stencil>("stencil", "heat along a rod: three inferred dependences a task"));
