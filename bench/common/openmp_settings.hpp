// SPDX-License-Identifier: Apache-2.0
// The settings under which libgomp was fastest here; the environment of the caller goes first.
#pragma once

#include "common/harness.hpp"

namespace heddle::bench {

inline void ensure_openmp_settings(char** argv) {
  ensure_environment({{"OMP_WAIT_POLICY", "active"}, {"OMP_PROC_BIND", "true"}, {"OMP_DYNAMIC", "false"}}, argv);
}

} // namespace heddle::bench
