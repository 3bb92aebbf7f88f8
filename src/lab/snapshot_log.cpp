// SPDX-License-Identifier: Apache-2.0
#include "lab/snapshot_log.hpp"

#include <algorithm>
#include <cstring>

namespace heddle::lab {

namespace {

constexpr std::size_t writes_most = 65'536;

std::int64_t value_of(const heddle::detail::SignalRef& signal) {
  if (signal.wide) {
    std::int64_t value = 0;
    std::memcpy(&value, signal.cell, sizeof value);
    return value;
  }
  std::int32_t value = 0;
  std::memcpy(&value, signal.cell, sizeof value);
  return value;
}

std::size_t width_of(const heddle::detail::SignalRef& signal) { return signal.wide ? 8 : 4; }

}  // namespace

void SnapshotLog::begin(const Simulator& simulator, const chip::Geometry& geometry, int ranks, bool resets_windows) {
  taken.reset();
  simulator_ = &simulator;
  resets_windows_ = resets_windows;
  round_ = 0;
  ranks_.assign(static_cast<std::size_t>(ranks), {});
  cells_.clear();
  by_address_.clear();
  written_.clear();
  notifies_.clear();
  puts_.clear();
  events_.begin(simulator, geometry, ranks);
}

bool SnapshotLog::is(Flags which, TaskId task, std::uint32_t part) const {
  const auto& tasks = ranks_[static_cast<std::size_t>(task.rank)].*which;
  return task.serial < tasks.size() && part < tasks[task.serial].size() && tasks[task.serial][part];
}
void SnapshotLog::set(Flags which, const BlockId& id) {
  auto& tasks = ranks_[static_cast<std::size_t>(id.task.rank)].*which;
  if (tasks.size() <= id.task.serial) tasks.resize(id.task.serial + 1);
  auto& parts = tasks[id.task.serial];
  if (parts.size() <= id.block) parts.resize(id.block + 1, false);
  parts[id.block] = true;
}

// Null when there are too many.
SnapshotLog::CellLog* SnapshotLog::cell(const heddle::detail::SignalRef& signal) {
  if (signal.window == nullptr || signal.window->bytes == 0) return nullptr;
  CellName name = name_of(signal);
  if (const auto found = cells_.find(name); found != cells_.end()) return &found->second;
  if (cells_.size() >= cells_most) return nullptr;
  CellLog& made = cells_[std::move(name)];
  made.signal = signal;
  const auto* const address = static_cast<const std::byte*>(signal.cell);
  by_address_[address] = &made;
  // Somebody may have written it before it was known to be a cell.
  if (written_.size() >= writes_most || std::any_of(written_.begin(), written_.end(), [&](const Extent& each) {
        return address < each.end && each.begin < address + width_of(signal);
      }))
    made.older = 1;
  return &made;
}

void SnapshotLog::add(CellLog& cell, snapshot::Change change) {
  cell.history.push_back(std::move(change));
  if (cell.history.size() <= changes_most) return;
  cell.history.pop_front();
  ++cell.older;
}

snapshot::Change SnapshotLog::change(const BlockId& id, snapshot::ChangeKind kind) const {
  snapshot::Change change;
  change.kind = kind;
  change.rank = id.task.rank;
  change.task = id.task.serial;
  change.block = id.block;
  const auto& names = ranks_[static_cast<std::size_t>(id.task.rank)].names;
  if (id.task.serial < names.size()) change.name = names[id.task.serial];
  change.round = round_;
  change.issued = now();
  return change;
}

void SnapshotLog::round_begins(std::int64_t round) {
  round_ = round;
  for (OfRank& rank : ranks_) rank = {};
  events_.round_begins(round);
  if (!resets_windows_) return;
  for (auto& [name, cell] : cells_) {
    snapshot::Change reset;
    reset.kind = snapshot::ChangeKind::reset;
    reset.round = round;
    reset.value = 0;
    reset.issued = reset.arrived = now();
    add(cell, std::move(reset));
  }
}

void SnapshotLog::submitted(const TaskFacts& facts) {
  auto& names = ranks_[static_cast<std::size_t>(facts.id.rank)].names;
  if (names.size() <= facts.id.serial) names.resize(facts.id.serial + 1, "");
  names[facts.id.serial] = facts.name;
  events_.submitted(facts);
}

void SnapshotLog::block_begins(const BlockId& id, std::uint32_t core) {
  set(begun_, id);
  events_.block_begins(id, core);
}
void SnapshotLog::block_ends(const BlockId& id) {
  set(ended_, id);
  events_.block_ends(id);
}

void SnapshotLog::put(const BlockId& id, std::uint64_t put_id, const Piece& to, const Piece& from) {
  events_.put(id, put_id, to, from);
  if (to.window == nullptr) return;
  const std::byte* end = to.data + to.element_bytes;
  for (int d = 0; d < to.dims; ++d) end += (to.shape[d] - 1) * to.stride[d];
  puts_[put_id] = {to.data, end};
}
void SnapshotLog::arrived(std::uint64_t put_id) {
  events_.arrived(put_id);
  const auto found = puts_.find(put_id);
  if (found == puts_.end()) return;
  const auto [begin, end] = found->second;
  puts_.erase(found);
  // Between the rows of a strided put nothing changes: which cells it has changed is not looked into.
  for (auto at = by_address_.lower_bound(begin); at != by_address_.end() && at->first < end; ++at)
    at->second->older = std::max<std::int64_t>(at->second->older, 1);
  written(begin, end);
}
void SnapshotLog::written(const std::byte* begin, const std::byte* end) {
  if (!written_.empty() && written_.back().begin == begin && written_.back().end == end) return;
  if (written_.size() < writes_most) written_.push_back({begin, end});
}

void SnapshotLog::notify(const BlockId& id, std::uint64_t notify_id, const heddle::detail::SignalRef& signal,
                         std::int64_t value, Notify how, Order order) {
  events_.notify(id, notify_id, signal, value, how, order);
  CellLog* const of = cell(signal);
  if (of == nullptr) return;
  snapshot::Change sent = change(id, snapshot::ChangeKind::notify);
  sent.value = value;
  sent.op = how == Notify::add ? "add" : "set";
  add(*of, std::move(sent));
  notifies_[notify_id] = {of, static_cast<std::uint64_t>(of->older) + of->history.size() - 1};
}
void SnapshotLog::notify_arrived(std::uint64_t notify_id) {
  events_.notify_arrived(notify_id);
  const auto found = notifies_.find(notify_id);
  if (found == notifies_.end()) return;
  const auto [of, number] = found->second;
  const auto older = static_cast<std::uint64_t>(of->older);
  if (number >= older && number - older < of->history.size()) {
    snapshot::Change& sent = of->history[number - older];
    // A notify that arrives twice counts twice.
    if (sent.arrived) {
      snapshot::Change again = sent;
      again.arrived = now();
      add(*of, std::move(again));
    } else {
      sent.arrived = now();
    }
  }
}

void SnapshotLog::line_written_back(const BlockId& id, const Piece& line, std::uint64_t dirty) {
  if (line.window == nullptr) return;
  const std::byte* const end = line.data + 64;
  written(line.data, end);
  for (auto at = by_address_.lower_bound(line.data); at != by_address_.end() && at->first < end; ++at) {
    const std::uint64_t mask = (std::uint64_t{1} << width_of(at->second->signal)) - 1;
    if ((dirty >> static_cast<unsigned>(at->first - line.data) & mask) == 0) continue;
    snapshot::Change store = change(id, snapshot::ChangeKind::store);
    store.value = value_of(at->second->signal);
    store.op = "set";
    store.arrived = store.issued;
    add(*at->second, std::move(store));
  }
}

void SnapshotLog::wait_begins(const BlockId& id, const heddle::detail::SignalRef& signal, Compare compare,
                              std::int64_t value) {
  (void)cell(signal);
  events_.wait_begins(id, signal, compare, value);
}
void SnapshotLog::wait_satisfied(const BlockId& id, const heddle::detail::SignalRef& signal, Compare compare,
                                 std::int64_t value, bool deferred) {
  events_.wait_satisfied(id, signal, compare, value, deferred);
}

std::vector<snapshot::Cell> SnapshotLog::cells() const {
  std::vector<snapshot::Cell> all;
  for (const auto& [name, log] : cells_) {
    snapshot::Cell& made = all.emplace_back();
    made.rank = name.rank;
    made.window = name.window;
    made.cell = name.cell;
    made.value = value_of(log.signal);
    made.history.assign(log.history.begin(), log.history.end());
    made.older = log.older;
  }
  return all;
}

std::vector<snapshot::Event> SnapshotLog::events() const {
  static constexpr const char* kinds[] = {"block", "wait", "put", "get", "notify", "arrival", "condition", "submit"};
  std::vector<snapshot::Event> all;
  for (int r = 0; r < events_.ranks(); ++r) {
    for (const TraceRecord& record : events_.records(r)) {
      snapshot::Event& made = all.emplace_back();
      made.start = record.start;
      made.end = record.end;
      made.kind = kinds[static_cast<std::size_t>(record.kind)];
      made.rank = r;
      made.task = record.task;
      made.block = record.block;
      if (record.name != TraceRecord::no_name) made.name = events_.name(record.name);
      if (record.core != TraceRecord::no_core) made.core = record.core;
      made.peer = record.peer;
      if (record.window != TraceRecord::no_name) made.window = events_.name(record.window);
      made.cell = record.cell;
      made.value = record.value;
      made.unfinished = !record.complete;
    }
  }
  // By time; of those at the same one, rank by rank.
  std::vector<std::pair<std::uint64_t, std::size_t>> order;
  for (std::size_t i = 0; i < all.size(); ++i) order.emplace_back(all[i].start.value_or(0), i);
  std::sort(order.begin(), order.end());
  std::vector<snapshot::Event> sorted;
  for (const auto& [start, index] : order) sorted.push_back(std::move(all[index]));
  return sorted;
}

}  // namespace heddle::lab
