// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace heddle::base {

// Unwinds the program or a kernel of a rank that is being cancelled. Not a std::exception, so that a handler for those
// lets it pass.
struct Cancelled {};

}  // namespace heddle::base
