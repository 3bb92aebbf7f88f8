// SPDX-License-Identifier: Apache-2.0
#include "host/trace.hpp"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <queue>
#include <unordered_map>
#include <utility>

#include "host/json_file.hpp"

namespace heddle::host {
namespace {

using base::Event;
using base::Record;

// A slice of a track, in nanoseconds since the first record.
struct Slice {
  std::int64_t start = 0;
  std::int64_t end = 0;
  const Record* record = nullptr;
  int worker = 0;
};

// What a wait may have been ended by.
struct Notified {
  std::uint64_t cell = 0;
  std::int64_t start = 0;
  int worker = 0;
};

std::uint64_t start_ticks(const Record& record) { return record.end_ticks - record.duration; }
std::uint64_t task_key(const Record& record) { return static_cast<std::uint64_t>(record.rank) << 32U | record.task; }
const char* name_at(std::uint64_t subject, const char* otherwise) {
  const auto* name = reinterpret_cast<const char*>(static_cast<std::uintptr_t>(subject));
  return name != nullptr ? name : otherwise;
}

// Outer slices before inner ones: of two that span the same time, the one that was recorded later, as it ended later.
bool is_outer(const Slice& left, const Slice& right) {
  if (left.start != right.start) return left.start < right.start;
  return left.end != right.end ? left.end > right.end : std::greater<>()(left.record, right.record);
}
bool is_lower_rank_or_outer(const Slice& left, const Slice& right) {
  return left.record->rank != right.record->rank ? left.record->rank < right.record->rank : is_outer(left, right);
}

class Writer {
 public:
  Writer(const std::string& path, const Trace& trace)
      : file_(path), trace_(trace), windows_(trace.windows.begin(), trace.windows.end()) {
    std::ranges::sort(windows_, {}, &TraceWindow::address);
  }
  void write();

 private:
  void sort_out();
  void sort_out(const Record& record, int worker);
  void take_round(const Slice& slice);
  void name_tasks();
  void write_worker(int worker);
  void write_ranks();
  void write_nested(std::span<Slice> slices, int tid);
  void write_program(std::span<Slice> slices);
  void write_waits(std::span<Slice> slices);
  void write_flow(const Slice& wait, int tid);

  int worker_tid(int worker) const { return worker + 1; }
  int new_track(const std::string& name);
  void name_track(int tid, const std::string& name);
  void begin(const char* phase, int tid, std::int64_t ts, const char* category);
  void slice(const Slice& slice, int tid);
  void name_of(const Record& record);
  void arguments(const Record& record);
  void argument(std::string_view key, std::int64_t value);
  void cell_argument(const Record& record);
  const char* task_name(const Record& record) const;

