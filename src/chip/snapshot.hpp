// SPDX-License-Identifier: Apache-2.0
//
// What a device's schedulers know at a standstill.
#pragma once

#include <cstdint>
#include <heddle/types.hpp>
#include <string>
#include <vector>

#include "chip/handover.hpp"
#include "chip/seats.hpp"

namespace heddle::chip {

enum class CoreState : std::uint8_t {
  idle,
  gated,            // given a task that it may not take up yet
  dispatched,       // given a task, and not seen to take it up
  running,          // seen to take it up
  finish_withheld,  // seen to end its task, and not to take up the pending one
};
const char* name_of(CoreState state) noexcept;

// "cluster 3 vector 1": the name of a core in reports.
std::string place_of(std::uint32_t cluster, std::uint32_t lane);

template <base::Environment E>
struct CoreView {
  std::uint32_t core = 0;
  std::uint32_t cluster = 0;
  std::uint32_t lane = 0;
  heddle::Core kind = heddle::Core::cube;
  CoreState state = CoreState::idle;
  Assignment<E> running;  // the slot's name, block and part as long as a token is there
  Assignment<E> pending;
  std::uint32_t status = 0;  // last seen
  bool started = false;      // something was dispatched to it
  bool withholds = false;    // a fault keeps it from taking up its task
  std::uint32_t anomalies = 0;
  std::uint32_t withheld = 0;      // waits for its pending task that were given up
  const char* withheld_task = "";  // the last one that was then taken for ended
  std::uint32_t withheld_block = 0;
};

// A task whose blocks start together, and that a scheduler has taken: no block of it is placed.
template <base::Environment E>
struct GangView {
  const graph::Slot<E>* slot = nullptr;
  bool drains = false;      // nothing else is handed out until that ends
  bool has_failed = false;  // an attempt to place it
  std::uint32_t blocks = 0;
  std::uint32_t room = 0;  // for its blocks on idle cores
};

template <base::Environment E>
struct QueuedView {
  const graph::Slot<E>* slot = nullptr;
  const char* name = "";
  std::uint32_t next_block = 0;
  std::uint32_t blocks = 0;
  Cores cores;
  bool begun = false;
};

// A count of a cluster that is not zero: of a flag, or of the tiles in a queue.
struct FlagView {
  std::uint32_t cluster = 0;
  HalfLink link;
  std::int64_t count = 0;
  LeftBy left_by;  // task null: nobody; its block still runs
};

template <base::Environment E>
struct Snapshot {
  std::string device;
  std::vector<CoreView<E>> cores;
  std::vector<QueuedView<E>> queued;  // in the order in which they would be served
  std::vector<GangView<E>> gangs;
  std::vector<FlagView> flags;  // cluster by cluster
  std::uint64_t turns = 0;
  std::uint64_t dispatches = 0;
  std::uint64_t gated = 0;  // of these, behind gates
  std::uint64_t rings = 0;  // of gates
};

}  // namespace heddle::chip
