// SPDX-License-Identifier: Apache-2.0
//
// heddle verify: proves from the dispatch records of a run what has to hold of them.
#pragma once

#include <string>

namespace heddle::cli {

struct VerifyOptions {
  std::string file;
  bool json = false;
};

/// Exit code: 0 proved, 1 something does not hold. Throws UsageError for a file that is not what was written.
int verify(const VerifyOptions& options);

}  // namespace heddle::cli
