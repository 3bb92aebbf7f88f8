// SPDX-License-Identifier: Apache-2.0
// The floor of a signal: one atomic store of one thread seen by another that spins on it, one way.
#include <atomic>

#include "common/harness.hpp"
#include "common/team.hpp"

namespace {
using namespace heddle::bench;

constexpr int round_trips = 20'000;  ///< short, so that some samples fall between two interruptions of the machine

struct alignas(64) Line {
  std::atomic<int> value{0};
};

struct Lines {
  Line there, back;
};

// The release of each store pairs with the acquire of the other thread's loop.
void ping(Lines& lines, int thread) {
  std::atomic<int>& mine = thread == 0 ? lines.there.value : lines.back.value;
  const std::atomic<int>& other = thread == 0 ? lines.back.value : lines.there.value;
  for (int i = 1; i <= round_trips; ++i) {
    if (thread == 0) mine.store(i, std::memory_order_release);
    while (other.load(std::memory_order_acquire) < i) {
    }
    if (thread == 1) mine.store(i, std::memory_order_release);
  }
}
}  // namespace

int main(int argc, char** argv) {
  return run_main(argc, argv, [](const Options& options) {
    Team team;
    Contender contender{"hop", "atomic", 2LL * round_trips, {}, {}};
    contender.sample = [&] {
      Lines lines;
      return time_ns([&] { team.run([&](int thread) { ping(lines, thread); }); });
    };
    measure(contender, options);
  });
}
