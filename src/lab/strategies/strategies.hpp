// SPDX-License-Identifier: Apache-2.0
//
// The strategies by name.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "lab/choice.hpp"
#include "lab/run.hpp"

namespace heddle::lab {

// Every name that make_strategy() knows, with a line on it.
const std::vector<NamedHelp>& strategy_names();

// Throws Error(invalid_argument) for another name. To replay a list of choices, make a ReplayStrategy.
std::unique_ptr<Strategy> make_strategy(std::string_view name);

}  // namespace heddle::lab
