// SPDX-License-Identifier: Apache-2.0
//
// Notices a thread of the lab whose run takes no step for a time of the wall's clock. Virtual time cannot tell: it
// stands still while a kernel blocks the thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lab/running_now.hpp"

namespace heddle::lab {

// Looked at by one thread, now and then.
class StallWatch {
 public:
  using Clock = std::chrono::steady_clock;
  // `patience` of zero: forever.
  explicit StallWatch(Clock::duration patience) : patience_(patience) {}

  void add(const RunningNow& thread, Clock::time_point now) { watched_.push_back({&thread, thread.steps(), now}); }
  void remove(const RunningNow& thread);

  struct Stalled {
    const RunningNow* thread = nullptr;
    std::string what;  // empty when it is not known
  };
  // The first one that has not stepped for longer than the patience.
  std::optional<Stalled> look(Clock::time_point now);

 private:
  struct Watched {
    const RunningNow* thread;
    std::uint64_t steps;
    Clock::time_point since;
  };
  Clock::duration patience_;
  std::vector<Watched> watched_;
};

}  // namespace heddle::lab
