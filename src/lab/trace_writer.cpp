// SPDX-License-Identifier: Apache-2.0
//
// A trace log as JSON. A process for each rank: a track for each core that ran something, with blocks as slices and
// what they did inside; one for the orchestrator, the network and the conditions of tasks. Arrows lead from a put or
// notify to its arrival, and from a notify to the waits that it ended. Of a run that failed, arrows lead along its
// chain of waits: between the waits on the cores' tracks, and what has no slice there has a track of its own.
#include <algorithm>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/text.hpp"
#include "host/json_file.hpp"
#include "lab/trace_log.hpp"

namespace heddle::lab {

namespace {

using Kind = TraceRecord::Kind;

// Numbers of tracks are different in all processes: some viewers take them for the machine's threads.
constexpr std::uint32_t session_process = 1, first_rank_process = 2;
constexpr std::uint32_t orchestrator_track = 0, network_track = 1, condition_track = 2, first_core_track = 3;

const char* word_of(Kind kind) {
  constexpr const char* words[] = {"block", "wait", "put", "get", "notify", "arrival", "condition", "submit"};
  return words[static_cast<std::size_t>(kind)];
}

std::uint32_t track_of(const TraceRecord& record) {
  switch (record.kind) {
    case Kind::submit:
      return orchestrator_track;
    case Kind::arrival:
      return network_track;
    case Kind::condition:
      return condition_track;
    default:
      return record.core == TraceRecord::no_core ? network_track : first_core_track + record.core;
  }
}

// Outer slices of a track before inner ones. A block that took no time is around what it did.
bool is_before(const TraceRecord& left, const TraceRecord& right) {
  const auto key = [](const TraceRecord& record) {
    return std::tuple(track_of(record), record.start, ~record.end, record.kind, record.task, record.block, record.link,
                      record.window, record.cell);
  };
  return key(left) < key(right);
}

class Writer {
 public:
  Writer(const std::string& path, const TraceLog& log, const TraceChain& chain)
      : file_(path), log_(log), chain_(chain) {}
  void write();

 private:
  // An end of an arrow.
  struct Point {
    std::uint32_t process, thread;
    std::uint64_t time;
  };

  void write_rounds();
  void write_rank(int rank);
  void slice(int rank, const TraceRecord& record);
  void arrow(const Point& from, int rank, const TraceRecord& to);
  void draw(const Point& from, const Point& to, const char* category, const std::string& name,
            const std::string& sentence);
  void write_chain();
  const TraceRecord* waits_at(const TraceChain::Place& place) const;
  Point track_of_its_own(const TraceChain::Place& place, std::uint32_t tid, std::uint64_t since, std::uint64_t until);
  void arguments(int rank, const TraceRecord& record);
  void argument(const char* key, std::int64_t value);
  std::string name_of(const TraceRecord& record) const;
  std::string track_name(int rank, std::uint32_t track) const;

  std::uint32_t thread(int rank, std::uint32_t track) const {
    return 2 + static_cast<std::uint32_t>(rank) * (first_core_track + log_.geometry().cores()) + track;
  }
  static std::uint32_t process(int rank) { return first_rank_process + static_cast<std::uint32_t>(rank); }
  void name(const char* what, std::uint32_t pid, std::uint32_t tid, const std::string& text);
  void begin(const char* phase, std::uint32_t pid, std::uint32_t tid, std::uint64_t time, const char* category);

