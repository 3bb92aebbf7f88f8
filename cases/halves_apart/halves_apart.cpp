// SPDX-License-Identifier: Apache-2.0
//
// A mixed kernel whose cube half hands over a tile and waits until it is used up. Neighbouring blocks take turns with
// two flags, and there are more blocks than run at a time. A runtime that places a block's halves at different times
// lets two blocks each hold what the other one needs.
#include <heddle/heddle.hpp>

namespace {

using namespace heddle;

constexpr std::int64_t vectors = 2, elements = 16;

struct HalvesApart {
  int blocks = 8;

  void parameters(ParameterList& list) { list.add("blocks", blocks, "blocks of the kernel", 1, 10'000); }

  void plan(Plan& plan) const {
    plan.input<std::int32_t>("x", {blocks, elements});
    plan.output<std::int32_t>("y", {blocks, vectors, elements});
  }

  void rank(Orchestrator& graph, const Io& io) const {
    graph.spmd(
        "fused", mixed_cores, blocks,
        [](Block& block, View<const std::int32_t, 2> x, View<std::int32_t, 3> y) {
          const std::int64_t used_up = block.index() % 2;
          if (block.core() == Core::cube) {
            block.push(x.rows(block.index(), 1));
            block.flag_wait(used_up);
          } else {
            const auto mine = y.rows(block.index(), 1);
            const View<std::int32_t, 2> tile({mine.data() + block.part() * elements, {1, elements}, {elements, 1}});
            block.pop(tile);
            for (std::int64_t i = 0; i < elements; ++i) tile(0, i) += block.part();
            block.flag_set(used_up);
          }
        },
        in(io.input<std::int32_t, 2>("x")), out(io.output<std::int32_t, 3>("y")));
  }

  static void fill(HostIo& io) {
    std::int32_t next = 0;
    for (std::int32_t& each : io.input<std::int32_t>("x")) each = next++;
  }
  static void check(const HostIo& io) {
    const auto y = io.tensor<std::int32_t>("y");
    for (std::size_t i = 0; i < y.size(); ++i) {
      const std::size_t block = i / (vectors * elements), part = i / elements % vectors;
      io.expect(y[i] == static_cast<std::int32_t>(block * elements + i % elements + part), "a tile went astray");
    }
  }
};

}  // namespace

HEDDLE_MODULE(heddle::entry<HalvesApart>("halves_apart",
                                         "case: the halves of mixed blocks, placed at different times"));
