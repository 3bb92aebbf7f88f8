// SPDX-License-Identifier: Apache-2.0
// Independent StarPU tasks, each writing its own handle.
#include "common/starpu_session.hpp"
#include "common/task_works.hpp"

namespace {
using namespace heddle::bench;

template <class Kernel>
void kernel(void** buffers, void*) {
  Kernel::independent(*starpu_buffer<Cell>(buffers, 0));
}

template <class Kernel>
std::int64_t run(FlatCells& cells) {
  static starpu_codelet codelet = make_codelet(kernel<Kernel>, {STARPU_W});
  const std::vector<StarpuHandle> handles = register_cells(cells.data(), flat_tasks, sizeof(Cell));
  return time_ns([&] {
    for (const StarpuHandle& handle : handles)
      require_inserted(starpu_task_insert(&codelet, STARPU_W, handle.get(), 0));
    starpu_task_wait_for_all();
  });
}
}  // namespace

int main(int argc, char** argv) {
  return run_main(argc, argv, [](const Options& options) {
    const StarpuSession session("1");
    FlatCells cells(flat_tasks);
    measure_tasks(
        "independent", "starpu", cells, []<class Kernel>(FlatCells& all) { return run<Kernel>(all); }, options);
  });
}
