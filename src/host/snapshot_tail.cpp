// SPDX-License-Identifier: Apache-2.0
#include "host/snapshot_tail.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace heddle::host {

namespace {

using base::Record;

constexpr std::size_t events_most = 256;      // of a rank
constexpr std::size_t records_most = 16'384;  // looked at, of a worker

// Null: of no interest to a reader of snapshots.
const char* kind_of(const Record& record) {
  switch (record.kind) {
    case base::Event::block:
      return "block";
    case base::Event::put:
      return "put";
    case base::Event::get:
      return "get";
    case base::Event::notify:
      return "notify";
    case base::Event::wait:
      return (record.flags & base::event_deferred) != 0 ? "condition" : "wait";
    case base::Event::submit:
      return "submit";
    default:
      return nullptr;
  }
}

class Tail {
 public:
  Tail(snapshot::Snapshot& snapshot, HostEngine& engine, const ReadEngine& read, std::uint64_t began)
      : snapshot_(snapshot), cells_(engine), clock_(engine.traces().clock()), began_(static_cast<std::int64_t>(began)) {
    for (snapshot::Cell& cell : snapshot.cells) waited_.emplace(std::tuple(cell.rank, cell.window, cell.cell), &cell);
    collect(engine.traces().set().snapshot());
    for (std::size_t r = 0; r < read.ranks.size(); ++r)
      for (const ReadTask& task : read.ranks[r].tasks)
        if (const auto of = tasks_.find(key(static_cast<int>(r), static_cast<std::uint32_t>(task.ref)));
            of != tasks_.end())
          of->second = &task;
  }

  void add() {
    std::vector<std::size_t> count(snapshot_.ranks.size(), 0);
    for (auto at = newest_.rbegin(); at != newest_.rend(); ++at) {
      const auto& [record, worker] = *at;
      if (record.rank >= count.size() || count[record.rank]++ >= events_most) continue;
      event(record, worker);
    }
    std::reverse(snapshot_.events.begin(), snapshot_.events.end());
    for (const auto& [record, worker] : newest_)
      if (record.kind == base::Event::notify) change(record);
  }

 private:
  static std::uint64_t key(int rank, std::uint32_t task) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(rank)) << 32U | task;
  }

  void collect(const std::vector<std::vector<Record>>& workers) {
    for (std::size_t w = 0; w < workers.size(); ++w) {
      const auto& records = workers[w];
      const std::size_t first = records.size() > records_most ? records.size() - records_most : 0;
      for (std::size_t i = first; i < records.size(); ++i)
        if (kind_of(records[i]) != nullptr) {
          newest_.emplace_back(records[i], w);
          tasks_.emplace(key(records[i].rank, records[i].task), nullptr);
        }
    }
    std::sort(newest_.begin(), newest_.end(), [](const auto& left, const auto& right) {
      return std::pair(left.first.end_ticks, left.second) < std::pair(right.first.end_ticks, right.second);
    });
  }

  std::uint64_t time(std::uint64_t ticks) const {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(clock_.ns(ticks) - began_, 0));
  }
  // Only of those that are in a ring still; a reference is kept in part.
  const ReadTask* task_of(const Record& record) const {
    const auto found = tasks_.find(key(record.rank, record.task));
    return found == tasks_.end() ? nullptr : found->second;
  }

  void event(const Record& record, std::size_t worker) {
    snapshot::Event& made = snapshot_.events.emplace_back();
    made.kind = kind_of(record);
    made.start = time(record.end_ticks - record.duration);
    made.end = time(record.end_ticks);
    made.rank = record.rank;
    made.core = static_cast<std::int64_t>(worker);
    if (const ReadTask* const task = task_of(record); task != nullptr) {
      made.task = task->number;
      made.name = task->name;
    }
    switch (record.kind) {
      case base::Event::block:
      case base::Event::submit:
        if (record.subject != 0) made.name = reinterpret_cast<const char*>(record.subject);
        if (record.kind == base::Event::block) made.block = record.value;
        break;
      case base::Event::put:
      case base::Event::get:
        made.peer = static_cast<int>(record.value);
        break;
      default: {
        const CellNames::Name cell = cells_.of(record.subject, (record.flags & base::event_wide) != 0);
        if (cell.window == nullptr) break;
        made.window = cell.window;
        made.cell = cell.cell;
        if (record.kind == base::Event::notify) {
          made.peer = cell.rank;
          made.value = static_cast<std::int32_t>(record.value);
        } else {
          made.block = record.value;
        }
      }
    }
  }

  void change(const Record& record) {
    const CellNames::Name name = cells_.of(record.subject, (record.flags & base::event_wide) != 0);
    if (name.window == nullptr) return;
    const auto cell = waited_.find({name.rank, name.window, name.cell});
    if (cell == waited_.end()) return;
    snapshot::Change made;
    made.rank = record.rank;
    if (const ReadTask* const task = task_of(record); task != nullptr) {
      made.task = task->number;
      made.name = task->name;
    }
    made.value = static_cast<std::int32_t>(record.value);
    made.issued = made.arrived = time(record.end_ticks);
    cell->second->history.push_back(std::move(made));
  }

  snapshot::Snapshot& snapshot_;
  CellNames cells_;
  base::TickClock clock_;
  std::int64_t began_;
  std::unordered_map<std::uint64_t, const ReadTask*> tasks_;  // that records name; looked up only
  std::map<std::tuple<int, std::string, std::int64_t>, snapshot::Cell*> waited_;
  std::vector<std::pair<Record, std::size_t>> newest_;  // and the worker, by time
};

}  // namespace

CellNames::CellNames(HostEngine& engine) {
  engine.windows().for_each([&](const heddle::detail::WindowTable& window) {
    for (std::size_t r = 0; r < window.part.size(); ++r)
      parts_.push_back(
          {reinterpret_cast<std::uintptr_t>(window.part[r]), window.bytes, window.name, static_cast<int>(r)});
  });
  std::sort(parts_.begin(), parts_.end(), [](const Part& left, const Part& right) { return left.begin < right.begin; });
}

CellNames::Name CellNames::of(std::uint64_t address, bool wide) const {
  auto after = std::upper_bound(parts_.begin(), parts_.end(), address,
                                [](std::uint64_t wanted, const Part& part) { return wanted < part.begin; });
  if (after == parts_.begin()) return {};
  const Part& part = *--after;
  if (address - part.begin >= part.bytes) return {};
  return {part.window, part.rank, static_cast<std::int64_t>((address - part.begin) / (wide ? 8 : 4))};
}

void add_tail(snapshot::Snapshot& snapshot, HostEngine& engine, const ReadEngine& read, std::uint64_t began) {
  Tail(snapshot, engine, read, began).add();
}

}  // namespace heddle::host
