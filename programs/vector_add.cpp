// SPDX-License-Identifier: Apache-2.0
//
// z = x + y: one task of several blocks, each of which adds its share.
#include "kernels.hpp"
#include "pattern.hpp"

namespace {

using namespace heddle;
using namespace heddle::programs;

struct VectorAdd {
  std::int64_t count = 1 << 20;
  int blocks = 8;

  void parameters(ParameterList& list) {
    list.add("count", count, "elements", 1, 1 << 30);
    list.add("blocks", blocks, "blocks that share the work", 1, 65536);
  }
  void plan(Plan& plan) const {
    plan.input<float>("x", {count});
    plan.input<float>("y", {count});
    plan.output<float>("z", {count});
  }

  void rank(Orchestrator& graph, const Io& io) const {
    graph.spmd(
        "add", vector_core, blocks,
        [](Block& block, View<const float> x, View<const float> y, View<float> z) {
          if (!block.values()) return;
          const auto [first, size] = share(block, z.size());
          const float* const left = x.data() + first;
          const float* const right = y.data() + first;
          float* const sum = z.data() + first;
          for (std::int64_t i = 0; i < size; ++i) sum[i] = left[i] + right[i];
        },
        in(io.input<float>("x")), in(io.input<float>("y")), out(io.output<float>("z")));
  }

  static std::int64_t x(const HostIo& io, std::int64_t i) { return i * 3 + io.rank() * 7 + io.round() * 13; }
  static std::int64_t y(const HostIo& io, std::int64_t i) { return i * i - io.rank() * 5 + io.round(); }

  void fill(HostIo& io) const {
    fill_periodic(io.input<float>("x"), make_period<float>([&](std::int64_t i) { return x(io, i); }));
    fill_periodic(io.input<float>("y"), make_period<float>([&](std::int64_t i) { return y(io, i); }));
  }
  void check(const HostIo& io) const {
    expect_periodic(io, "z", io.tensor<float>("z"),
                    make_period<float>([&](std::int64_t i) { return x(io, i) + y(io, i); }));
  }
};

}  // namespace

HEDDLE_MODULE(heddle::entry<VectorAdd>("vector_add", "adds two vectors in blocks"));
