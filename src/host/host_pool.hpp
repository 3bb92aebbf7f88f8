// SPDX-License-Identifier: Apache-2.0
//
// A pool on OS threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/host_environment.hpp"
#include "host/engine.hpp"
#include "host/thread_sample.hpp"

namespace heddle::host {

extern template class Pool<base::HostEnvironment>;
extern template class Engine<base::HostEnvironment>;
extern template class Rank<base::HostEnvironment>;

using HostEngine = Engine<base::HostEnvironment>;

// Cores that this process may use: the machine's (hwloc), within the process's CPU mask. At least 1.
int usable_cores();

class HostPool {
 public:
  // Throws heddle::Error(invalid_argument) when the system gives no threads.
  HostPool(int threads, std::uint64_t stack_bytes);
  // Joins the threads; nothing may run on the pool any more.
  ~HostPool();
  HostPool(const HostPool&) = delete;
  HostPool& operator=(const HostPool&) = delete;

  Pool<base::HostEnvironment>& pool() { return pool_; }
  int threads() const { return static_cast<int>(pool_.size()); }

  // Where these workers' threads stand now; nothing for one that does not say.
  std::vector<std::optional<ThreadSample>> sample(std::span<const std::uint32_t> workers);

  // Lets the threads go, one of which never comes back. The pool must be kept for good.
  void abandon();
  // A flag that never falls again: nothing runs here any more.
  const std::atomic<bool>& abandoned() const { return abandoned_; }

 private:
  EngineClient<base::HostEnvironment> client_;
  Pool<base::HostEnvironment> pool_;
  std::vector<std::thread> threads_;
  std::mutex threads_mutex_;  // of a look at the threads, and of letting them go
  std::atomic<bool> abandoned_{false};
};

}  // namespace heddle::host
