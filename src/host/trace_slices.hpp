// SPDX-License-Identifier: Apache-2.0
//
// What a trace shows, before it is written: records turned into slices, each on its kind of track, and what ended each
// wait.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "host/trace.hpp"

namespace heddle::host {

// A slice of a track, in nanoseconds since the first record.
struct Slice {
  std::int64_t start = 0;
  std::int64_t end = 0;
  const base::Record* record = nullptr;
  int worker = 0;
};

// What a wait may have been ended by.
struct Notified {
  std::uint64_t cell = 0;
  std::int64_t start = 0;
  int worker = 0;
};

// Refers to the records of the trace that it is made from. Outer slices stand before inner ones in each list.
struct TraceSlices {
  explicit TraceSlices(const Trace& trace);

  std::vector<std::vector<Slice>> on_worker;
  std::vector<Slice> programs;  // rounds, scopes, waits for room; by rank
  std::vector<Slice> waits;     // by rank; one nanosecond longer than the wait, so that its arrow ends inside

  // The latest notify of the same cell that began before the wait ended, or null. (When the notify ended proves
  // nothing: the waiter may be on its way before the notifier has read its clock again.)
  const Notified* ended_by(const Slice& wait) const;
  static std::int64_t ended(const Slice& wait) { return wait.end - 1; }

  // The task of a wait.
  const char* task_name(const base::Record& wait) const;

 private:
  void add(const base::Record& record, int worker, const Trace& trace);
  void add_round(const Slice& slice);
  void name_tasks(const Trace& trace);

  std::int64_t origin_ = 0;                                       // the first record's start, ns of the trace's clock
  std::int64_t last_ = 0;                                         // the last record's end, ns since origin_
  std::vector<Notified> notified_;                                // by cell and start
  std::unordered_map<std::uint64_t, Slice> open_rounds_;          // by rank and round
  std::unordered_map<std::uint64_t, const char*> waiting_tasks_;  // by rank and task: those that waits name by number
};

}  // namespace heddle::host
