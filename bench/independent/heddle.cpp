// SPDX-License-Identifier: Apache-2.0
// Independent tasks with Heddle: each writes a cell of its own, and inference finds that nothing is to be waited for.
#include "common/heddle_session.hpp"
#include "common/task_works.hpp"

namespace {
using namespace heddle::bench;

inline constexpr int tasks_in_scope = 1'000;

template <class Kernel>
struct IndependentProgram {
  FlatCells* cells;

  void rank(heddle::Orchestrator& graph, const heddle::Io&) const {
    const auto all = heddle::wrap(cells->data(), flat_tasks);
    for (int first = 0; first < flat_tasks; first += tasks_in_scope) {
      auto scope = graph.scope();
      for (int i = first; i < first + tasks_in_scope; ++i) {
        graph.submit(
            "cell", heddle::vector_core,
            [](heddle::Block&, const heddle::View<Cell>& cell) { Kernel::independent(*cell.data()); },
            out(all.rows(i, 1)));
      }
    }
  }
};

template <class Kernel>
std::int64_t run(FlatCells& cells) {
  static auto session = open_session(IndependentProgram<Kernel>{&cells});
  return time_ns([&] { session.run(); });
}
}  // namespace

int main(int argc, char** argv) {
  return run_main(argc, argv, [](const Options& options) {
    FlatCells cells(flat_tasks);
    measure_tasks(
        "independent", "heddle", cells, []<class Kernel>(FlatCells& all) { return run<Kernel>(all); }, options);
  });
}
