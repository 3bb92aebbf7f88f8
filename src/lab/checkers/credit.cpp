// SPDX-License-Identifier: Apache-2.0
#include "lab/checkers/credit.hpp"

#include <algorithm>

namespace heddle::lab::checkers {

Credit::Cell& Credit::cell_at(CellIndex cell) {
  if (cells_.size() <= cell) cells_.resize(std::size_t{cell} + 1);
  return cells_[cell];
}

void Credit::round_begins() {
  for (const CellIndex index : touched_) {
    Cell& cell = cells_[index];
    cell.waits.clear();
    cell.suspects.clear();
    cell.asked_more = 0;
  }
  touched_.clear();
}

// A value that goes down starts anew.
void Credit::notify_arrived(NotifyIndex index) {
  const NotifyNode& notify = context_.order.notify(index);
  if (notify.cell >= cells_.size()) return;
  Cell& cell = cells_[notify.cell];
  const bool down = notify.how == Notify::add ? notify.value < 0 : cell.seen.has_value() && notify.value < *cell.seen;
  if (down) cell.forget();
}

void Credit::overwrites(CellIndex cell, BlockIndex, std::uint32_t, int) {
  if (cell < cells_.size()) cells_[cell].forget();
}

// Whether a wait of before asked for as much; notes this one down.
bool Credit::asks_again(Cell& cell, Compare compare, std::int64_t value) {
  if (compare == Compare::ge || compare == Compare::gt) {
    const std::int64_t least = compare == Compare::gt && value < INT64_MAX ? value + 1 : value;
    if (cell.seen && least <= *cell.seen) return true;
    cell.seen = least;
    return false;
  }
  const std::pair condition(compare, value);
  if (std::find(cell.seen_others.begin(), cell.seen_others.end(), condition) != cell.seen_others.end()) return true;
  cell.seen_others.push_back(condition);
  return false;
}

void Credit::waited(AcquireIndex index) {
  const AcquireNode& wait = context_.order.acquire(index);
  const CellNode& node = context_.order.cell(wait.cell);
  Cell& cell = cell_at(wait.cell);
  if (cell.waits.empty()) touched_.push_back(wait.cell);
  const bool again = asks_again(cell, wait.compare, wait.value);
  if (!again) cell.asked_more = wait.tick;
  const bool by_notify = wait.head != none || node.has_old;
  if (again && by_notify && is_acquired(cell, wait)) {
    Suspect suspect{index, {}};
    if (wait.head == none) suspect.old = node.old;
    cell.suspects.push_back(suspect);
  }
  cell.waits.push_back(index);
}

// Whether the value holds nothing of this round that an earlier wait, ordered before this one, has not acquired.
bool Credit::is_acquired(const Cell& cell, const AcquireNode& wait) {
  if (wait.head == none) return true;
  HappensBefore& order = context_.order;
  for (auto at = cell.waits.rbegin(); at != cell.waits.rend(); ++at) {
    const AcquireNode& earlier = order.acquire(*at);
    if (earlier.head != wait.head) continue;
    if (wait.block == none)
      order.look_from_blocks(wait.task, earlier.tick);
    else
      order.look_from(wait.block, wait.op, earlier.tick);
    const bool known =
        earlier.block == none ? order.knows_end_of(earlier.task) : order.knows(earlier.block, earlier.op);
    if (known) return true;
  }
  return false;
}

// The first notify of the round that came too late for the wait and that nobody needed, nor ordered after it.
NotifyIndex Credit::missed(const Cell& cell, const AcquireNode& wait) {
  HappensBefore& order = context_.order;
  NotifyIndex first = none;
  for (NotifyIndex i = order.cell(wait.cell).last_notify; i != none; i = order.notify(i).previous_of_cell) {
    const NotifyNode& notify = order.notify(i);
    const bool later = notify.arrived == 0 || notify.arrived > wait.tick;
    const bool needed = notify.arrived != 0 && notify.arrived < cell.asked_more;
    if (!later || needed || (notify.how == Notify::add && notify.value <= 0)) continue;
    order.look_from(notify.block, notify.op, wait.tick);
    const bool ordered = wait.block == none ? order.knows_end_of(wait.task) : order.knows(wait.block, wait.op);
    if (!ordered) first = i;
  }
  return first;
}

void Credit::settle() {
  std::vector<Suspect> suspects;
  for (const CellIndex index : touched_)
    suspects.insert(suspects.end(), cells_[index].suspects.begin(), cells_[index].suspects.end());
  std::sort(suspects.begin(), suspects.end(), [](const Suspect& a, const Suspect& b) { return a.wait < b.wait; });
  for (const Suspect& suspect : suspects) {
    const AcquireNode& wait = context_.order.acquire(suspect.wait);
    const NotifyIndex notify = missed(cells_[wait.cell], wait);
    if (notify == none) continue;
    const std::string by =
        suspect.old ? "a notify of round " + std::to_string(suspect.old->round) + ", " + Context::who(*suspect.old)
                    : "a notify of " + context_.who(wait.head) + ", which an earlier wait had already acquired";
    context_.report("credit", context_.error_at(Code::race,
                                                "the wait on " + context_.condition_of(wait) + " was satisfied by " +
                                                    by + "; the notify of this round, of " + context_.who(notify) +
                                                    ", came after it, and nothing orders the two",
                                                wait.task, wait.block));
    return;
  }
}

}  // namespace heddle::lab::checkers
