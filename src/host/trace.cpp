// SPDX-License-Identifier: Apache-2.0
#include "host/trace.hpp"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <queue>
#include <utility>

#include "host/json_file.hpp"
#include "host/trace_slices.hpp"

namespace heddle::host {
namespace {

using base::Event;
using base::Record;

const char* name_at(std::uint64_t subject, const char* otherwise) {
  const auto* name = reinterpret_cast<const char*>(static_cast<std::uintptr_t>(subject));
  return name != nullptr ? name : otherwise;
}

class Writer {
 public:
  Writer(const std::string& path, const Trace& trace)
      : file_(path), trace_(trace), slices_(trace), windows_(trace.windows.begin(), trace.windows.end()) {
    std::ranges::sort(windows_, {}, &TraceWindow::address);
  }
  void write();

 private:
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

  JsonFile file_;
  const Trace& trace_;
  TraceSlices slices_;
  std::vector<TraceWindow> windows_;  // by address
  int next_tid_ = 0;
  std::int64_t next_flow_ = 1;
};

void Writer::write() {
  file_.raw("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"records_dropped\":\"");
  file_.number(static_cast<std::int64_t>(trace_.dropped)).raw("\"},\"traceEvents\":[");
  file_.raw("\n{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":\"heddle\"}}");
  const auto workers = static_cast<int>(trace_.workers.size());
  next_tid_ = worker_tid(workers);
  for (int worker = 0; worker < workers; ++worker) write_worker(worker);
  write_ranks();
  file_.raw("\n]}\n");
  file_.close();
}

void Writer::write_worker(int worker) {
  auto& slices = slices_.on_worker[static_cast<std::size_t>(worker)];
  const int tid = worker_tid(worker);
  name_track(tid, "worker " + std::to_string(worker));
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
  auto& programs = slices_.programs;
  auto& waits = slices_.waits;
  auto program = programs.begin();
  auto wait = waits.begin();
  while (program != programs.end() || wait != waits.end()) {
    int rank = base::no_rank;
    if (program != programs.end()) rank = std::min<int>(rank, by_rank(*program));
    if (wait != waits.end()) rank = std::min<int>(rank, by_rank(*wait));
    const auto program_end =
        std::find_if(program, programs.end(), [&](const Slice& one) { return by_rank(one) != rank; });
    const auto wait_end = std::find_if(wait, waits.end(), [&](const Slice& one) { return by_rank(one) != rank; });
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

void Writer::write_flow(const Slice& wait, int tid) {
  const Notified* notify = slices_.ended_by(wait);
  if (notify == nullptr) return;
  const std::int64_t id = next_flow_++;
  begin("s", worker_tid(notify->worker), notify->start, "signal");
  file_.raw(",\"name\":\"notify\",\"id\":").number(id).raw("}");
  begin("f", tid, TraceSlices::ended(wait), "signal");
  file_.raw(",\"name\":\"notify\",\"bp\":\"e\",\"id\":").number(id).raw("}");
}

int Writer::new_track(const std::string& name) {
  name_track(next_tid_, name);
  return next_tid_++;
}

void Writer::name_track(int tid, const std::string& name) {
  for (const bool is_name : {true, false}) {
    file_.raw(",\n{\"ph\":\"M\",\"pid\":1,\"tid\":").number(tid).raw(",\"name\":");
    if (is_name)
      file_.raw("\"thread_name\",\"args\":{\"name\":").text(name).raw("}}");
    else
      file_.raw("\"thread_sort_index\",\"args\":{\"sort_index\":").number(tid).raw("}}");
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
    case Event::block:
      file_.text(name_at(record.subject, "unnamed"));
      return;
    case Event::put:
      file_.text("put");
      return;
    case Event::get:
      file_.text("get");
      return;
    case Event::notify:
      file_.text("notify");
      return;
    case Event::wait:
      file_.text(std::string(slices_.task_name(record)) + " waits");
      return;
    case Event::submit:
      file_.text(std::string("submit ") + name_at(record.subject, "unnamed"));
      return;
    case Event::scope:
      file_.text("scope");
      return;
    case Event::ring_wait:
      file_.text(std::string("room for ") + name_at(record.subject, "a task"));
      return;
    case Event::round_begin:
    case Event::round_end:
      file_.text("round " + std::to_string(record.value));
      return;
    case Event::error:
      file_.text(std::string("error: ") + name_at(record.subject, "unknown"));
      return;
    case Event::orchestrator:
      file_.text(name_at(record.subject, "orchestrator"));
      return;
  }
  file_.text("unknown");
}

void Writer::argument(std::string_view key, std::int64_t value) { file_.raw(",\"").raw(key).raw("\":").number(value); }

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
    case Event::ring_wait:
      argument("ring", record.value);
      return;
    case Event::error:
      argument("code", record.value);
      return;
    case Event::round_begin:
    case Event::round_end:
    case Event::orchestrator:
      return;
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