  host::JsonFile file_;
  const TraceLog& log_;
  const TraceChain& chain_;
  std::vector<std::vector<TraceRecord>> records_;     // by rank; outer slices of a track before inner ones
  std::unordered_map<std::uint64_t, Point> sources_;  // by link; looked up only
  std::int64_t arrows_ = 0;
};

void Writer::write() {
  for (int rank = 0; rank < log_.ranks(); ++rank) {
    records_.push_back(log_.records(rank));
    std::ranges::sort(records_.back(), is_before);
    for (const TraceRecord& record : records_.back())
      if (record.kind == Kind::put || record.kind == Kind::notify)
        sources_[record.link] = {process(rank), thread(rank, track_of(record)), record.start};
  }
  file_.raw("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"time\":\"virtual\",\"records_dropped\":\"");
  file_.number(static_cast<std::int64_t>(log_.dropped())).raw("\"},\"traceEvents\":[");
  file_.raw("\n{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":\"heddle\"}}");
  write_rounds();
  for (int rank = 0; rank < log_.ranks(); ++rank) write_rank(rank);
  write_chain();
  file_.raw("\n]}\n");
  file_.close();
}

void Writer::write_rounds() {
  name("thread_name", session_process, 1, "rounds");
  for (const TraceLog::Round& round : log_.rounds()) {
    begin("X", session_process, 1, round.start, "round");
    file_.raw(",\"dur\":").microseconds(static_cast<std::int64_t>(round.end - round.start));
    file_.raw(",\"name\":").text("round " + std::to_string(round.number));
    file_.raw(round.complete ? ",\"args\":{}}" : ",\"args\":{\"unfinished\":true}}");
  }
}

void Writer::write_rank(int rank) {
  name("process_name", process(rank), 0, "rank " + std::to_string(rank));
  std::uint32_t before = UINT32_MAX;
  for (const TraceRecord& record : records_[static_cast<std::size_t>(rank)]) {
    const std::uint32_t track = track_of(record);
    if (track != before) name("thread_name", process(rank), thread(rank, track), track_name(rank, track));
    before = track;
    slice(rank, record);
    const bool is_target = record.kind == Kind::arrival || record.kind == Kind::wait || record.kind == Kind::condition;
    if (!is_target || record.link == TraceRecord::no_link) continue;
    if (const auto from = sources_.find(record.link); from != sources_.end()) arrow(from->second, rank, record);
  }
}

void Writer::slice(int rank, const TraceRecord& record) {
  const bool is_moment = record.kind == Kind::submit;
  begin(is_moment ? "i" : "X", process(rank), thread(rank, track_of(record)), record.start, word_of(record.kind));
  if (is_moment) {
    file_.raw(",\"s\":\"t\"");
  } else {
    file_.raw(",\"dur\":").microseconds(static_cast<std::int64_t>(record.end - record.start));
  }
  file_.raw(",\"name\":").text(name_of(record)).raw(",\"args\":{\"rank\":").number(rank);
  arguments(rank, record);
  file_.raw("}}");
}

// An arrow ends inside of what it leads to: a viewer looks for the slice at that time.
void Writer::arrow(const Point& from, int rank, const TraceRecord& to) {
  const char* const what = to.kind == Kind::arrival && to.window == TraceRecord::no_name ? "put" : "notify";
  draw(from, {process(rank), thread(rank, track_of(to)), to.end > to.start ? to.end - 1 : to.end}, "signal", what, {});
}

void Writer::draw(const Point& from, const Point& to, const char* category, const std::string& name,
                  const std::string& sentence) {
  const std::int64_t id = ++arrows_;
  for (const bool is_begin : {true, false}) {
    const Point& at = is_begin ? from : to;
    begin(is_begin ? "s" : "f", at.process, at.thread, at.time, category);
    file_.raw(",\"name\":").text(name).raw(is_begin ? ",\"id\":" : ",\"bp\":\"e\",\"id\":").number(id);
    if (!sentence.empty()) file_.raw(",\"args\":{\"sentence\":").text(sentence).raw("}");
    file_.raw("}");
  }
}

// What the core of that place did last, if it is of the place's task: the wait in its block, or the block.
const TraceRecord* Writer::waits_at(const TraceChain::Place& place) const {
  if (place.rank < 0 || place.rank >= log_.ranks() || place.core < 0) return nullptr;
  const TraceRecord* last = nullptr;
  for (const TraceRecord& record : records_[static_cast<std::size_t>(place.rank)])
    if (record.core == place.core && (last == nullptr || record.end >= last->end)) last = &record;
  const bool is_there = last != nullptr && last->task == place.task && last->end > last->start;
  return is_there ? last : nullptr;
}

void Writer::write_chain() {
  std::vector<const TraceRecord*> waits;
  std::uint64_t since = UINT64_MAX, until = 1;
  for (const TraceChain::Place& place : chain_.places) {
    const TraceRecord* const wait = waits.emplace_back(waits_at(place));
    if (wait == nullptr) continue;
    since = std::min(since, wait->start);
    until = std::max(until, wait->end);
  }
  if (since == UINT64_MAX) since = 0;
  std::vector<Point> points;
  for (std::size_t i = 0; i < waits.size(); ++i) {
    const TraceChain::Place& place = chain_.places[i];
    if (waits[i] != nullptr)
      points.push_back({process(place.rank), thread(place.rank, track_of(*waits[i])), waits[i]->end - 1});
    else
      points.push_back(track_of_its_own(place, thread(log_.ranks(), static_cast<std::uint32_t>(i)), since, until));
  }
  for (const TraceChain::Arrow& arrow : chain_.arrows)
    draw(points[arrow.from], points[arrow.to], "chain", arrow.name, arrow.sentence);
}

// For what has no slice on a core: a cell, a task that has not begun, a program.
Writer::Point Writer::track_of_its_own(const TraceChain::Place& place, std::uint32_t tid, std::uint64_t since,
                                       std::uint64_t until) {
  const std::uint32_t pid = place.rank >= 0 && place.rank < log_.ranks() ? process(place.rank) : session_process;
  name("thread_name", pid, tid, "chain of waits: " + place.name);
  begin("X", pid, tid, since, "chain");
  file_.raw(",\"dur\":").microseconds(static_cast<std::int64_t>(until - since));
  file_.raw(",\"name\":").text(place.name).raw(",\"args\":{\"rank\":").number(place.rank).raw("}}");
  return {pid, tid, until - 1};
}

std::string Writer::name_of(const TraceRecord& record) const {
  const std::string& task = log_.name(record.name);
  switch (record.kind) {
    case Kind::block:
      return task;
    case Kind::wait:
      return task + " waits";
    case Kind::condition:
      return task + " may complete";
    case Kind::submit:
      return "submit " + task;
    case Kind::arrival:
      return std::string(record.window == TraceRecord::no_name ? "put" : "notify") + " arrives";
    default:
      return word_of(record.kind);
  }
}

void Writer::argument(const char* key, std::int64_t value) { file_.raw(",\"").raw(key).raw("\":").number(value); }

void Writer::arguments(int rank, const TraceRecord& record) {
  argument("task", record.task);
  if (record.kind != Kind::submit && record.kind != Kind::condition) argument("block", record.block);
  if (record.window != TraceRecord::no_name) {
    file_.raw(",\"cell\":")
        .text(log_.name(record.window) + "[" + std::to_string(record.cell) + "] of rank " +
              std::to_string(record.peer));
  }
  const bool is_copy = record.window == TraceRecord::no_name && record.peer >= 0;
  if (is_copy && record.peer != rank) argument("peer", record.peer);
  switch (record.kind) {
    case Kind::block:
      break;
    case Kind::wait:
    case Kind::condition:
      file_.raw(",\"needs\":").text(std::string(base::sign_of(record.compare)) + " " + std::to_string(record.value));
      break;
    case Kind::submit:
      argument("blocks", record.value);
      break;
    default:
      argument(is_copy ? "bytes" : "value", record.value);
      break;
  }
  if (!record.complete) file_.raw(",\"unfinished\":true");
}

std::string Writer::track_name(int rank, std::uint32_t track) const {
  const std::string of = "rank " + std::to_string(rank);
  if (track == orchestrator_track) return of + " orchestrator";
  if (track == network_track) return of + " network";
  if (track == condition_track) return of + " conditions";
  const std::uint32_t core = track - first_core_track, lanes = log_.geometry().lanes(), lane = core % lanes;
  return of + " cluster " + std::to_string(core / lanes) +
         (lane == 0 ? std::string(" cube") : " vector " + std::to_string(lane - 1));
}

void Writer::name(const char* what, std::uint32_t pid, std::uint32_t tid, const std::string& text) {
  file_.raw(",\n{\"ph\":\"M\",\"pid\":").number(pid);
  if (tid != 0) file_.raw(",\"tid\":").number(tid);
  file_.raw(",\"name\":\"").raw(what).raw("\",\"args\":{\"name\":").text(text).raw("}}");
  // Viewers order by names else, and 10 would stand before 2.
  file_.raw(",\n{\"ph\":\"M\",\"pid\":").number(pid);
  if (tid != 0) file_.raw(",\"tid\":").number(tid);
  file_.raw(tid != 0 ? ",\"name\":\"thread_sort_index\"" : ",\"name\":\"process_sort_index\"");
  file_.raw(",\"args\":{\"sort_index\":").number(tid != 0 ? tid : pid).raw("}}");
}

// All of an event but its name and what depends on its phase.
void Writer::begin(const char* phase, std::uint32_t pid, std::uint32_t tid, std::uint64_t time, const char* category) {
  file_.raw(",\n{\"ph\":\"").raw(phase).raw("\",\"pid\":").number(pid).raw(",\"tid\":").number(tid);
  file_.raw(",\"ts\":").microseconds(static_cast<std::int64_t>(time)).raw(",\"cat\":\"").raw(category).raw("\"");
}

}  // namespace

void TraceLog::write(const std::string& path, const TraceChain& chain) const { Writer(path, *this, chain).write(); }

}  // namespace heddle::lab
