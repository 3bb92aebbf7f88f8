// SPDX-License-Identifier: Apache-2.0
//
// The part of a snapshot that is read while orchestrators are kept outside of their gates: plain copies, so that it
// takes little time; sentences and strings are made of them afterwards.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "host/host_pool.hpp"
#include "snapshot/snapshot.hpp"
#include "window/half_wait.hpp"

namespace heddle::host {

using HostSlot = graph::Slot<base::HostEnvironment>;

// What a parked block, or a task whose blocks have ended, waits for.
struct ReadWait {
  std::uint32_t task = 0;
  std::int64_t index = -1;  // among the parts of its blocks
  std::uint32_t parts = 1;
  bool deferred = false;
  heddle::detail::SignalRef signal;
  Compare compare = Compare::eq;
  std::int64_t needs = 0, has = 0;
  std::optional<window::HalfWait> half;
  Location submitted;
};

// A block's part that is on a worker.
struct ReadBlock {
  std::uint32_t worker = 0;
  std::uint32_t task = 0;
  std::int64_t index = -1;
  std::uint32_t parts = 1;
  Location submitted;
};

struct ReadTask {
  graph::TaskRef ref = 0;
  const char* name = "";
  Location location;
  std::uint32_t number = 0;
  std::uint32_t ring = 0;
  Cores cores;
  std::uint32_t parts = 0, left = 0;  // of all its blocks
  bool is_ready = false;
  bool is_complete = false;
};

struct ReadEdge {
  std::uint32_t consumer = 0, producer = 0;  // numbers of tasks
};

struct ReadRank {
  std::vector<ReadWait> waits;
  std::vector<ReadBlock> blocks;
  std::vector<ReadTask> tasks;  // in no order
  std::vector<ReadEdge> edges;  // of producers that have not ended
};

struct ReadWorker {
  bool sleeps = false;
  int rank = -1;  // whose block or program it runs
  std::optional<ReadBlock> block;
};

struct ReadEngine {
  std::vector<ReadRank> ranks;
  std::vector<ReadWorker> workers;
  std::uint64_t took_ns = 0;
};

// Adds ranks, rings and scopes to the snapshot at once, which are few.
ReadEngine read_engine(HostEngine& engine, snapshot::Snapshot& made);

}  // namespace heddle::host
