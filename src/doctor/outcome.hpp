// SPDX-License-Identifier: Apache-2.0
//
// What the runtime itself has concluded, put together with what its snapshot comes to without that.
#pragma once

#include "doctor/report.hpp"
#include "doctor/situation.hpp"

namespace heddle::doctor {

// The runtime's own words stand; what was concluded without them has to agree, or the difference is told.
void take_outcome(const Situation& situation, Report& report);

}  // namespace heddle::doctor
