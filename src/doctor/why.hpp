// SPDX-License-Identifier: Apache-2.0
//
// Who could have satisfied a wait, and why it did not.
#pragma once

#include <vector>

#include "doctor/report.hpp"
#include "doctor/wait_model.hpp"

namespace heddle::doctor {

inline constexpr std::size_t satisfiers_most = 64;

// Of a wait for a cell.
std::vector<Satisfier> satisfiers(const WaitModel& model, const WaitAnalysis& analysis, const snapshot::Wait& wait);

// What a task that has not begun stands behind, as the end of a sentence that begins with its name: "starts only after
// Z". Sets `why`.
std::string kept_by(const WaitModel& model, const WaitAnalysis& analysis, std::uint32_t task, Why& why);

// "waits for room in the heap of ring 1 (x.cpp:7)".
std::string program_wait(const snapshot::Rank& rank);

}  // namespace heddle::doctor
