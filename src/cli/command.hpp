// SPDX-License-Identifier: Apache-2.0
//
// The command line as a whole: what it may hold, and what is done for it.
#pragma once

namespace heddle::cli {

/// Returns the process's exit code; throws nothing.
int command(int argc, const char* const* argv);

}  // namespace heddle::cli
