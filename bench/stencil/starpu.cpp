// SPDX-License-Identifier: Apache-2.0
// The stencil with StarPU tasks, dependences inferred from the data handles.
#include "common/starpu_session.hpp"
#include "common/task_works.hpp"

namespace {
using namespace heddle::bench;

template <class Kernel>
void kernel(void** buffers, void*) {
  Kernel::stencil(*starpu_buffer<Cell>(buffers, 0), *starpu_buffer<Cell>(buffers, 1), *starpu_buffer<Cell>(buffers, 2),
                  *starpu_buffer<Cell>(buffers, 3));
}

template <class Kernel>
std::int64_t run(StencilCells& cells) {
  static starpu_codelet codelet = make_codelet(kernel<Kernel>, {STARPU_R, STARPU_R, STARPU_R, STARPU_W});
  const std::vector<StarpuHandle> handles[2] = {
      register_cells(cells.buffers[0].data(), stencil_width, sizeof(Cell)),
      register_cells(cells.buffers[1].data(), stencil_width, sizeof(Cell)),
  };
  return time_ns([&] {
    for (int step = 0; step < stencil_steps; ++step) {
      const auto& source = handles[step % 2];
      const auto& target = handles[(step + 1) % 2];
      const auto at = [](const std::vector<StarpuHandle>& all, int i) {
        return all[static_cast<std::size_t>(i)].get();
      };
      for (int i = 0; i < stencil_width; ++i)
        require_inserted(starpu_task_insert(&codelet, STARPU_R, at(source, StencilCells::left(i)), STARPU_R,
                                            at(source, i), STARPU_R, at(source, StencilCells::right(i)), STARPU_W,
                                            at(target, i), 0));
    }
    starpu_task_wait_for_all();
  });
}
}  // namespace

int main(int argc, char** argv) {
  return run_main(argc, argv, [](const Options& options) {
    const StarpuSession session("1");
    StencilCells cells;
    measure_tasks(
        "stencil", "starpu", cells, []<class Kernel>(StencilCells& all) { return run<Kernel>(all); }, options);
  });
}
