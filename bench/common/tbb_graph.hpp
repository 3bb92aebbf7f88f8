// SPDX-License-Identifier: Apache-2.0
// oneTBB flow graph, edges given by hand. The graph is built and run inside the time; freeing it stays outside, in the
// rival's favour. `tbb_run` contenders build it once and time only the run.
#pragma once

#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

#include <deque>

#include "common/task_works.hpp"

namespace heddle::bench {

using TbbMessage = oneapi::tbb::flow::continue_msg;
using TbbNode = oneapi::tbb::flow::continue_node<TbbMessage>;

/// The graph and its nodes, which neither move nor outlive it. The first `start_count` nodes have no predecessors.
struct TbbGraph {
  oneapi::tbb::flow::graph graph;
  std::deque<TbbNode> nodes;
  std::size_t start_count = 0;

  /// Runs the graph once.
  void run() {
    for (std::size_t i = 0; i < start_count; ++i) nodes[i].try_put(TbbMessage{});
    graph.wait_for_all();
  }
};

template <class Kernel>
void build_stencil(TbbGraph& built, StencilCells& cells) {
  for (int step = 0; step < stencil_steps; ++step) {
    for (int i = 0; i < stencil_width; ++i) {
      const Cell* const source = cells.source(step);
      const Cell* const left = source + StencilCells::left(i);
      const Cell* const here = source + i;
      const Cell* const right = source + StencilCells::right(i);
      Cell* const target = cells.target(step) + i;
      TbbNode& node = built.nodes.emplace_back(built.graph, [=](const TbbMessage&) {
        Kernel::stencil(*left, *here, *right, *target);
        return TbbMessage{};
      });
      if (step == 0) continue;
      const auto row = static_cast<std::size_t>((step - 1) * stencil_width);
      for (const int from : {StencilCells::left(i), i, StencilCells::right(i)})
        oneapi::tbb::flow::make_edge(built.nodes[row + static_cast<std::size_t>(from)], node);
    }
  }
  built.start_count = stencil_width;
}

template <class Kernel>
void build_chain(TbbGraph& built, FlatCells& cells) {
  Cell* const cell = cells.data();
  for (int i = 0; i < flat_tasks; ++i) {
    TbbNode& node = built.nodes.emplace_back(built.graph, [cell, i](const TbbMessage&) {
      Kernel::chain(*cell, i);
      return TbbMessage{};
    });
    if (i > 0) oneapi::tbb::flow::make_edge(built.nodes[static_cast<std::size_t>(i - 1)], node);
  }
  built.start_count = 1;
}

/// One node; without edges it can start as soon as it is there.
template <class Kernel>
TbbNode& add_independent(TbbGraph& built, FlatCells& cells, int i) {
  Cell* const cell = cells.data() + i;
  return built.nodes.emplace_back(built.graph, [cell](const TbbMessage&) {
    Kernel::independent(*cell);
    return TbbMessage{};
  });
}

template <class Kernel>
void build_independent(TbbGraph& built, FlatCells& cells) {
  for (int i = 0; i < flat_tasks; ++i) add_independent<Kernel>(built, cells, i);
  built.start_count = flat_tasks;
}

/// Calls `body` in an arena of `thread_count` threads.
template <class Body>
void in_tbb_arena(Body&& body) {
  const oneapi::tbb::global_control limit(oneapi::tbb::global_control::max_allowed_parallelism, thread_count);
  oneapi::tbb::task_arena arena(thread_count);
  arena.execute([&] { body(); });
}

}  // namespace heddle::bench
