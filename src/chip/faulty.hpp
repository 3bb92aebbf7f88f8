// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/environment.hpp"

namespace heddle::chip {

// Whether a test has put the fault with this name in. No environment of a real machine has any.
template <base::Environment E>
bool faulty([[maybe_unused]] const char* name) {
  if constexpr (requires { E::mutant(name); }) {
    return E::mutant(name);
  } else {
    return false;
  }
}

// For such a fault: the caller looks again and again for what is named, and nothing else. In the lab a report names it
// when nothing else is left that could happen.
template <base::Environment E>
void ask_again([[maybe_unused]] const char* what) {
  if constexpr (requires { E::ask_again(what); }) {
    E::ask_again(what);
  } else {
    E::charge(100);
    E::catch_up();
  }
}

}  // namespace heddle::chip
