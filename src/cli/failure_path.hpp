// SPDX-License-Identifier: Apache-2.0
//
// Where a failure file is written to.
#pragma once

#include <string>
#include <string_view>

#include "lab/failure_file.hpp"

namespace heddle::cli {

/// The file that `out` names: itself, or `name` within it when it is a folder, or ends in a slash; `name` when it is
/// empty. Throws UsageError when no file could be written there; leaves what is there as it is.
std::string failure_path(const std::string& out, const std::string& name);

/// False when it cannot be written: then the reason, and the whole failure, go to the standard error.
bool save_failure(const std::string& path, const lab::Failure& failure);

/// The file's content. Throws UsageError with what is wrong with it.
lab::Failure load_failure(const std::string& path);

}  // namespace heddle::cli
