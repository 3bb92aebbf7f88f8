// SPDX-License-Identifier: Apache-2.0
// One chain with Heddle: every task reads and writes the one cell, so each waits for the one before.
#include "common/heddle_session.hpp"
#include "common/task_works.hpp"

namespace {
using namespace heddle::bench;

inline constexpr int tasks_in_scope = 1'000;

template <class Kernel>
struct ChainProgram {
  FlatCells* cells;

  void rank(heddle::Orchestrator& graph, const heddle::Io&) const {
    const auto cell = heddle::wrap(cells->data(), 1);
    for (int first = 0; first < flat_tasks; first += tasks_in_scope) {
      auto scope = graph.scope();
      for (int i = first; i < first + tasks_in_scope; ++i) {
        graph.submit(
            "link", heddle::vector_core,
            [](heddle::Block&, const heddle::View<Cell>& here, int index) { Kernel::chain(*here.data(), index); },
            inout(cell), i);
      }
    }
  }
};

template <class Kernel>
std::int64_t run(FlatCells& cells) {
  static auto session = open_session(ChainProgram<Kernel>{&cells});
  return time_ns([&] { session.run(); });
}
}  // namespace

int main(int argc, char** argv) {
  return run_main(argc, argv, [](const Options& options) {
    FlatCells cells(1);
    measure_tasks("chain", "heddle", cells, []<class Kernel>(FlatCells& all) { return run<Kernel>(all); }, options);
  });
}
