// SPDX-License-Identifier: Apache-2.0
#include "host/copy.hpp"

#include <cstring>

namespace heddle::host {

namespace {

struct Run {
  std::int64_t bytes;  // contiguous on both sides
  int outer;           // dimensions that remain around it
};

// The innermost dimensions that are contiguous on both sides become one run.
Run contiguous_run(const heddle::detail::CopyPlan& plan) {
  Run run{static_cast<std::int64_t>(plan.element_bytes), plan.rank};
  while (run.outer > 0) {
    const int d = run.outer - 1;
    if (plan.shape[d] != 1 && (plan.to_stride[d] != run.bytes || plan.from_stride[d] != run.bytes)) break;
    run.bytes *= plan.shape[d];
    --run.outer;
  }
  return run;
}

void copy_outer(const heddle::detail::CopyPlan& plan, int dimension, const Run& run, std::byte* to,
                const std::byte* from) {
  if (dimension == run.outer) {
    std::memmove(to, from, static_cast<std::size_t>(run.bytes));
    return;
  }
  for (std::int64_t i = 0; i < plan.shape[dimension]; ++i)
    copy_outer(plan, dimension + 1, run, to + i * plan.to_stride[dimension], from + i * plan.from_stride[dimension]);
}

}  // namespace

std::uint64_t copy(const heddle::detail::CopyPlan& plan) {
  std::uint64_t bytes = plan.element_bytes;
  for (int d = 0; d < plan.rank; ++d) bytes *= static_cast<std::uint64_t>(plan.shape[d]);
  if (bytes == 0) return 0;
  copy_outer(plan, 0, contiguous_run(plan), plan.to, plan.from);
  return bytes;
}

}  // namespace heddle::host
