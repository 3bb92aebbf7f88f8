// SPDX-License-Identifier: Apache-2.0
#include "lab/snapshot_finish.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "host/snapshot_parts.hpp"

namespace heddle::lab {

namespace {

using host::source_of;

snapshot::Outcome outcome_of(const RunResult& result) {
  snapshot::Outcome outcome = result.error ? host::outcome_of(*result.error) : snapshot::Outcome();
  outcome.verdict = name_of(result.verdict);
  if (!result.error) outcome.message = result.sentence;
  outcome.chain = result.chain;
  return outcome;
}

}  // namespace

// Tasks that only the rehearsal has seen were not submitted by then, or are over and forgotten.
void add_notifiers(snapshot::Snapshot& snapshot, const NotifyMap& notifiers, std::int64_t round) {
  std::set<snapshot::TaskRef> known;
  for (const snapshot::Task& task : snapshot.tasks) known.insert({task.rank, task.task});
  std::map<int, std::int64_t> submitted;
  for (const snapshot::Rank& rank : snapshot.ranks) submitted[rank.rank] = rank.submitted;
  for (snapshot::Cell& cell : snapshot.cells) {
    auto& all = cell.notifiers.emplace();
    for (const TaskId& task : notifiers.of({cell.window, cell.rank, cell.cell}, round)) {
      all.push_back({task.rank, task.serial});
      if (!known.insert(all.back()).second) continue;
      snapshot::Task& later = snapshot.tasks.emplace_back();
      later.rank = task.rank;
      later.task = task.serial;
      later.round = round;
      const auto [name, location] = notifiers.task(task, round);
      later.name = name;
      later.source = source_of(location);
      later.state =
          later.task < submitted[task.rank] ? snapshot::TaskState::complete : snapshot::TaskState::not_submitted;
    }
  }
  std::sort(snapshot.tasks.begin(), snapshot.tasks.end(), [](const auto& left, const auto& right) {
    return std::pair(left.rank, left.task) < std::pair(right.rank, right.task);
  });
}

void finish_snapshot(snapshot::Snapshot& snapshot, const RunSpec& spec, const RunResult& result,
                     const FaultBook& faults, const NotifyMap* notifiers, std::int64_t round) {
  snapshot.backend = "lab:" + spec.chip;
  snapshot.fidelity = spec.fidelity == Fidelity::protocol ? "protocol" : "program";
  snapshot.trace_hash = result.trace_hash;
  snapshot.outcome = outcome_of(result);
  bool is_lossy = false;
  for (const StruckFault& struck : faults.struck()) {
    snapshot.faults.push_back({info(struck.fault).name, struck.rank, struck.where});
    is_lossy |= struck.fault == Fault::lost_notify;
  }
  // When nothing could happen any more, nothing was on its way.
  if (is_lossy && snapshot.taken == snapshot::Taken::standstill)
    for (snapshot::Cell& cell : snapshot.cells)
      for (snapshot::Change& change : cell.history)
        change.lost = change.kind == snapshot::ChangeKind::notify && !change.arrived;
  if (notifiers != nullptr) add_notifiers(snapshot, *notifiers, round);
}

}  // namespace heddle::lab
