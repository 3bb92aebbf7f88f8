// SPDX-License-Identifier: Apache-2.0
//
// Two blocks write the two halves of one 64-byte line with scalar stores. Each core keeps the whole line: the one that
// is written back last brings the other half back to what it was.
#include <heddle/heddle.hpp>

namespace {

using namespace heddle;

constexpr std::int64_t line = 16;  // elements of 4 bytes

struct HalfLine {
  bool repaired = false;

  void parameters(ParameterList& list) { list.add("repaired", repaired, "each block has a line of its own"); }

  static void plan(Plan& plan) { plan.output<std::int32_t>("counts", {2, line}); }

  void rank(Orchestrator& graph, const Io& io) const {
    graph.spmd(
        "count", vector_core, 2,
        [own_lines = repaired](Block& block, View<std::int32_t, 2> counts) {
          const std::int64_t first = own_lines ? 0 : block.index() * (line / 2);
          const std::int64_t row = own_lines ? block.index() : 0;
          for (std::int64_t i = 0; i < line / 2; ++i)
            block.write(counts, static_cast<std::int32_t>(block.index() + 1), row, first + i);
          block.clean(counts.rows(row, 1));
        },
        out(io.output<std::int32_t, 2>("counts")));
  }
};

}  // namespace

HEDDLE_MODULE(heddle::entry<HalfLine>("half_line", "case: two blocks store into the halves of one line"));
