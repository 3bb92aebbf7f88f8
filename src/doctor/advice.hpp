// SPDX-License-Identifier: Apache-2.0
//
// What would make a failure impossible, and how it is seen again.
#pragma once

#include <string>
#include <vector>

#include "doctor/report.hpp"
#include "doctor/situation.hpp"

namespace heddle::doctor {

// Of the report's chain and waits. `stuck`: the rank whose program waits for room for good, or null.
std::vector<std::string> advice_of(const Situation& situation, const Report& report, const snapshot::Rank* stuck);

}  // namespace heddle::doctor
