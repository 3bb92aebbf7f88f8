// SPDX-License-Identifier: Apache-2.0
// A chain of tasks through one cell, dependences inferred by OpenMP from `depend` clauses.
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
#pragma omp task depend(inout : *first) firstprivate(i) shared(first)
      Kernel::chain(*first, i);
    }
  });
}
}  // namespace

int main(int argc, char** argv) {
  ensure_openmp_settings(argv);
  return run_main(argc, argv, [](const Options& options) {
    FlatCells cells(1);
    measure_tasks("chain", "openmp", cells, []<class Kernel>(FlatCells& all) { return run<Kernel>(all); }, options);
  });
}