  JsonFile file_;
  const Trace& trace_;
  std::vector<TraceWindow> windows_;  // by address
  std::int64_t origin_ = 0;           // the first record's start, ns of the trace's clock
  std::int64_t last_ = 0;             // the last record's end, ns since origin_
  std::vector<std::vector<Slice>> on_worker_;
  std::vector<Slice> program_, waits_;
  std::vector<Notified> notified_;                                 // by cell and start
  std::unordered_map<std::uint64_t, Slice> open_rounds_;           // by rank and round
  std::unordered_map<std::uint64_t, const char*> waiting_tasks_;   // names of those that waits name by number
  int next_tid_ = 0;
  std::int64_t next_flow_ = 1;
  bool first_event_ = true;
};

void Writer::write() {
  sort_out();
  name_tasks();
  file_.raw("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"records_dropped\":\"");
  file_.number(static_cast<std::int64_t>(trace_.dropped)).raw("\"},\"traceEvents\":[");
  file_.raw("\n{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":\"heddle\"}}");
  first_event_ = false;
  const auto workers = static_cast<int>(trace_.workers.size());
  next_tid_ = worker_tid(workers);
  for (int worker = 0; worker < workers; ++worker) write_worker(worker);
  write_ranks();
  file_.raw("\n]}\n");
  file_.close();
}

// Decides which track each record is shown on.
void Writer::sort_out() {
  bool any = false;
  for (const auto& records : trace_.workers)
    for (const Record& record : records) {
      const std::int64_t start = trace_.clock.ns(start_ticks(record));
      origin_ = any ? std::min(origin_, start) : start;
      any = true;
    }
  for (const auto& records : trace_.workers)
    for (const Record& record : records) last_ = std::max(last_, trace_.clock.ns(record.end_ticks) - origin_);

  on_worker_.resize(trace_.workers.size());
  for (std::size_t worker = 0; worker < trace_.workers.size(); ++worker)
    for (const Record& record : trace_.workers[worker]) sort_out(record, static_cast<int>(worker));
  for (const auto& [key, round] : open_rounds_) program_.push_back(round);
  std::ranges::sort(notified_, {}, [](const Notified& one) { return std::pair(one.cell, one.start); });
}

void Writer::sort_out(const Record& record, int worker) {
  Slice slice{trace_.clock.ns(start_ticks(record)) - origin_, trace_.clock.ns(record.end_ticks) - origin_, &record, worker};
  switch (record.kind) {
    case Event::wait:
      slice.end += 1;  // its arrow ends inside of it
      waits_.push_back(slice);
      return;
    case Event::scope:
    case Event::ring_wait: program_.push_back(slice); return;
    case Event::round_begin:
    case Event::round_end: take_round(slice); return;
    case Event::notify:
      slice.end = std::max(slice.end, slice.start + 1);  // its arrow begins inside of it
      notified_.push_back({record.subject, slice.start, worker});
      break;
    default: break;
  }
  on_worker_[static_cast<std::size_t>(worker)].push_back(slice);
}

// The two ends of a round may come from different workers, in either order; one may have been dropped.
void Writer::take_round(const Slice& slice) {
  const Record& record = *slice.record;
  const auto key = static_cast<std::uint64_t>(record.rank) << 32U | record.value;
  const auto [found, is_new] = open_rounds_.try_emplace(key, slice);
  Slice& round = found->second;
  const bool begins = record.kind == Event::round_begin;
  if (is_new) {
    begins ? round.end = last_ : round.start = 0;
    return;
  }
  begins ? round.start = slice.start : round.end = slice.end;
  if (round.record->kind != record.kind) {
    program_.push_back(round);
    open_rounds_.erase(found);
  }
}

void Writer::name_tasks() {
  for (const Slice& wait : waits_) waiting_tasks_.try_emplace(task_key(*wait.record), nullptr);
  if (waiting_tasks_.empty()) return;
  for (const auto& records : trace_.workers)
    for (const Record& record : records)
      if (record.kind == Event::block || record.kind == Event::submit)
        if (const auto found = waiting_tasks_.find(task_key(record)); found != waiting_tasks_.end())
          found->second = name_at(record.subject, nullptr);
}

const char* Writer::task_name(const Record& record) const {
  const auto found = waiting_tasks_.find(task_key(record));
  return found != waiting_tasks_.end() && found->second != nullptr ? found->second : "a task";
}

void Writer::write_worker(int worker) {
  auto& slices = on_worker_[static_cast<std::size_t>(worker)];
  const int tid = worker_tid(worker);
  name_track(tid, "worker " + std::to_string(worker));
  std::ranges::sort(slices, is_outer);
  write_nested(slices, tid);
}

// An inner slice never outlasts its outer one, so that viewers, which take a track for a stack, show all of them.
void Writer::write_nested(std::span<Slice> slices, int tid) {
  std::vector<std::int64_t> ends;
  for (Slice& one : slices) {
    while (!ends.empty() && ends.back() <= one.start) ends.pop_back();
    if (!ends.empty()) one.end = std::min(one.end, ends.back());
    ends.push_back(one.end);
    slice(one, tid);
  }
}

void Writer::write_ranks() {
  const auto by_rank = [](const Slice& slice) { return slice.record->rank; };
  std::ranges::sort(program_, is_lower_rank_or_outer);
  std::ranges::sort(waits_, is_lower_rank_or_outer);
  auto program = program_.begin();
  auto wait = waits_.begin();
  while (program != program_.end() || wait != waits_.end()) {
    int rank = base::no_rank;
    if (program != program_.end()) rank = std::min<int>(rank, by_rank(*program));
    if (wait != waits_.end()) rank = std::min<int>(rank, by_rank(*wait));
    const auto program_end = std::find_if(program, program_.end(), [&](const Slice& one) { return by_rank(one) != rank; });
    const auto wait_end = std::find_if(wait, waits_.end(), [&](const Slice& one) { return by_rank(one) != rank; });
    write_program({program, program_end});
    write_waits({wait, wait_end});
    program = program_end;
    wait = wait_end;
  }
}

// One rank's rounds, scopes and waits for room.
void Writer::write_program(std::span<Slice> slices) {
  if (slices.empty()) return;
  const int rank = slices.front().record->rank;
  write_nested(slices, new_track(rank == base::no_rank ? "session" : "rank " + std::to_string(rank)));
}

// One rank's waits, each on the first track that is free by then.
void Writer::write_waits(std::span<Slice> slices) {
  using Track = std::pair<std::int64_t, int>;  // free from, tid
  std::priority_queue<Track, std::vector<Track>, std::greater<>> tracks;
  for (const Slice& one : slices) {
    int tid = 0;
    if (!tracks.empty() && tracks.top().first <= one.start) {
      tid = tracks.top().second;
      tracks.pop();
    } else {
      const std::string number = tracks.empty() ? "" : " (" + std::to_string(tracks.size() + 1) + ")";
      tid = new_track("rank " + std::to_string(one.record->rank) + " waits" + number);
    }
    tracks.emplace(one.end, tid);
    slice(one, tid);
    write_flow(one, tid);
  }
}

// From the latest notify of the same cell that began before the wait ended. (Its end proves nothing: the waiter may be
// on its way before the notifier has read its clock again.)
void Writer::write_flow(const Slice& wait, int tid) {
  const std::int64_t ended = wait.end - 1;
  const auto after = std::ranges::upper_bound(notified_, std::pair(wait.record->subject, ended), {},
                                              [](const Notified& one) { return std::pair(one.cell, one.start); });
  if (after == notified_.begin() || std::prev(after)->cell != wait.record->subject) return;
  const Notified& notify = *std::prev(after);
  const std::int64_t id = next_flow_++;
  begin("s", worker_tid(notify.worker), notify.start, "signal");
  file_.raw(",\"name\":\"notify\",\"id\":").number(id).raw("}");
  begin("f", tid, ended, "signal");
  file_.raw(",\"name\":\"notify\",\"bp\":\"e\",\"id\":").number(id).raw("}");
}

int Writer::new_track(const std::string& name) {
  name_track(next_tid_, name);
  return next_tid_++;
}

void Writer::name_track(int tid, const std::string& name) {
  for (const bool is_name : {true, false}) {
    file_.raw(",\n{\"ph\":\"M\",\"pid\":1,\"tid\":").number(tid).raw(",\"name\":");
    if (is_name) file_.raw("\"thread_name\",\"args\":{\"name\":").text(name).raw("}}");
    else file_.raw("\"thread_sort_index\",\"args\":{\"sort_index\":").number(tid).raw("}}");
  }
}

// All of an event but its name and what depends on its phase.
void Writer::begin(const char* phase, int tid, std::int64_t ts, const char* category) {
  file_.raw(",\n{\"ph\":\"").raw(phase).raw("\",\"pid\":1,\"tid\":").number(tid).raw(",\"ts\":").microseconds(ts);
  file_.raw(",\"cat\":\"").raw(category).raw("\"");
}

void Writer::slice(const Slice& slice, int tid) {
  constexpr const char* categories[base::event_kinds] = {"block", "put",  "get",   "notify", "wait",  "submit",
                                                         "scope", "ring", "round", "round",  "error", "orchestrator"};
  const Record& record = *slice.record;
  const auto kind = static_cast<std::size_t>(record.kind);
  if (record.kind == Event::error) {
    begin("i", tid, slice.end, categories[kind]);
    file_.raw(",\"s\":\"g\"");
  } else {
    begin("X", tid, slice.start, kind < std::size(categories) ? categories[kind] : "other");
    file_.raw(",\"dur\":").microseconds(slice.end - slice.start);
  }
  file_.raw(",\"name\":");
  name_of(record);
  file_.raw(",\"args\":{\"rank\":").number(record.rank == base::no_rank ? -1 : record.rank);
  arguments(record);
  file_.raw("}}");
}

void Writer::name_of(const Record& record) {
  switch (record.kind) {
    case Event::block: file_.text(name_at(record.subject, "unnamed")); return;
    case Event::put: file_.text("put"); return;
    case Event::get: file_.text("get"); return;
    case Event::notify: file_.text("notify"); return;
    case Event::wait: file_.text(std::string(task_name(record)) + " waits"); return;
    case Event::submit: file_.text(std::string("submit ") + name_at(record.subject, "unnamed")); return;
    case Event::scope: file_.text("scope"); return;
    case Event::ring_wait: file_.text(std::string("room for ") + name_at(record.subject, "a task")); return;
    case Event::round_begin:
    case Event::round_end: file_.text("round " + std::to_string(record.value)); return;
    case Event::error: file_.text(std::string("error: ") + name_at(record.subject, "unknown")); return;
    case Event::orchestrator: file_.text(name_at(record.subject, "orchestrator")); return;
  }
  file_.text("unknown");
}

void Writer::argument(std::string_view key, std::int64_t value) {
  file_.raw(",\"").raw(key).raw("\":").number(value);
}

void Writer::arguments(const Record& record) {
  switch (record.kind) {
    case Event::block:
      argument("block", record.value);
      argument("task", record.task);
      if ((record.flags & base::event_resumed) != 0) file_.raw(",\"resumed\":true");
      if ((record.flags & base::event_parked) != 0) file_.raw(",\"parked\":true");
      return;
    case Event::put:
    case Event::get:
      argument("task", record.task);
      argument("bytes", static_cast<std::int64_t>(record.subject));
      argument("peer", record.value);
      return;
    case Event::notify:
      argument("task", record.task);
      argument("value", static_cast<std::int32_t>(record.value));
      cell_argument(record);
      return;
    case Event::wait:
      argument("block", record.value);
      argument("task", record.task);
      if ((record.flags & base::event_deferred) != 0) file_.raw(",\"deferred\":true");
      cell_argument(record);
      return;
    case Event::submit:
      argument("task", record.task);
      argument("blocks", record.value);
      return;
    case Event::scope:
      file_.raw(",\"file\":").text(name_at(record.subject, "unknown"));
      argument("line", record.value);
      return;
    case Event::ring_wait: argument("ring", record.value); return;
    case Event::error: argument("code", record.value); return;
    case Event::round_begin:
    case Event::round_end:
    case Event::orchestrator: return;
  }
}

// "hidden_done[2] of rank 3" where a window holds the cell, its address otherwise.
void Writer::cell_argument(const Record& record) {
  file_.raw(",\"cell\":");
  const auto after = std::ranges::upper_bound(windows_, record.subject, {}, &TraceWindow::address);
  if (after != windows_.begin()) {
    const TraceWindow& window = *std::prev(after);
    const std::uint64_t offset = record.subject - window.address;
    const std::uint64_t cell_bytes = (record.flags & base::event_wide) != 0 ? 8 : 4;
    if (offset < window.bytes) {
      file_.text(std::string(window.name) + "[" + std::to_string(offset / cell_bytes) + "] of rank " +
                 std::to_string(window.rank));
      return;
    }
  }
  char address[24];
  std::snprintf(address, sizeof address, "0x%llx", static_cast<unsigned long long>(record.subject));
  file_.text(address);
}

}  // namespace

void write_trace(const std::string& path, const Trace& trace) { Writer(path, trace).write(); }

}  // namespace heddle::host
