// SPDX-License-Identifier: Apache-2.0
#include "lab/snapshot_finish.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace heddle::lab {

namespace {

snapshot::Source source_of(const Location& location) {
  snapshot::Source source;
  if (location.file == nullptr) return source;
  source.file = location.file;
  source.line = location.line;
  return source;
}

snapshot::Outcome outcome_of(const RunResult& result) {
  snapshot::Outcome outcome;
  outcome.verdict = name_of(result.verdict);
  outcome.message = result.sentence;
  outcome.chain = result.chain;
  if (!result.error) return outcome;
  const Error& error = *result.error;
  outcome.code = static_cast<int>(error.code());
  outcome.message = error.message();
  outcome.rank = error.rank();
  outcome.task = error.task();
  outcome.block = error.block();
  outcome.round = error.round();
  outcome.source = source_of(error.location());
  outcome.hint = error.hint();
  return outcome;
}

// Tasks that only the rehearsal has seen were not submitted by then.
void add_notifiers(snapshot::Snapshot& snapshot, const NotifyMap& notifiers, std::int64_t round) {
  std::set<snapshot::TaskRef> known;
  for (const snapshot::Task& task : snapshot.tasks) known.insert({task.rank, task.task});
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
      later.state = snapshot::TaskState::not_submitted;
    }
  }
  std::sort(snapshot.tasks.begin(), snapshot.tasks.end(), [](const auto& left, const auto& right) {
    return std::pair(left.rank, left.task) < std::pair(right.rank, right.task);
  });
}

}  // namespace

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
