// SPDX-License-Identifier: Apache-2.0
#include "cli/names.hpp"

#include "base/text.hpp"

namespace heddle::cli {

std::string advise(std::string_view name, const std::vector<std::string>& known, std::string_view none) {
  if (known.empty()) return std::string(none);
  const std::vector<std::string_view> candidates(known.begin(), known.end());
  const std::string_view near = base::nearest_name(name, candidates);
  if (near.empty()) return "there are: " + base::join(candidates);
  return "did you mean " + base::quoted(near) + "?";
}

}  // namespace heddle::cli
