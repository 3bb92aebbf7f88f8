// SPDX-License-Identifier: Apache-2.0
//
// The parts of a report that describe: who is in the same state, what is odd, what was looked for, what is missing.
#pragma once

#include <vector>

#include "doctor/report.hpp"
#include "doctor/wait_model.hpp"

namespace heddle::doctor {

std::vector<StateClass> classes_of(const Situation& situation);
std::vector<Anomaly> anomalies_of(const Situation& situation);
// Uses the report's waits and verdict.
std::vector<Hypothesis> hypotheses_of(const WaitModel& model, const WaitAnalysis& analysis, const Report& report);
std::vector<Missing> missing_of(const Situation& situation, const Report& report);

// A ready task, not kept by any wait, that no core was given: nothing but the runtime keeps it. none.
std::uint32_t never_handed_out(const WaitModel& model, const WaitAnalysis& analysis);

}  // namespace heddle::doctor
