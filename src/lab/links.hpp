// SPDX-License-Identifier: Apache-2.0
//
// What lies between two devices. None of these figures is published: all are assumed, and can be overridden.
#pragma once

#include <cstdint>

#include "base/latency.hpp"

namespace heddle::lab {

struct LinkTable {
  std::uint64_t dies_per_card = 2;   // assumed
  std::uint64_t dies_per_host = 16;  // assumed
  // By distance: the same die, the same card, the same host, over the network.
  base::Latency latency[4] = {{100, 200, 800}, {300, 500, 2'000}, {800, 1'200, 6'000}, {2'000, 4'000, 40'000}};
  double bytes_per_ns[4] = {400, 200, 50, 12};

  int distance(int from, int to) const {
    const auto a = static_cast<std::uint64_t>(from), b = static_cast<std::uint64_t>(to);
    if (a == b) return 0;
    if (a / dies_per_card == b / dies_per_card) return 1;
    return a / dies_per_host == b / dies_per_host ? 2 : 3;
  }
};

}  // namespace heddle::lab
