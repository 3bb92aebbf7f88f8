// SPDX-License-Identifier: Apache-2.0
// The stencil with Heddle: the three dependences of each task are inferred from the bytes that its arguments name.
#include "common/heddle_session.hpp"
#include "common/task_works.hpp"

namespace {
using namespace heddle::bench;

template <class Kernel>
struct StencilProgram {
  StencilCells* cells;

  void rank(heddle::Orchestrator& graph, const heddle::Io&) const {
    for (int step = 0; step < stencil_steps; ++step) {
      auto scope = graph.scope();
      const auto source = heddle::wrap(cells->source(step), stencil_width);
      const auto target = heddle::wrap(cells->target(step), stencil_width);
      for (int i = 0; i < stencil_width; ++i) {
        graph.submit(
            "cell", heddle::vector_core,
            [](heddle::Block&, const CellView& left, const CellView& here, const CellView& right, const OutView& out) {
              Kernel::stencil(*left.data(), *here.data(), *right.data(), *out.data());
            },
            in(source.rows(StencilCells::left(i), 1)), in(source.rows(i, 1)), in(source.rows(StencilCells::right(i), 1)),
            out(target.rows(i, 1)));
      }
    }
  }
  using CellView = heddle::View<const Cell>;
  using OutView = heddle::View<Cell>;
};

template <class Kernel>
std::int64_t run(StencilCells& cells) {
  static auto session = open_session(StencilProgram<Kernel>{&cells});
  return time_ns([&] { session.run(); });
}
}  // namespace

int main(int argc, char** argv) {
  return run_main(argc, argv, [](const Options& options) {
    StencilCells cells;
    measure_tasks("stencil", "heddle", cells, []<class Kernel>(StencilCells& all) { return run<Kernel>(all); }, options);
  });
}
