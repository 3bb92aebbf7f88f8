// SPDX-License-Identifier: Apache-2.0
// The stencil as a Heddle program: the three dependences of each task are inferred from the bytes that its arguments
// name.
#pragma once

#include "common/heddle_session.hpp"
#include "common/task_works.hpp"

namespace heddle::bench {

template <class Kernel>
struct StencilProgram {
  using CellView = heddle::View<const Cell>;
  using OutView = heddle::View<Cell>;
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
            in(source.rows(StencilCells::left(i), 1)), in(source.rows(i, 1)),
            in(source.rows(StencilCells::right(i), 1)), out(target.rows(i, 1)));
      }
    }
  }
};

}  // namespace heddle::bench
