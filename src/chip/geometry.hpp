// SPDX-License-Identifier: Apache-2.0
//
// What a simulated chip is made of and how long its parts take. The figures of a chip stand in its table
// (src/lab/chips), never in logic. Times are nanoseconds of virtual time; bandwidths are bytes per nanosecond.
#pragma once

#include <algorithm>
#include <cstdint>
#include <heddle/types.hpp>
#include <string>

#include "base/latency.hpp"

namespace heddle::chip {

// Cores are numbered cluster * lanes() + lane; lane 0 is the cluster's cube core.
struct Geometry {
  std::uint32_t clusters = 1;
  std::uint32_t vectors_per_cluster = 2;
  std::uint32_t schedulers = 1;

  static constexpr std::uint32_t most_lanes = 8;  // of a cluster: a bit each in a byte

  std::uint32_t lanes() const { return 1 + vectors_per_cluster; }
  std::uint32_t cores() const { return clusters * lanes(); }

  // Blocks on these cores that one cluster can run at the same time; 0 when it never can.
  std::uint32_t blocks_in_cluster(Cores cores) const {
    if (cores.count() == 0 || cores.cubes > 1) return 0;
    const std::uint32_t by_vectors = cores.vectors == 0 ? most_lanes : vectors_per_cluster / cores.vectors;
    return cores.cubes == 0 ? by_vectors : std::min(1U, by_vectors);
  }
};

struct Timing {
  base::Latency scheduler_turn;              // from the poll to the dispatch, without the loads of status registers
  base::Latency status_load;                 // one status register, one after the other
  std::uint64_t dispatch_issue = 0;          // first store to a dispatch register in a turn
  std::uint64_t dispatch_burst = 0;          // each further one
  base::Latency dispatch_visible;            // from the store until the core sees it
  std::uint64_t dispatch_half_skew = 0;      // between the two halves of one store, when they are seen apart
  base::Latency status_visible;              // from a core's status write until a scheduler sees it
  base::Latency through_memory;              // the same through memory with a line write-back
  base::Latency cached_poll;                 // until a scheduler sees that something was queued for it
  base::Latency task_switch;                 // on a core, from the acknowledge to the kernel
  base::Latency orchestrator_submit;         // each submit
  base::Latency device_start;                // of a device's process, handshake with all cores included
  std::uint64_t sync_start_bound = 200'000;  // how long nothing else is handed out for a sync start, at first
  std::uint64_t withheld_finish_bound = 1'000'000;  // how long a pending task may stay untouched behind a finished one

  // Between the first and the last half of a mixed block to start, from when the last of its cores is free.
  std::uint64_t halves_bound() const {
    return dispatch_visible.most + dispatch_half_skew + task_switch.most + Geometry::most_lanes * dispatch_burst;
  }
};

// What may be placed behind gates while its producers run.
struct EarlyDispatch {
  bool on = true;
  std::uint32_t share = 50;  // of a scheduler's cores of one kind that may stand behind gates, percent
};

// How the halves of a mixed block talk. Costs are those of the calling core.
struct Handovers {
  std::uint32_t flags = 16;      // ids of a cluster
  std::uint32_t flag_most = 15;  // that a flag counts to
  std::uint32_t tiles = 4;       // that the queue between two halves holds
  base::Latency flag_set;
  base::Latency flag_wait;
  base::Latency tile_issue;          // each push and pop, besides its bytes
  std::uint64_t tile_bandwidth = 0;  // bytes per nanosecond; 0: no limit
};

struct Rates {
  std::uint64_t device_bandwidth = 0;  // of the device's memory, all cores together
  std::uint64_t core_bandwidth = 0;    // that one core can use of it
  std::uint64_t cube_rate = 0;         // bf16 operations per nanosecond of one cube core
  std::uint64_t vector_rate = 0;       // f32 operations per nanosecond of one vector core
};

struct Memory {
  std::uint64_t device_bytes = 0;
  std::uint64_t vector_bytes = 0;  // local memory of one vector core
  std::uint64_t cube_bytes = 0;    // local memory of one cube core
  std::uint64_t line_bytes = 64;   // of a core's scalar cache
};

struct Config {
  std::string name;
  Geometry geometry;
  Timing timing;
  EarlyDispatch early;
  Handovers handovers;
  Rates rates;
  Memory memory;
  std::uint64_t counter_hz = 0;  // system counter
};

}  // namespace heddle::chip
