// SPDX-License-Identifier: Apache-2.0
#include "host/host_pool.hpp"

#include <hwloc.h>
#include <pthread.h>

#include <algorithm>
#include <csignal>
#include <system_error>

#include "base/sanitizer.hpp"
#include "host/engine_impl.hpp"

namespace heddle::host {

template class Pool<base::HostEnvironment>;
template class Engine<base::HostEnvironment>;
template class Rank<base::HostEnvironment>;

namespace {

int count_usable_cores() {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return 1;
  int cores = 1;
  if (hwloc_topology_load(topology) == 0) {
    hwloc_bitmap_t usable = hwloc_bitmap_dup(hwloc_topology_get_allowed_cpuset(topology));
    hwloc_bitmap_t bound = hwloc_bitmap_alloc();
    if (hwloc_get_cpubind(topology, bound, HWLOC_CPUBIND_PROCESS) == 0) hwloc_bitmap_and(usable, usable, bound);
    cores = std::max(1, hwloc_bitmap_weight(usable));
    hwloc_bitmap_free(bound);
    hwloc_bitmap_free(usable);
  }
  hwloc_topology_destroy(topology);
  return cores;
}

PoolConfig configure(int threads, std::uint64_t stack_bytes) {
  PoolConfig config;
  config.workers = static_cast<std::uint32_t>(threads);
  config.fibers_most = 1U << 20U;    // each session bounds its own waits
  config.stack_bytes = stack_bytes;  // base::Fiber makes more of it under the sanitizers
  return config;
}

// Signals are for the program's own threads.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

int usable_cores() {
  static const int cores = count_usable_cores();
  return cores;
}

HostPool::HostPool(int threads, std::uint64_t stack_bytes) : pool_(configure(threads, stack_bytes), client_) {
  const BlockedSignals blocked;
  (void)enable_samples();  // without them a report names tasks and blocks all the same
  try {
    for (int i = 0; i < threads; ++i) {
      threads_.emplace_back([this, i] {
        accept_samples();
        pool_.run_worker(static_cast<std::uint32_t>(i));
      });
    }
  } catch (const std::system_error& error) {
    pool_.stop();
    for (auto& thread : threads_) thread.join();
    throw Error(Code::invalid_argument, "cannot start " + std::to_string(threads) + " worker threads: " + error.what());
  }
}

HostPool::~HostPool() {
  pool_.stop();
  for (auto& thread : threads_)
    if (thread.joinable()) thread.join();
}

void HostPool::abandon() {
  if (abandoned_.exchange(true, std::memory_order_relaxed)) return;  // relaxed: a flag that orders nothing
  pool_.stop();
  const std::lock_guard guard(threads_mutex_);
  for (auto& thread : threads_) thread.detach();
}

std::vector<std::optional<ThreadSample>> HostPool::sample(std::span<const std::uint32_t> workers) {
  const std::lock_guard guard(threads_mutex_);
  // relaxed: it is set before the threads go, and they go under the lock.
  if (abandoned_.load(std::memory_order_relaxed)) return std::vector<std::optional<ThreadSample>>(workers.size());
  std::vector<pthread_t> handles;
  for (const std::uint32_t worker : workers) handles.push_back(threads_[worker].native_handle());
  return host::sample(handles);
}

}  // namespace heddle::host
