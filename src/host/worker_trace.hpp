// SPDX-License-Identifier: Apache-2.0
//
// What the engine records of a worker's doings. Real on the host; nothing in other environments.
#pragma once

#include <vector>

#include "base/host_environment.hpp"
#include "base/recorder.hpp"
#include "base/ticks.hpp"

namespace heddle::host {

template <base::Environment E>
class WorkerTraces {
 public:
  WorkerTraces(int, std::uint32_t, bool) {}
  std::uint64_t now() const { return 0; }
  void write(std::uint32_t, base::Event, std::uint64_t, std::uint64_t, std::uint64_t, std::uint32_t, std::uint32_t, int,
             std::uint8_t = 0) {}
  bool on() const { return false; }
  void freeze() {}
  void thaw() {}
};

template <>
class WorkerTraces<base::HostEnvironment> {
 public:
  WorkerTraces(int workers, std::uint32_t entries, bool enabled)
      : set_(workers, entries, enabled),
        start_(base::TickClock::sample()),
        programs_(static_cast<std::size_t>(workers)) {}
  std::uint64_t now() const { return base::ticks(); }
  void write(std::uint32_t worker, base::Event kind, std::uint64_t start, std::uint64_t end, std::uint64_t subject,
             std::uint32_t value, std::uint32_t task, int rank, std::uint8_t flags = 0) {
    set_[static_cast<int>(worker)].write(kind, start, end, subject, value, task, rank, flags);
  }
  bool on() const { return set_.enabled(); }
  void freeze() { set_.freeze(); }
  void thaw() { set_.thaw(); }
  // The rank whose program runs on a worker, -1: none does. relaxed: for who looks for what never returns.
  void set_program(std::uint32_t worker, int rank) { programs_[worker].store(rank + 1, std::memory_order_relaxed); }
  int program_on(std::uint32_t worker) const { return programs_[worker].load(std::memory_order_relaxed) - 1; }
  const base::RecorderSet& set() const { return set_; }
  base::TickClock clock() const { return {start_, base::TickClock::sample()}; }

 private:
  base::RecorderSet set_;
  base::TickClock::Sample start_;
  std::vector<base::HostEnvironment::Atomic<int>> programs_;  // one more than the rank
};

}  // namespace heddle::host
