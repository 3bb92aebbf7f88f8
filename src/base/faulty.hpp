// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/environment.hpp"

namespace heddle::base {

// Whether a test has put the fault with this name in. No environment of a real machine has any.
template <Environment E>
bool faulty([[maybe_unused]] const char* name) {
  if constexpr (requires { E::mutant(name); }) {
    return E::mutant(name);
  } else {
    return false;
  }
}

}  // namespace heddle::base
