// SPDX-License-Identifier: Apache-2.0
#include "lab/checkers/races.hpp"

#include <algorithm>

namespace heddle::lab::checkers {
namespace {

bool conflict(const Access& left, const Access& right) { return left.write || right.write; }

std::string verb_of(const Access& access) {
  switch (access.kind) {
    case Access::Kind::put:
      return "the put of ";
    case Access::Kind::put_source:
      return "the put (its source) of ";
    case Access::Kind::get:
    case Access::Kind::get_result:
      return "the get of ";
    case Access::Kind::read:
      return "a load of ";
    case Access::Kind::write_back:
      return "a store of ";
    case Access::Kind::argument:
      return "argument " + std::to_string(access.argument) + " of ";
  }
  return "";
}

}  // namespace

// Whether the access stays in the index. Notes it down if it has to be ordered with the new one.
bool Races::consider(AccessIndex index, const Access& access, Tick oldest) {
  Access& earlier = context_.accesses[index];
  const bool under_way = earlier.kind == Access::Kind::put && earlier.effective == 0;
  if (earlier.superseded != 0 && earlier.superseded < oldest && !under_way) {
    context_.drop(index);
    return false;
  }
  if (earlier.superseded != 0 && earlier.superseded < access.since) return true;
  if (!conflict(earlier, access)) return true;
  const bool same_block = earlier.task == access.task && earlier.block == access.block && access.block != none;
  const bool by_inference = earlier.inferred && access.inferred && earlier.rank == access.rank;
  if (same_block || by_inference) {
    if (access.write && access.kind != Access::Kind::put && graph::covers(access.region, earlier.region))
      earlier.superseded = context_.order.now();
    return true;
  }
  // The blocks of a task share its arguments and divide them among themselves.
  if (earlier.task == access.task && (earlier.block == none || access.block == none)) return true;
  if (graph::overlaps(earlier.region, access.region, context_.overlaps)) candidates_.push_back(index);
  return true;
}

// The index is in the order of addresses, which differ from run to run.
void Races::sort_candidates() {
  std::sort(candidates_.begin(), candidates_.end(), [this](AccessIndex left, AccessIndex right) {
    return context_.accesses[left].id < context_.accesses[right].id;
  });
}

void Races::accessed(const Access& access) {
  candidates_.clear();
  const Tick oldest = context_.order.oldest_running();
  const auto keep = [&](AccessIndex index) { return consider(index, access, oldest); };
  context_.writes.visit(access.region, keep);
  if (access.write) context_.reads.visit(access.region, keep);
  if (candidates_.empty()) return;

  sort_candidates();
  Tick horizon = access.since;
  for (const AccessIndex i : candidates_) horizon = std::min(horizon, context_.accesses[i].since);
  context_.look_from(access, horizon);
  unordered_.clear();
  for (const AccessIndex i : candidates_) {
    Access& earlier = context_.accesses[i];
    if (!context_.is_before(earlier))
      unordered_.push_back(i);
    else if (access.write && graph::covers(access.region, earlier.region))
      earlier.superseded = context_.order.now();
  }
  for (const AccessIndex i : unordered_) {
    const Access& earlier = context_.accesses[i];
    if (is_signal_matter(earlier, access) || is_after(earlier, access)) continue;
    judge(earlier, access);
    return;
  }
}

// Whether what was noted earlier comes after the new access all the same: an argument is noted when its task has
// completed, though it was used before.
bool Races::is_after(const Access& earlier, const Access& access) {
  if (access.block != none) return false;
  context_.look_from(earlier, access.since);
  return context_.is_before(access);
}

bool Races::is_signal_matter(const Access& left, const Access& right) const {
  if (left.block != none && right.block != none) return false;
  return context_.order.has_notified_cell(std::max(left.region.base, right.region.base),
                                          std::min(left.region.end(), right.region.end()));
}

std::string Races::name_shared(const Access& left, const Access& right) const {
  const auto* const window = left.window != nullptr ? left.window : right.window;
  return name_bytes(std::max(left.region.base, right.region.base), std::min(left.region.end(), right.region.end()),
                    left.rank, window, "memory");
}

void Races::judge(const Access& earlier, const Access& access) {
  const bool both_write = earlier.write && access.write;
  const Access& write = access.write ? access : earlier;
  const Access& read = access.write ? earlier : access;
  const std::string writer = verb_of(write) + context_.who(write.task, write.block);
  const std::string reader = verb_of(read) + context_.who(read.task, read.block);
  const std::string bytes = name_shared(earlier, access);
  if (both_write) {
    context_.report("races", context_.error_at(Code::race,
                                               bytes + " are written by " + writer + " and by " + reader +
                                                   ", and nothing orders the two",
                                               access.task, access.block));
    return;
  }
  const bool across_ranks = context_.order.task(write.task).id.rank != context_.order.task(read.task).id.rank;
  context_.look_from(read, 0);
  if (across_ranks && is_stale(write, read)) {
    context_.report("races", context_.error_at(Code::stale_read,
                                               bytes + " are read by " + reader + ", but nothing orders this after " +
                                                   writer + ", which writes them" + explain(write),
                                               read.task, read.block));
    return;
  }
  context_.report("races", context_.error_at(Code::race,
                                             bytes + " are written by " + writer + " and read by " + reader +
                                                 ", and nothing orders the two" + (across_ranks ? explain(write) : ""),
                                             write.task, write.block));
}

// Stale: in this round nothing that the reader comes after has written what it reads, so it was this write that it was
// to see. After a search from the reader.
bool Races::is_stale(const Access& write, const Access& read) {
  bool seen = false;
  context_.writes.visit(write.region, [&](AccessIndex i) {
    const Access& other = context_.accesses[i];
    const bool itself = other.task == write.task && other.block == write.block && other.op == write.op;
    const bool reader = other.task == read.task && (other.block == none || read.block == none);
    if (!itself && !reader && graph::overlaps(other.region, write.region, context_.overlaps) &&
        graph::overlaps(other.region, read.region, context_.overlaps))
      seen |= context_.is_before(other);
    return true;
  });
  return !seen;
}

// What the reader waited for instead. After a search from the reader.
std::string Races::explain(const Access& write) const {
  if (write.block == none) return "";
  const HappensBefore& order = context_.order;
  const std::string what = write.kind == Access::Kind::put ? "the put of block " : "the store of block ";
  const std::string it =
      what + std::to_string(order.block_number(write.block)) + " of task " + order.task(write.task).name;
  const auto satisfied = [&](AcquireIndex wait, NotifyIndex by, const char* kind) {
    return ": the wait on " + context_.condition_of(order.acquire(wait)) + " was satisfied by a " + kind +
           "notify of " + context_.who(by) + ", which does not publish " + it;
  };
  for (NotifyIndex i = order.block(write.block).last_notify; i != none && order.notify(i).op > write.op;
       i = order.notify(i).previous_of_block) {
    const NotifyNode& notify = order.notify(i);
    const AcquireIndex wait = context_.known_wait(notify.cell);
    if (wait == none) continue;
    if (order.saw(i) && notify.relaxed) return satisfied(wait, i, "relaxed ");
    const NotifyIndex head = order.acquire(wait).head;
    if (!order.saw(i) && head != none) return satisfied(wait, head, "");
  }
  // The writer has not notified yet: a wait that another block of its task satisfied.
  for (auto i = static_cast<AcquireIndex>(order.acquires()); i-- > 0;) {
    const NotifyIndex head = order.acquire(i).head;
    if (head == none || !order.saw(head)) continue;
    if (order.block(order.notify(head).block).task == write.task)
      return satisfied(i, head, order.notify(head).relaxed ? "relaxed " : "");
  }
  return "";
}

void Races::notified(NotifyIndex index) {
  const NotifyNode& notify = context_.order.notify(index);
  const heddle::detail::SignalRef& signal = context_.order.cell(notify.cell).signal;
  const graph::Region bytes = graph::Region::contiguous(signal.cell, signal.wide ? 8 : 4);
  candidates_.clear();
  Tick horizon = notify.issued;
  context_.writes.visit(bytes, [&](AccessIndex i) {
    const Access& clear = context_.accesses[i];
    if (clear.kind != Access::Kind::write_back && clear.kind != Access::Kind::put) return true;
    if (clear.block == notify.block || !graph::overlaps(clear.region, bytes, context_.overlaps)) return true;
    candidates_.push_back(i);
    horizon = std::min(horizon, clear.since);
    return true;
  });
  if (candidates_.empty()) return;
  sort_candidates();
  context_.order.look_from(notify.block, notify.op, horizon);
  for (const AccessIndex i : candidates_)
    if (!context_.is_before(context_.accesses[i])) return report_clear(notify.cell, context_.accesses[i].block, index);
}

void Races::overwrites(CellIndex cell, BlockIndex block, std::uint32_t op, int /*peer*/) {
  const HappensBefore& order = context_.order;
  const NotifyIndex last = order.cell(cell).last_notify;
  if (last == none) return;
  Tick horizon = order.now();
  for (NotifyIndex i = last; i != none; i = order.notify(i).previous_of_cell)
    horizon = std::min(horizon, order.notify(i).issued);
  context_.order.look_from(block, op, horizon);
  NotifyIndex first = none;
  for (NotifyIndex i = last; i != none; i = order.notify(i).previous_of_cell)
    if (order.notify(i).block != block && !context_.is_before(i)) first = i;
  if (first != none) report_clear(cell, block, first);
}

void Races::report_clear(CellIndex cell, BlockIndex block, NotifyIndex notify) {
  const TaskIndex task = context_.order.block(block).task;
  context_.report(
      "races",
      context_.error_at(Code::race,
                        "a store of " + context_.who(task, block) + " overwrites " + context_.name_of(cell) +
                            ", and nothing orders it with the notify of " + context_.who(notify) + " to that cell",
                        task, block));
}

}  // namespace heddle::lab::checkers
