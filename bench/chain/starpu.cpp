// SPDX-License-Identifier: Apache-2.0
// A chain of StarPU tasks that all read and write one handle.
#include "common/starpu_session.hpp"
#include "common/task_works.hpp"

namespace {
using namespace heddle::bench;

struct EmptyChain {
  static void kernel(void** buffers, void*) { EmptyKernel::chain(*starpu_buffer<Cell>(buffers, 0), 0); }
};

// The cell of a chain counts the tasks, so the number of the task need not travel with it: only the check of the
// length, after the run, and the exclusive use of the cell are left to prove.
struct CheckedChain {
  static void kernel(void** buffers, void*) {
    Cell& cell = *starpu_buffer<Cell>(buffers, 0);
    CheckedKernel::chain(cell, cell.value);
  }
};

template <class Kernel>
std::int64_t run(FlatCells& cells) {
  using Chain = std::conditional_t<std::is_same_v<Kernel, CheckedKernel>, CheckedChain, EmptyChain>;
  static starpu_codelet codelet = make_codelet(Chain::kernel, {STARPU_RW});
  std::int64_t elapsed_ns = 0;
  {
    const StarpuHandle handle(cells.data(), sizeof(Cell));
    elapsed_ns = time_ns([&] {
      for (int i = 0; i < flat_tasks; ++i) require_inserted(starpu_task_insert(&codelet, STARPU_RW, handle.get(), 0));
      starpu_task_wait_for_all();
    });
  }
  if constexpr (std::is_same_v<Kernel, CheckedKernel>)
    require(cells.data()->value == flat_tasks, "the chain lost a step: two tasks used the cell at once");
  return elapsed_ns;
}
}  // namespace

int main(int argc, char** argv) {
  return run_main(argc, argv, [](const Options& options) {
    const StarpuSession session("1");
    FlatCells cells(1);
    measure_tasks("chain", "starpu", cells, []<class Kernel>(FlatCells& all) { return run<Kernel>(all); }, options);
  });
}
