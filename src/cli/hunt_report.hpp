// SPDX-License-Identifier: Apache-2.0
//
// What came of a hunt, for people and for tools.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/run_plan.hpp"
#include "lab/hunt.hpp"

namespace heddle::cli {

/// "tp_isolation  1,234 schedules  385/s  2 failures  41 states".
std::string hunt_line(const std::string& title, const lab::HuntCounts& counts);

/// `path`: of the failure file, `page`: of the page of it; empty without one.
std::string hunt_text(const RunPlan& plan, const lab::HuntReport& report, const std::string& path, bool colour);
nlohmann::ordered_json hunt_json(const RunPlan& plan, const lab::HuntReport& report, const std::string& path,
                                 const std::string& page);

}  // namespace heddle::cli
