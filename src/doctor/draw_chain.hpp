// SPDX-License-Identifier: Apache-2.0
//
// A chain of waits as a small picture (SVG): a box for each party, an arrow for each step.
#pragma once

#include <string>

#include "doctor/report.hpp"

namespace heddle::doctor {

// Of a report without a chain: the culprit, and the verdict. The same report gives the same bytes.
std::string draw_chain(const Report& report);

// Of a run that passed.
std::string draw_passed(const std::string& verdict);

}  // namespace heddle::doctor
