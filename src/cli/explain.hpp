// SPDX-License-Identifier: Apache-2.0
//
// heddle explain: what a snapshot tells, or a failure file once its run was made again.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace heddle::cli {

struct ExplainOptions {
  std::string file;
  std::vector<std::string> program_path;
  std::string patience;
  std::optional<std::string> snapshot;  ///< of a failure file: where its snapshot is written to
  std::optional<std::string> html;      ///< where the page is written to
  bool json = false;
};

/// Exit code: 0 it was explained, 1 a failure was not shown again. Throws UsageError.
int explain(const ExplainOptions& options);

}  // namespace heddle::cli
