// SPDX-License-Identifier: Apache-2.0
//
// What an engine is made for: where its tasks run, how a wait is suspended, and what a block can do. The engine of the
// host's cores and that of a simulated chip are one template over this.
//
//   Pool       takes ready tasks (ready, ready_next, inject), and suspends and resumes fibers; see host/pool.hpp
//   Fiber      what a wait suspends
//   Services   the heddle::detail::BlockServices of a running block: Services(engine, rank, slot, index), begin(),
//   end() Traces     what is recorded watches    whether the pool is told of every task that is submitted explains
//   whether the pool has a verdict of its own for a standstill
#pragma once

#include "base/environment.hpp"

namespace heddle::host {

template <base::Environment E>
class Pool;
template <base::Environment E>
struct LoopFiber;
template <base::Environment E>
class HostBlock;
template <base::Environment E>
class WorkerTraces;

template <base::Environment E>
struct HostBackend {
  using Pool = host::Pool<E>;
  using Fiber = LoopFiber<E>;
  using Services = HostBlock<E>;
  using Traces = WorkerTraces<E>;
  static constexpr bool watches = false;
  static constexpr bool explains = false;
};

template <base::Environment E, class B = HostBackend<E>>
class Engine;
template <base::Environment E, class B = HostBackend<E>>
class Rank;

}  // namespace heddle::host
