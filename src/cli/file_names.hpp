// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace heddle::cli {

/// What --trace, --records, --snapshot and --html name.
struct FileNames {
  std::optional<std::string> trace, records, snapshot, html;
};

}  // namespace heddle::cli
