// SPDX-License-Identifier: Apache-2.0
//
// Writes what the flight recorders hold as a JSON trace that the Perfetto UI and chrome://tracing open.
//
// One process, "heddle". A track for each worker: the blocks and orchestrators that it ran, with their puts, gets and
// notifies inside. A track for each rank's program: rounds, scopes, waits for room. Tracks for each rank's waits, apart
// because a waiting block leaves its worker; as many as waits overlap. Arrows lead from each notify to the waits that
// it ended. Times are microseconds since the first record.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/recorder.hpp"
#include "base/ticks.hpp"

namespace heddle::host {

// One rank's part of a window, so that the trace names cells by it.
struct TraceWindow {
  const char* name = "";
  int rank = 0;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};

struct Trace {
  std::span<const std::vector<base::Record>> workers;  // RecorderSet::snapshot()
  base::TickClock clock;
  std::span<const TraceWindow> windows = {};
  std::uint64_t dropped = 0;  // records that the recorders no longer hold: noted in the trace
};

// Replaces the file. Throws invalid_argument when it cannot be opened and user_error when it cannot be written whole,
// with the path and the system's reason; then what was written of it is removed.
void write_trace(const std::string& path, const Trace& trace);

}  // namespace heddle::host
