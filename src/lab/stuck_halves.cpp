// SPDX-License-Identifier: Apache-2.0
//
// What a standstill says about the halves of mixed blocks that wait for each other: part of standstill.hpp.
#include <algorithm>

#include "lab/standstill.hpp"

namespace heddle::lab {

namespace {

using Other = StuckHalf::Other;
using What = window::HalfWait::What;

std::string task_name(const Standstill& still, TaskId id) {
  return std::string(still.log->task(id.rank, id.serial).name) + " (rank " + std::to_string(id.rank) + ", task " +
         std::to_string(id.serial) + ")";
}

std::string what_of(const StuckWait& wait) {
  return window::name_of(wait.half->wait, " of cluster " + std::to_string(wait.half->cluster), wait.has, wait.needs);
}

std::string part_name(const Standstill& still, TaskId id, std::uint32_t part) {
  const Cores cores = still.log->task(id.rank, id.serial).cores;
  const auto parts = static_cast<std::uint32_t>(cores.count());
  const std::uint32_t mine = part % parts;
  const std::string half =
      parts == 1
          ? ""
          : window::name_of_half(mine < cores.cubes, mine < cores.cubes ? 0 : mine - cores.cubes, cores.vectors) +
                " of ";
  return half + task_name(still, id) + " block " + std::to_string(part / parts);
}

std::uint32_t parts_of(const Standstill& still, TaskId id) {
  return static_cast<std::uint32_t>(still.log->task(id.rank, id.serial).cores.count());
}

const StuckWait* wait_of_other(const Standstill& still, const StuckWait& wait) {
  return wait_of_part(still, wait.task, wait.half->block * parts_of(still, wait.task) + wait.half->other_part);
}

// The halves of one block, each waiting for the other.
bool is_mutual(const Standstill& still, const StuckWait& wait) {
  const StuckWait* const other = wait_of_other(still, wait);
  return other != nullptr && other->half && other->half->other_part == wait.half->part;
}

// A half that runs, while the other one stands behind a half that waits as well.
bool is_apart(const Standstill& still, const StuckWait& wait) {
  if (wait.half->other == Other::nowhere) return true;
  if (wait.half->other != Other::behind) return false;
  const StuckWait* const before = wait_of_part(still, wait.half->before, wait.half->before_part);
  return before != nullptr && before->half.has_value();
}

Error error_at(const Standstill& still, const StuckWait& wait, Code code, std::string message) {
  const LoggedTask& task = still.log->task(wait.task.rank, wait.task.serial);
  Error error(code, std::move(message));
  error.at_rank(wait.task.rank).at_task(task.name, wait.half->block, task.location);
  return error;
}

std::string left_of(const StuckWait& wait) {
  return wait.half->left.empty() ? "" : "; what is in it was left by " + wait.half->left;
}

}  // namespace

const StuckWait* wait_of_part(const Standstill& still, TaskId task, std::uint32_t part) {
  const auto found = std::find_if(still.waits.begin(), still.waits.end(), [&](const StuckWait& wait) {
    return wait.task == task && wait.block == static_cast<std::int64_t>(part);
  });
  return found == still.waits.end() ? nullptr : &*found;
}

std::string half_name(const Standstill& still, const StuckWait& wait) {
  return waiter_of(wait.half->wait) + " of " + task_name(still, wait.task) + " block " +
         std::to_string(wait.half->block);
}

std::string half_waits(const Standstill& still, const StuckWait& wait, const NotifyMap& notifiers) {
  const window::HalfWait& half = wait.half->wait;
  std::string text = half_name(still, wait) + " waits for " + what_of(wait) + " at " + half.location.text() +
                     " (it holds " + wait.core + " meanwhile)";
  if (half.what == What::placement) return text;
  const bool gives = half.what == What::flag || half.what == What::tile;
  const char* const does = half.what == What::flag ? "sets" : gives ? "pushes" : "takes from";
  const Location there = notifiers.of(wait.task, half, still.round);
  text += ", which its " + other_of(half) + " " + does;
  text += there.file == nullptr ? " nowhere in a rehearsal of the program" : " at " + there.text();
  return text + left_of(wait);
}

std::string half_blocked(const Standstill& still, const StuckWait& wait) {
  const StuckHalf& half = *wait.half;
  const std::string other = "its " + other_of(half.wait);
  switch (half.other) {
    case Other::nowhere:
      return other + " has been given no core";
    case Other::behind:
      return other + " stands on " + half.other_core + " behind " + part_name(still, half.before, half.before_part) +
             ": the two are apart";
    case Other::dispatched:
      return other + " has been given to " + half.other_core + ", which has not taken it up";
    case Other::ended:
      return other + " has ended: nothing goes on from there";
    case Other::runs:
      break;
  }
  return wait_of_other(still, wait) == nullptr ? other + " runs on " + half.other_core + " and waits for nothing" : "";
}

const StuckWait* after_half(const Standstill& still, const StuckWait& wait) {
  switch (wait.half->other) {
    case Other::runs:
      return wait_of_other(still, wait);
    case Other::behind:
      return wait_of_part(still, wait.half->before, wait.half->before_part);
    default:
      return nullptr;
  }
}

std::optional<Error> verdict_of_halves(const Standstill& still) {
  const auto find = [&](auto&& is_so) -> const StuckWait* {
    const auto found = std::find_if(still.waits.begin(), still.waits.end(),
                                    [&](const StuckWait& wait) { return wait.half && is_so(wait); });
    return found == still.waits.end() ? nullptr : &*found;
  };
  if (const StuckWait* wait = find([](const StuckWait& each) { return each.half->other == Other::ended; })) {
    return error_at(still, *wait, Code::signal_deadlock,
                    half_name(still, *wait) + " waits for " + what_of(*wait) + " at " +
                        wait->half->wait.location.text() + ", and its " + other_of(wait->half->wait) + " has ended" +
                        left_of(*wait))
        .with_hint("the two halves do not count the same on the paths that they took: compare them");
  }
  if (const StuckWait* wait = find([&](const StuckWait& each) { return is_mutual(still, each); })) {
    const StuckWait& other = *wait_of_other(still, *wait);
    return error_at(still, *wait, Code::signal_deadlock,
                    "the halves of one block wait for each other: " + half_name(still, *wait) + " for " +
                        what_of(*wait) + left_of(*wait) + "; its " + other_of(wait->half->wait) + " for " +
                        what_of(other) + left_of(other))
        .with_hint(wait->half->left.empty() && other.half->left.empty()
                       ? "the two halves take and set their flags in orders that do not fit each other"
                       : "a kernel that ran here before has left a flag unbalanced: compare its two halves");
  }
  if (const StuckWait* wait = find([&](const StuckWait& each) { return is_apart(still, each); })) {
    return error_at(still, *wait, Code::core_deadlock,
                    half_name(still, *wait) + " holds " + wait->core + " and waits for " + what_of(*wait) + "; " +
                        half_blocked(still, *wait))
        .with_hint("halves of a mixed block are placed together: this is a fault of the runtime, please report it");
  }
  return std::nullopt;
}

}  // namespace heddle::lab
