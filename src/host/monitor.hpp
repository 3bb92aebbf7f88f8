// SPDX-License-Identifier: Apache-2.0
//
// What the host does while a round runs: it waits for the fence, and looks at the timers from time to time. Timers are
// backstops: what can be proved is reported by the engine at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/host_environment.hpp"
#include "host/host_pool.hpp"
#include "host/trap.hpp"

namespace heddle::host {

class Monitor {
 public:
  Monitor(HostEngine& engine, HostPool& pool, const std::atomic<bool>& cancel_requested);

  // Until the round is over. False when a kernel or program that never returns keeps it from ending: the pool must then
  // be abandoned.
  bool wait(base::HostEnvironment::Parker& fence);

 private:
  struct Seen {
    const graph::Slot<base::HostEnvironment>* slot = nullptr;
    std::int64_t block = -1;
    std::uint64_t blocks_before = 0;
    std::uint64_t since = 0;
    bool reported = false;
  };

  struct Running {
    Rank<base::HostEnvironment>* rank;
    const char* task;
    std::int64_t block;
    Location location;
  };

  std::uint64_t interval() const;
  std::optional<Running> identify(std::uint32_t worker) const;
  bool overdue(std::uint64_t now);
  void look(std::uint64_t now);
  void look_for_stalled_blocks(std::uint64_t now);
  void report_stalled(const std::vector<std::uint32_t>& workers, std::uint64_t now);
  void look_for_scalar_waits(std::uint64_t now);
  void report_scalar_wait(int rank, const std::string& task, Location location);
  void look_for_standstill(std::uint64_t now);
  void fail_all(Error error, std::uint64_t now);

  HostEngine& engine_;
  Trap trap_;
  const std::atomic<bool>& cancel_requested_;
  const std::atomic<bool>& workers_lost_;
  Timeouts timeouts_;
  std::vector<Seen> seen_;
  std::uint64_t asleep_since_ = 0;
  std::uint64_t moved_at_ = 0;
  std::uint64_t moved_blocks_ = 0;
  std::uint64_t failed_at_ = 0;  // 0: no failure seen
  bool cancelled_ = false;
};

}  // namespace heddle::host
