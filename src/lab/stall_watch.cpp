// SPDX-License-Identifier: Apache-2.0
#include "lab/stall_watch.hpp"

namespace heddle::lab {

void StallWatch::remove(const RunningNow& thread) {
  std::erase_if(watched_, [&](const Watched& each) { return each.thread == &thread; });
}

std::optional<StallWatch::Stalled> StallWatch::look(Clock::time_point now) {
  for (Watched& each : watched_) {
    const std::uint64_t steps = each.thread->steps();
    if (steps != each.steps) {
      each.steps = steps;
      each.since = now;
    } else if (patience_ > Clock::duration::zero() && now - each.since > patience_) {
      return Stalled{each.thread, each.thread->describe()};
    }
  }
  return std::nullopt;
}

}  // namespace heddle::lab
