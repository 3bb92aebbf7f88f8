// SPDX-License-Identifier: Apache-2.0
//
// What a snapshot says besides the state of the chips: the run, its outcome, the faults, and who notifies which cell.
#pragma once

#include "lab/faults.hpp"
#include "lab/run.hpp"
#include "lab/standstill.hpp"
#include "snapshot/snapshot.hpp"

namespace heddle::lab {

// `notifiers`: null when they were not learned.
void finish_snapshot(snapshot::Snapshot& snapshot, const RunSpec& spec, const RunResult& result,
                     const FaultBook& faults, const NotifyMap* notifiers, std::int64_t round);

// The tasks that notify the cells which are waited for.
void add_notifiers(snapshot::Snapshot& snapshot, const NotifyMap& notifiers, std::int64_t round);

}  // namespace heddle::lab
