// SPDX-License-Identifier: Apache-2.0
// The stencil with OpenMP tasks whose dependences are inferred from `depend` clauses.
#include "common/openmp_settings.hpp"
#include "common/task_works.hpp"

namespace {
using namespace heddle::bench;

template <class Kernel>
std::int64_t run(StencilCells& cells) {
  return time_ns([&] {
#pragma omp parallel num_threads(thread_count)
#pragma omp single
    for (int step = 0; step < stencil_steps; ++step) {
      Cell* const source = cells.source(step);
      Cell* const target = cells.target(step);
      for (int i = 0; i < stencil_width; ++i) {
        Cell* const left = source + StencilCells::left(i);
        Cell* const here = source + i;
        Cell* const right = source + StencilCells::right(i);
        Cell* const out = target + i;
#pragma omp task depend(in : *left, *here, *right) depend(out : *out) firstprivate(left, here, right, out) shared(cells)
        Kernel::stencil(*left, *here, *right, *out);
      }
    }
  });
}
}  // namespace

int main(int argc, char** argv) {
  ensure_openmp_settings(argv);
  return run_main(argc, argv, [](const Options& options) {
    StencilCells cells;
    measure_tasks(
        "stencil", "openmp", cells, []<class Kernel>(StencilCells& all) { return run<Kernel>(all); }, options);
  });
}
