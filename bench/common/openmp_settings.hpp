// SPDX-License-Identifier: Apache-2.0
// Settings of libgomp; the environment of the caller goes first. A passive wait was the fastest of those tried on two
// CPUs that other processes use too: with `active`, and with libgomp's own policy, a thread spins on a lock whose
// holder has no CPU. On an idle machine try OMP_WAIT_POLICY=active as well, and keep the better.
#pragma once

#include "common/harness.hpp"

namespace heddle::bench {

inline void ensure_openmp_settings(char** argv) {
  ensure_environment({{"OMP_WAIT_POLICY", "passive"}, {"OMP_PROC_BIND", "false"}, {"OMP_DYNAMIC", "false"}}, argv);
}

}  // namespace heddle::bench
