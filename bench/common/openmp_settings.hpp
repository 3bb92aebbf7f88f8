// SPDX-License-Identifier: Apache-2.0
// The settings under which libgomp was fastest here; the environment of the caller goes first. The wait policy stays
// libgomp's own: it spins long enough for these works, but not for ever, which `active` does while another process
// holds the CPU of the thread that it waits for.
#pragma once

#include "common/harness.hpp"

namespace heddle::bench {

inline void ensure_openmp_settings(char** argv) {
  ensure_environment({{"OMP_PROC_BIND", "true"}, {"OMP_DYNAMIC", "false"}}, argv);
}

}  // namespace heddle::bench
