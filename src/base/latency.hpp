// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace heddle::base {

// How long something takes, in nanoseconds. The mean is what happens when nobody chooses otherwise.
struct Latency {
  std::uint64_t least = 0;
  std::uint64_t mean = 0;
  std::uint64_t most = 0;
};

}  // namespace heddle::base
