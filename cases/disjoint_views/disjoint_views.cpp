// SPDX-License-Identifier: Apache-2.0
//
// Disjoint tiles of one matrix are written by a task each, and the matrix is then read whole. No writer is complete
// before all of them have begun and the readers are submitted, so that an edge among them, which no byte asks for,
// stops the program.
#include <algorithm>
#include <heddle/heddle.hpp>

namespace {

using namespace heddle;

struct DisjointViews {
  int side = 16, tile = 4, reads = 8;

  void parameters(ParameterList& list) {
    list.add("side", side, "tiles in a row, and in a column", 1, 256);
    list.add("tile", tile, "rows, and columns, of a tile", 1, 64);
    list.add("reads", reads, "tasks that read the matrix", 1, 1000);
  }

  void plan(Plan& plan) const {
    plan.window("begun", sizeof(std::int64_t));
    plan.output<std::int32_t>("matrix", {std::int64_t{side} * tile, std::int64_t{side} * tile});
    plan.output<std::int64_t>("sums", {reads});
  }

  void rank(Orchestrator& graph, const Io& io) const {
    const auto begun = graph.window("begun").signals<std::int64_t>();
    const auto matrix = io.output<std::int32_t, 2>("matrix");
    const auto sums = io.output<std::int64_t>("sums");
    const auto all = (graph.round() + 1) * (side * side + 1);
    const auto write = [=, self = graph.rank()](Block& block, View<std::int32_t, 2> out, std::int32_t number) {
      block.notify(begun.at(self)[0], 1, Notify::add);
      for (std::int64_t row = 0; row < out.shape(0); ++row)
        for (std::int64_t column = 0; column < out.shape(1); ++column) out(row, column) = number;
    };
    for (int i = 0; i < side * side; ++i)
      graph.submit("write", vector_core, write, out(matrix.view({i / side * tile, i % side * tile}, {tile, tile})), i,
                   completes_when(begun.mine()[0], Compare::ge, all));
    for (int i = 0; i < reads; ++i)
      graph.submit(
          "read", vector_core,
          [](Block&, View<const std::int32_t, 2> whole, View<std::int64_t> sum) {
            sum(0) = 0;
            for (const std::int32_t each : whole.span()) sum(0) += each;
          },
          in(matrix), out(sums.rows(i, 1)));
    graph.submit("release", vector_core,
                 [=, self = graph.rank()](Block& block) { block.notify(begun.at(self)[0], 1, Notify::add); });
  }

  void check(const HostIo& io) const {
    const std::int64_t tiles = std::int64_t{side} * side;
    for (const std::int64_t sum : io.tensor<std::int64_t>("sums"))
      io.expect(sum == tile * tile * (tiles * (tiles - 1) / 2), "a reader has not seen all tiles");
  }
};

}  // namespace

HEDDLE_MODULE(heddle::entry<DisjointViews>("disjoint_views", "case: disjoint tiles are written at the same time"));
