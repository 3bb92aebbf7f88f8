// SPDX-License-Identifier: Apache-2.0
//
// The chain of waits, a sentence a step: from a wait along what keeps it, until it comes back or ends with what is
// missing.
#pragma once

#include <vector>

#include "doctor/report.hpp"
#include "doctor/wait_model.hpp"

namespace heddle::doctor {

struct Chain {
  std::vector<Step> steps;
  bool closes = false;
  std::uint32_t knot = WaitAnalysis::none;  // that it tells
};

// Of the knot that explains most; empty when there is none.
Chain chain_of(const WaitModel& model, const WaitAnalysis& analysis);

// Whether an edge of this kind keeps a node of the knot inside it.
bool knot_has(const WaitModel& model, const WaitAnalysis& analysis, std::uint32_t knot, EdgeKind kind);

}  // namespace heddle::doctor
