// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "chip/protocol.hpp"
#include "graph/slot.hpp"

namespace heddle::chip {

template <base::Environment E>
class Core;

// Whose tasks a device runs.
template <base::Environment E>
class Client {
 public:
  // By a scheduler, once before a task's first block. False: the task runs no blocks, and is over already.
  virtual bool begin(graph::Slot<E>& slot) = 0;
  // By a scheduler, in place of begin(): the task is placed behind gates while its producers still run. False: not now;
  // then begin() follows once it is ready.
  virtual bool prepare(graph::Slot<E>& /*slot*/) { return true; }
  // On a core: one part of a block. Throws nothing. Parts are numbered as the task's cores: cubes first.
  virtual void run(graph::Slot<E>& slot, std::uint32_t block, std::uint32_t part, Core<E>& core) = 0;
  // By a scheduler, before a core can see what is handed over to it.
  virtual void handed_over(graph::Slot<E>& /*slot*/, std::uint32_t /*block*/, std::uint32_t /*part*/,
                           std::uint32_t /*core*/, Token /*token*/) {}
  // By a scheduler, once for each part of each block, when it has seen its end. The slot is not touched afterwards.
  virtual void finished(graph::Slot<E>& slot) = 0;
  // By a scheduler, before the first dispatch to a core, when run_core() of it need not have been called yet.
  virtual void core_needed(std::uint32_t /*core*/) {}

  // Faults, asked at each chance for one. A core that withholds does nothing more until the device stops.
  virtual bool withhold_acknowledge(std::uint32_t /*core*/) { return false; }  // never takes up a task it idled for
  virtual bool withhold_finish(std::uint32_t /*core*/) { return false; }       // never takes up its pending task
  virtual std::uint64_t scheduler_delay(std::uint32_t /*scheduler*/) { return 0; }  // before a turn, nanoseconds

 protected:
  ~Client() = default;
};

}  // namespace heddle::chip
