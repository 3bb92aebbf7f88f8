// SPDX-License-Identifier: Apache-2.0
//
// What came of a ladder, for people and for tools.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/run_plan.hpp"
#include "lab/ladder.hpp"

namespace heddle::cli {

std::string ladder_text(const RunPlan& plan, const lab::LadderConfig& config, const lab::LadderReport& report,
                        bool colour);
nlohmann::ordered_json ladder_json(const RunPlan& plan, const lab::LadderConfig& config,
                                   const lab::LadderReport& report);

}  // namespace heddle::cli
