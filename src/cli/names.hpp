// SPDX-License-Identifier: Apache-2.0
//
// Advice for a name that is not known.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heddle::cli {

/// `did you mean "a"?` when one of `known` is near; else "there are: a, b, c", or `none` when there are none at all.
std::string advise(std::string_view name, const std::vector<std::string>& known, std::string_view none);

}  // namespace heddle::cli
