// SPDX-License-Identifier: Apache-2.0
#include "lab/checkers/checkers.hpp"

#include <algorithm>
#include <utility>

#include "lab/checkers/bounds.hpp"
#include "lab/checkers/credit.hpp"
#include "lab/checkers/dependences.hpp"
#include "lab/checkers/flags.hpp"
#include "lab/checkers/lines.hpp"
#include "lab/checkers/once.hpp"
#include "lab/checkers/races.hpp"
#include "lab/checkers/visibility.hpp"
#include "lab/failure_text.hpp"
#include "lab/run.hpp"

namespace heddle::lab {

using namespace checkers;

const std::vector<NamedHelp>& checker_names() {
  static const std::vector<NamedHelp> names = {
      {"races", "two conflicting accesses that nothing orders; a store to a cell against a notify"},
      {"credit", "a wait that passed on a notify of an earlier round or use, and missed its own"},
      {"visibility", "a read of a line that was not written back, or from a copy that was not invalidated"},
      {"lines", "two cores that store different bytes of one line, unordered"},
      {"flags", "the halves of a mixed block set, push, wait and pop alike; what is left meets the next kernel"},
      {"bounds", "a put, get or scalar access that leaves its window part or argument"},
      {"dependences", "the edges that inference must find, computed once more from the bytes"},
      {"once", "every block of every task runs once, after its producers; every task completes once"},
  };
  return names;
}

// In this order: of two checkers that find the same access, the first says more about it.
CheckerSet::CheckerSet(const std::vector<std::string>& names, int ranks) : context_(ranks) {
  for (const std::string& name : names) {
    const auto& known = checker_names();
    if (std::none_of(known.begin(), known.end(), [&](const NamedHelp& entry) { return entry.name == name; }))
      heddle::detail::throw_invalid("checkers: there is no checker " + shown(name));
  }
  const auto wanted = [&](const char* name) { return std::find(names.begin(), names.end(), name) != names.end(); };
  if (wanted("once")) checkers_.push_back(std::make_unique<Once>(context_));
  if (wanted("dependences")) checkers_.push_back(std::make_unique<Dependences>(context_));
  if (wanted("bounds")) checkers_.push_back(std::make_unique<Bounds>(context_));
  if (wanted("flags")) checkers_.push_back(std::make_unique<Flags>(context_));
  if (wanted("lines")) checkers_.push_back(std::make_unique<Lines>(context_));
  if (wanted("visibility")) checkers_.push_back(std::make_unique<Visibility>(context_));
  if (wanted("races")) checkers_.push_back(std::make_unique<Races>(context_));
  if (wanted("credit")) checkers_.push_back(std::make_unique<Credit>(context_));
  keeps_accesses_ = wanted("races");
  keeps_writes_ = keeps_accesses_ || wanted("visibility");
  keeps_lines_ = wanted("lines") || wanted("visibility");
}

CheckerSet::~CheckerSet() = default;

void CheckerSet::stopped() {
  if (idle()) return;
  for (auto& checker : checkers_) checker->stopped();
}

void CheckerSet::round_begins(std::int64_t round) {
  if (idle()) return;
  context_.order.round_begins(round);
  context_.forget_round();
  puts_.clear();
  for (auto& checker : checkers_) checker->round_begins();
}

void CheckerSet::round_ends() {
  if (idle()) return;
  for (auto& checker : checkers_) checker->round_ends();
}

void CheckerSet::submitted(const TaskFacts& facts) {
  if (idle()) return;
  const TaskIndex task = context_.order.submitted(facts);
  if (task == none) return;
  for (const auto& arg : facts.args)
    context_.arguments.push_back({arg.data == nullptr ? graph::Region{} : region_of(arg), arg.tag});
  context_.first_argument_of.push_back(static_cast<std::uint32_t>(context_.arguments.size()));
  for (auto& checker : checkers_) checker->submitted(task, facts);
}

void CheckerSet::completed(TaskId id) {
  if (idle()) return;
  const TaskIndex task = context_.order.find(id);
  if (task == none) return;
  for (auto& checker : checkers_) checker->completed(task);
  if (keeps_writes_ && context_.order.task(task).completed == 0) use_arguments(task);
  context_.order.completed(task);
}

// The arguments of a task that ran: judged when it is done, with all that its blocks have acquired by their ends, as a
// kernel may wait first and use them then.
void CheckerSet::use_arguments(TaskIndex index) {
  using heddle::detail::Tag;
  const TaskNode& task = context_.order.task(index);
  if (task.begun == 0) return;
  const auto arguments = context_.arguments_of(index);
  for (std::size_t i = 0; i < arguments.size() && !idle(); ++i) {
    const auto& [region, tag] = arguments[i];
    if (tag == Tag::scratch || region.empty()) continue;
    Access entry;
    entry.kind = Access::Kind::argument;
    entry.write = tag == Tag::out || tag == Tag::inout || tag == Tag::fresh;
    entry.read = tag == Tag::in || tag == Tag::inout || tag == Tag::no_dep;
    entry.loose = tag == Tag::no_dep;
    entry.inferred = !task.manual && !entry.loose;
    entry.rank = task.id.rank;
    entry.task = index;
    entry.argument = static_cast<std::int32_t>(i);
    entry.since = task.begun;
    entry.effective = context_.order.now();
    entry.region = region;
    entry.window = context_.window_at(entry.rank, region.base);
    access(entry);
  }
}

AccessIndex CheckerSet::access(const Access& entry) {
  for (auto& checker : checkers_) checker->accessed(entry);
  const bool kept = entry.kind == Access::Kind::put || entry.kind == Access::Kind::write_back;
  if (!(keeps_accesses_ || (keeps_writes_ && kept))) return none;
  return context_.record(entry);
}

Access CheckerSet::access_of(Access::Kind kind, BlockIndex block, std::uint32_t op, const Piece& piece,
                             bool write) const {
  Access entry;
  entry.kind = kind;
  entry.write = write;
  entry.read = !write;
  entry.rank = piece.rank;
  entry.task = context_.order.block(block).task;
  entry.block = block;
  entry.op = op;
  entry.since = context_.order.now();
  entry.effective = kind == Access::Kind::put ? 0 : entry.since;
  entry.region = region_of(piece);
  entry.window = piece.window;
  entry.inferred = is_inferred(entry);
  return entry;
}

// Whether it stays inside of an argument that inference orders, and does to it no more than the argument says.
bool CheckerSet::is_inferred(const Access& entry) const {
  using heddle::detail::Tag;
  const TaskNode& task = context_.order.task(entry.task);
  if (task.manual || task.id.rank != entry.rank) return false;
  for (const Argument& argument : context_.arguments_of(entry.task)) {
    if (argument.tag == Tag::no_dep || (entry.write && argument.tag == Tag::in)) continue;
    if (graph::covers(argument.region, entry.region)) return true;
  }
  return false;
}

void CheckerSet::block_begins(const BlockId& id, std::uint32_t core) {
  if (idle()) return;
  const BlockIndex block = context_.order.find(id);
  if (block == none) {
    for (auto& checker : checkers_) checker->unknown_block(id);
    return;
  }
  context_.order.block_begins(block, core);
  for (auto& checker : checkers_) checker->block_begins(block);
}

void CheckerSet::block_ends(const BlockId& id) {
  const BlockIndex block = find(id);
  if (block == none) return;
  context_.order.block_ends(block);
  for (auto& checker : checkers_) checker->block_ends(block);
}

void CheckerSet::put(const BlockId& id, std::uint64_t put_id, const Piece& to, const Piece& from) {
  const BlockIndex block = find(id);
  if (block == none) return;
  context_.learn(to.window);
  context_.learn(from.window);
  const std::uint32_t op = context_.order.operation(block);
  for (auto& checker : checkers_) {
    checker->uses(block, "puts", to, true);
    checker->uses(block, "puts from", from, false);
  }
  access(access_of(Access::Kind::put_source, block, op, from, false));
  Access entry = access_of(Access::Kind::put, block, op, to, true);
  entry.peer = to.rank;
  for_cells_in(entry.region, [&](CellIndex cell) {
    for (auto& checker : checkers_) checker->overwrites(cell, block, op, to.rank);
  });
  if (const AccessIndex index = access(entry); index != none) puts_.emplace(put_id, index);
}

void CheckerSet::arrived(std::uint64_t put_id) {
  if (idle()) return;
  const auto found = puts_.find(put_id);
  if (found == puts_.end()) return;
  Access& entry = context_.accesses[found->second];
  puts_.erase(found);
  entry.effective = context_.order.tick();
  for_cells_in(entry.region, [this](CellIndex cell) { context_.order.overwritten(cell); });
}

void CheckerSet::get(const BlockId& id, const Piece& to, const Piece& from) {
  const BlockIndex block = find(id);
  if (block == none) return;
  context_.learn(to.window);
  context_.learn(from.window);
  const std::uint32_t op = context_.order.operation(block);
  for (auto& checker : checkers_) {
    checker->uses(block, "gets", from, true);
    checker->uses(block, "gets into", to, false);
  }
  access(access_of(Access::Kind::get, block, op, from, false));
  access(access_of(Access::Kind::get_result, block, op, to, true));
}

void CheckerSet::scalar_read(const BlockId& id, const Piece& piece, bool from_cache) {
  const BlockIndex block = find(id);
  if (block == none) return;
  const std::uint32_t op = context_.order.operation(block);
  const Access entry = access_of(Access::Kind::read, block, op, piece, false);
  for (auto& checker : checkers_) {
    checker->uses(block, "loads", piece, false);
    checker->scalar_read(block, op, entry.region, from_cache);
    checker->accessed(entry);
  }
  if (keeps_accesses_ && !join_read(entry)) context_.record(entry);
}

// Loads of one block that go along a line become one, as late as the last: what comes after that comes after all.
bool CheckerSet::join_read(const Access& entry) {
  const bool one_line = entry.region.extent <= bytes_of_line - entry.region.base % bytes_of_line;
  const AccessIndex index = one_line ? context_.reads.newest_beside(entry.region) : none;
  if (index == none) return false;
  Access& last = context_.accesses[index];
  if (last.block != entry.block || last.kind != Access::Kind::read || last.region.rank != 0) return false;
  const std::uintptr_t begin = std::min(last.region.base, entry.region.base);
  const std::uintptr_t end = std::max(last.region.end(), entry.region.end());
  if (end - begin > last.region.extent + entry.region.extent || last.inferred != entry.inferred) return false;
  last.region = graph::Region::contiguous(reinterpret_cast<const void*>(begin), end - begin);
  last.op = entry.op;
  last.superseded = 0;
  return true;
}

void CheckerSet::scalar_write(const BlockId& id, const Piece& piece) {
  const BlockIndex block = find(id);
  if (block == none) return;
  const std::uint32_t op = context_.order.operation(block);
  const graph::Region region = region_of(piece);
  if (region.empty()) return;
  const std::uintptr_t line = region.base & ~(bytes_of_line - 1);
  const std::uint64_t count = std::min<std::uint64_t>(region.extent, bytes_of_line - (region.base - line));
  const std::uint64_t bytes = (count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1)
                              << (region.base - line);
  for (auto& checker : checkers_) {
    checker->uses(block, "stores", piece, false);
    checker->scalar_write(block, op, line, bytes);
  }
  if (keeps_lines_) context_.lines.store(block, op, context_.order.now(), line, bytes);
}

void CheckerSet::line_written_back(const BlockId& id, const Piece& piece, std::uint64_t dirty) {
  const BlockIndex block = find(id);
  if (block == none || dirty == 0) return;
  const std::uint32_t op = context_.order.operation(block);
  const std::uintptr_t line = reinterpret_cast<std::uintptr_t>(piece.data) & ~(bytes_of_line - 1);
  context_.order.for_cells(line, line + bytes_of_line, [&](CellIndex cell) {
    const heddle::detail::SignalRef& signal = context_.order.cell(cell).signal;
    const auto first = reinterpret_cast<std::uintptr_t>(signal.cell) - line;
    if (((dirty >> first) & (signal.wide ? 0xffU : 0xfU)) == 0) return;
    for (auto& checker : checkers_) checker->overwrites(cell, block, op, -1);
    context_.order.overwritten(cell);
  });
  for (auto& checker : checkers_) checker->written_back(block, op, line, dirty);
  if (keeps_writes_) write_runs(block, op, piece, dirty);
  if (keeps_lines_) context_.lines.write_back(block, op, context_.order.now(), line, dirty);
}

// A store takes effect when its line is written back: an access for each run of bytes.
void CheckerSet::write_runs(BlockIndex block, std::uint32_t op, const Piece& piece, std::uint64_t dirty) {
  const std::uintptr_t line = reinterpret_cast<std::uintptr_t>(piece.data) & ~(bytes_of_line - 1);
  while (dirty != 0 && !idle()) {
    const auto first = static_cast<unsigned>(__builtin_ctzll(dirty));
    const std::uint64_t rest = ~(dirty >> first);
    const unsigned count = rest == 0 ? 64 : static_cast<unsigned>(__builtin_ctzll(rest));
    Piece run = piece_at(piece.rank, line + first, std::min(count, 64 - first));
    run.window = piece.window;
    access(access_of(Access::Kind::write_back, block, op, run, true));
    if (first + count >= 64) break;
    dirty &= ~std::uint64_t{0} << (first + count);
  }
}

void CheckerSet::notify(const BlockId& id, std::uint64_t notify_id, const heddle::detail::SignalRef& signal,
                        std::int64_t value, Notify how, Order order) {
  const BlockIndex block = find(id);
  if (block == none) return;
  context_.learn(signal.window);
  const NotifyIndex index = context_.order.notify(block, notify_id, signal, value, how, order);
  for (auto& checker : checkers_) checker->notified(index);
}

void CheckerSet::notify_arrived(std::uint64_t notify_id) {
  if (idle()) return;
  const NotifyIndex index = context_.order.notify_arrived(notify_id);
  if (index == none) return;
  for (auto& checker : checkers_) checker->notify_arrived(index);
}

void CheckerSet::fence(const BlockId& id, int peer) {
  if (const BlockIndex block = find(id); block != none) context_.order.fence(block, peer);
}

void CheckerSet::wait_satisfied(const BlockId& id, const heddle::detail::SignalRef& signal, Compare compare,
                                std::int64_t value, bool deferred) {
  if (idle()) return;
  const TaskIndex task = context_.order.find(id.task);
  const BlockIndex block = deferred ? none : context_.order.find(id);
  if (task == none || (block == none && !deferred)) return;
  context_.learn(signal.window);
  const AcquireIndex index = context_.order.wait_satisfied(task, block, signal, compare, value);
  for (auto& checker : checkers_) checker->waited(index);
}

// What one half does before it sets a flag comes before what the other does after it has waited for that: as a released
// notify and its wait, of which no other checker is told.
void CheckerSet::half(const BlockId& id, const HalfEvent& event) {
  constexpr std::uint64_t no_notify = std::uint64_t{1} << 63U;  // above the numbers of notifies
  const BlockIndex block = find(id);
  if (block == none) return;
  if (event.kind == HalfEvent::Kind::gave) {
    const std::uint64_t number = no_notify + half_gifts_++;
    context_.order.notify(block, number, event.cell, 1, Notify::add, Order::released);
    context_.order.notify_arrived(number);
  } else if (event.kind == HalfEvent::Kind::took) {
    context_.order.wait_satisfied(context_.order.block(block).task, block, event.cell, Compare::ge, 1);
  }
  for (auto& checker : checkers_) checker->half(block, event);
}

}  // namespace heddle::lab
