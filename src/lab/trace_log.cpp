// SPDX-License-Identifier: Apache-2.0
#include "lab/trace_log.hpp"

#include <utility>

namespace heddle::lab {

namespace {

using Kind = TraceRecord::Kind;

// Puts and notifies are numbered apart.
std::uint64_t link_of_put(std::uint64_t id) { return 2 * id; }
std::uint64_t link_of_notify(std::uint64_t id) { return 2 * id + 1; }

std::int64_t bytes_of(const Piece& piece) {
  std::int64_t bytes = piece.element_bytes;
  for (int d = 0; d < piece.dims; ++d) bytes *= piece.shape[d];
  return bytes;
}

}  // namespace

void TraceLog::begin(const Simulator& simulator, const chip::Geometry& geometry, int ranks) {
  clear();
  simulator_ = &simulator;
  geometry_ = geometry;
  ranks_.resize(static_cast<std::size_t>(ranks));
  for (OfRank& rank : ranks_) rank.cores.resize(geometry.cores());
}

void TraceLog::clear() {
  ranks_.clear();
  rounds_.clear();
  names_.clear();
  numbers_.clear();
  flights_.clear();
  last_.clear();
  written_ = dropped_ = 0;
}

void TraceLog::end() {
  ended_at_ = now();
  simulator_ = nullptr;
}

// ---- what is kept

const std::string& TraceLog::name(std::uint32_t number) const {
  static const std::string none = "a task";
  return number < names_.size() ? *names_[number] : none;
}

std::uint32_t TraceLog::number_of(const char* name) {
  const std::string_view text = name != nullptr ? name : "";
  if (const auto found = numbers_.find(text); found != numbers_.end()) return found->second;
  const auto made = numbers_.emplace(std::string(text), static_cast<std::uint32_t>(names_.size())).first;
  names_.push_back(&made->first);
  return made->second;
}

void TraceLog::keep(int rank, const TraceRecord& record) {
  ++written_;
  auto& records = of(rank).records;
  if (records.size() >= most_) {
    records.pop_front();
    ++dropped_;
  }
  records.push_back(record);
}

// A record of now, with the place of its block.
TraceRecord TraceLog::record(Kind kind, const BlockId& id) {
  TraceRecord record;
  record.kind = kind;
  record.start = record.end = now();
  record.task = id.task.serial;
  record.block = id.block;
  const OfRank& rank = of(id.task.rank);
  if (id.task.serial < rank.names.size()) record.name = rank.names[id.task.serial];
  if (const auto found = rank.runs.find(key_of(id)); found != rank.runs.end()) record.core = found->second;
  return record;
}

void TraceLog::set_cell(TraceRecord& record, const heddle::detail::SignalRef& signal) {
  const std::byte* const part = signal.window->part[static_cast<std::size_t>(signal.rank)];
  record.window = number_of(signal.window->name);
  record.cell = (static_cast<const std::byte*>(signal.cell) - part) / (signal.wide ? 8 : 4);
  record.peer = signal.rank;
}

TraceLog::Running* TraceLog::running(const BlockId& id) {
  OfRank& rank = of(id.task.rank);
  const auto found = rank.runs.find(key_of(id));
  return found == rank.runs.end() ? nullptr : &rank.cores[found->second];
}

std::vector<TraceRecord> TraceLog::records(int rank) const {
  const OfRank& mine = ranks_[static_cast<std::size_t>(rank)];
  std::vector<TraceRecord> all(mine.records.begin(), mine.records.end());
  const auto add_open = [&](TraceRecord open) {
    open.end = std::max(open.start, now());
    open.complete = false;
    all.push_back(open);
  };
  for (const Running& core : mine.cores) {
    if (core.runs) add_open(core.block);
    if (core.runs && core.waits) add_open(core.wait);
  }
  return all;
}

std::vector<TraceLog::Round> TraceLog::rounds() const {
  std::vector<Round> all(rounds_.begin(), rounds_.end());
  if (!all.empty() && !all.back().complete) all.back().end = std::max(all.back().end, now());
  return all;
}

// ---- what is told

void TraceLog::round_begins(std::int64_t round) {
  if (rounds_.size() >= most_) rounds_.pop_front();
  rounds_.push_back({round, now(), now(), false});
  for (OfRank& rank : ranks_) rank.names.clear();
}

void TraceLog::round_ends() {
  rounds_.back().end = now();
  rounds_.back().complete = true;
}

void TraceLog::submitted(const TaskFacts& facts) {
  of(facts.id.rank).names.push_back(number_of(facts.name));
  TraceRecord submit = record(Kind::submit, {facts.id, 0});
  submit.value = facts.blocks;
  keep(facts.id.rank, submit);
}

void TraceLog::block_begins(const BlockId& id, std::uint32_t core) {
  OfRank& rank = of(id.task.rank);
  const std::uint32_t mine = core % geometry_.cores();
  rank.runs[key_of(id)] = mine;
  rank.cores[mine] = {record(Kind::block, id), {}, true, false};
}

void TraceLog::block_ends(const BlockId& id) {
  Running* const core = running(id);
  if (core == nullptr) return;
  if (core->waits) {
    core->wait.end = now();
    core->wait.complete = false;
    keep(id.task.rank, core->wait);
  }
  core->block.end = now();
  keep(id.task.rank, core->block);
  core->runs = false;
  of(id.task.rank).runs.erase(key_of(id));
}

// What a block issues takes some time of its core, of which the last nanosecond is drawn.
void TraceLog::put(const BlockId& id, std::uint64_t put_id, const Piece& to, const Piece& from) {
  TraceRecord put = record(Kind::put, id);
  put.start = put.end - (put.end > 0 ? 1 : 0);
  put.link = link_of_put(put_id);
  put.value = bytes_of(from);
  put.peer = to.rank;
  keep(id.task.rank, put);
  flights_[put.link] = {to.rank, put, nullptr};
}

void TraceLog::get(const BlockId& id, const Piece& to, const Piece& from) {
  TraceRecord get = record(Kind::get, id);
  get.start = get.end - (get.end > 0 ? 1 : 0);
  get.value = bytes_of(to);
  get.peer = from.rank;
  keep(id.task.rank, get);
}

void TraceLog::notify(const BlockId& id, std::uint64_t notify_id, const heddle::detail::SignalRef& signal,
                      std::int64_t value, Notify, Order) {
  TraceRecord notify = record(Kind::notify, id);
  notify.start = notify.end - (notify.end > 0 ? 1 : 0);
  notify.link = link_of_notify(notify_id);
  notify.value = value;
  set_cell(notify, signal);
  keep(id.task.rank, notify);
  flights_[notify.link] = {signal.rank, notify, signal.cell};
}

void TraceLog::arrived(std::uint64_t put_id) { arrive(link_of_put(put_id)); }
void TraceLog::notify_arrived(std::uint64_t notify_id) { arrive(link_of_notify(notify_id)); }

void TraceLog::arrive(std::uint64_t link) {
  const auto found = flights_.find(link);
  if (found == flights_.end()) return;  // a notify that arrives twice
  Flight& flight = found->second;
  flight.record.kind = Kind::arrival;
  flight.record.core = TraceRecord::no_core;
  flight.record.start = now();
  flight.record.end = now() + 1;
  if (flight.cell != nullptr) last_[flight.cell] = link;
  keep(flight.rank, flight.record);
  flights_.erase(found);
}

void TraceLog::wait_begins(const BlockId& id, const heddle::detail::SignalRef& signal, Compare compare,
                           std::int64_t value) {
  Running* const core = running(id);
  if (core == nullptr) return;
  core->wait = record(Kind::wait, id);
  core->wait.compare = compare;
  core->wait.value = value;
  set_cell(core->wait, signal);
  core->waits = true;
}

void TraceLog::wait_satisfied(const BlockId& id, const heddle::detail::SignalRef& signal, Compare compare,
                              std::int64_t value, bool deferred) {
  Running* const core = deferred ? nullptr : running(id);
  TraceRecord wait = record(deferred ? Kind::condition : Kind::wait, id);
  if (core != nullptr && core->waits) {
    wait = core->wait;
    wait.end = now();
    core->waits = false;
  } else {
    wait.compare = compare;
    wait.value = value;
    set_cell(wait, signal);
    if (deferred) ++wait.end;
  }
  if (const auto found = last_.find(signal.cell); found != last_.end()) wait.link = found->second;
  keep(id.task.rank, wait);
}

}  // namespace heddle::lab
