// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "host/host_pool.hpp"

namespace heddle::host {

// What a worker runs, as another thread sees it. Read again afterwards: only what has stayed was so in between, and its
// slot was that task's.
struct RunningBlock {
  const graph::Slot<base::HostEnvironment>* slot = nullptr;
  std::int64_t part = -1;
  std::uint64_t blocks = 0;  // that the worker had ended before
  friend bool operator==(const RunningBlock&, const RunningBlock&) = default;
};

inline RunningBlock running_block(HostEngine& engine, std::uint32_t worker) {
  using Counts = WorkerCounts<base::HostEnvironment>;
  auto& counts = engine.counts(worker);
  RunningBlock running;
  running.slot = counts.running.load(std::memory_order_acquire);  // acquire: partner is the release when a block begins
  // relaxed: see above.
  running.part = counts.running_block.load(std::memory_order_relaxed);
  running.blocks = counts.value[Counts::blocks].load(std::memory_order_relaxed);
  return running;
}

}  // namespace heddle::host
