// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/error.hpp>
#include <heddle/task.hpp>
#include <string>

#include "graph/slot.hpp"

namespace heddle::host {

// What a block may wait for in its kernel, on any backend.
template <base::Environment E>
void check_wait(const graph::Slot<E>& slot, const heddle::detail::SignalRef& signal, int rank) {
  if (signal.rank != rank)
    throw Error(Code::kernel_failed, "wait: the cell belongs to rank " + std::to_string(signal.rank) +
                                         "; a block waits on its own rank's cells");
  if ((slot.flags & graph::slot_never_waits) != 0)
    throw Error(
        Code::kernel_failed,
        "wait: the task was submitted with allow_early, so its kernel must end by itself; leave allow_early out, "
        "or wait with completes_when in a task of its own");
}

}  // namespace heddle::host
