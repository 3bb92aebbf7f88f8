// SPDX-License-Identifier: Apache-2.0
// Independent tasks, each writing its own cell, dependences inferred by OpenMP from `depend` clauses.
#include "common/openmp_settings.hpp"
#include "common/task_works.hpp"

namespace {
using namespace heddle::bench;

template <class Kernel>
std::int64_t run(FlatCells& cells) {
  Cell* const first = cells.data();
  return time_ns([&] {
#pragma omp parallel num_threads(thread_count)
#pragma omp single
    for (int i = 0; i < flat_tasks; ++i) {
      Cell* const cell = first + i;
#pragma omp task depend(out : *cell) firstprivate(cell)
      Kernel::independent(*cell);
    }
  });
}
}  // namespace

int main(int argc, char** argv) {
  ensure_openmp_settings(argv);
  return run_main(argc, argv, [](const Options& options) {
    FlatCells cells(flat_tasks);
    measure_tasks(
        "independent", "openmp", cells, []<class Kernel>(FlatCells& all) { return run<Kernel>(all); }, options);
  });
}
