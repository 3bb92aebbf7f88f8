// SPDX-License-Identifier: Apache-2.0
#include "host/trace_slices.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace heddle::host {
namespace {

using base::Event;
using base::Record;

std::uint64_t start_ticks(const Record& record) { return record.end_ticks - record.duration; }
std::uint64_t key_of(const Record& record, std::uint32_t number) {
  return static_cast<std::uint64_t>(record.rank) << 32U | number;
}
std::pair<std::uint64_t, std::int64_t> cell_and_start(const Notified& one) { return {one.cell, one.start}; }

// Of two that span the same time, the outer one was recorded later, as it ended later.
bool is_outer(const Slice& left, const Slice& right) {
  if (left.start != right.start) return left.start < right.start;
  return left.end != right.end ? left.end > right.end : std::greater<>()(left.record, right.record);
}
bool is_lower_rank_or_outer(const Slice& left, const Slice& right) {
  return left.record->rank != right.record->rank ? left.record->rank < right.record->rank : is_outer(left, right);
}

}  // namespace

TraceSlices::TraceSlices(const Trace& trace) : on_worker(trace.workers.size()) {
  bool any = false;
  for (const auto& records : trace.workers)
    for (const Record& record : records) {
      const std::int64_t start = trace.clock.ns(start_ticks(record));
      origin_ = any ? std::min(origin_, start) : start;
      any = true;
    }
  for (const auto& records : trace.workers)
    for (const Record& record : records) last_ = std::max(last_, trace.clock.ns(record.end_ticks) - origin_);

  for (std::size_t worker = 0; worker < trace.workers.size(); ++worker)
    for (const Record& record : trace.workers[worker]) add(record, static_cast<int>(worker), trace);
  for (const auto& [key, round] : open_rounds_) programs.push_back(round);

  for (auto& slices : on_worker) std::ranges::sort(slices, is_outer);
  std::ranges::sort(programs, is_lower_rank_or_outer);
  std::ranges::sort(waits, is_lower_rank_or_outer);
  std::ranges::sort(notified_, {}, cell_and_start);
  name_tasks(trace);
}

void TraceSlices::add(const Record& record, int worker, const Trace& trace) {
  Slice slice{trace.clock.ns(start_ticks(record)) - origin_, trace.clock.ns(record.end_ticks) - origin_, &record,
              worker};
  switch (record.kind) {
    case Event::wait:
      slice.end += 1;
      waits.push_back(slice);
      return;
    case Event::scope:
    case Event::ring_wait:
      programs.push_back(slice);
      return;
    case Event::round_begin:
    case Event::round_end:
      add_round(slice);
      return;
    case Event::notify:
      slice.end = std::max(slice.end, slice.start + 1);  // its arrow begins inside of it
      notified_.push_back({record.subject, slice.start, worker});
      break;
    default:
      break;
  }
  on_worker[static_cast<std::size_t>(worker)].push_back(slice);
}

// The two ends of a round may come from different workers, in either order; one may have been dropped.
void TraceSlices::add_round(const Slice& slice) {
  const Record& record = *slice.record;
  const bool begins = record.kind == Event::round_begin;
  const auto [found, is_new] = open_rounds_.try_emplace(key_of(record, record.value), slice);
  Slice& round = found->second;
  if (is_new) {
    begins ? round.end = last_ : round.start = 0;
    return;
  }
  begins ? round.start = slice.start : round.end = slice.end;
  if (round.record->kind != record.kind) {
    round.end = std::max(round.end, round.start);
    programs.push_back(round);
    open_rounds_.erase(found);
  }
}

void TraceSlices::name_tasks(const Trace& trace) {
  for (const Slice& wait : waits) waiting_tasks_.try_emplace(key_of(*wait.record, wait.record->task), nullptr);
  if (waiting_tasks_.empty()) return;
  for (const auto& records : trace.workers)
    for (const Record& record : records) {
      if (record.kind != Event::block && record.kind != Event::submit) continue;
      const auto found = waiting_tasks_.find(key_of(record, record.task));
      if (found != waiting_tasks_.end())
        found->second = reinterpret_cast<const char*>(static_cast<std::uintptr_t>(record.subject));
    }
}

const Notified* TraceSlices::ended_by(const Slice& wait) const {
  const std::uint64_t cell = wait.record->subject;
  const auto after = std::ranges::upper_bound(notified_, std::pair(cell, ended(wait)), {}, cell_and_start);
  if (after == notified_.begin() || std::prev(after)->cell != cell) return nullptr;
  return &*std::prev(after);
}

const char* TraceSlices::task_name(const Record& wait) const {
  const auto found = waiting_tasks_.find(key_of(wait, wait.task));
  return found != waiting_tasks_.end() && found->second != nullptr ? found->second : "a task";
}

}  // namespace heddle::host
