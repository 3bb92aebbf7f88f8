// SPDX-License-Identifier: Apache-2.0
//
// Sessions and devices of the host backend.
#pragma once

#include <atomic>
#include <functional>
#include <heddle/session.hpp>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "host/host_pool.hpp"
#include "host/monitor.hpp"

namespace heddle::detail {

class DeviceImpl {
 public:
  explicit DeviceImpl(const DeviceConfig& config);

  // The pool for new sessions; another one after replace().
  std::shared_ptr<host::HostPool> pool();
  // Forgets a pool of which a thread never comes back, and keeps it for good with what that thread may touch.
  void replace(std::shared_ptr<host::HostPool> stuck, std::shared_ptr<void> with);
  const DeviceConfig& config() const { return config_; }

 private:
  DeviceConfig config_;
  std::mutex mutex_;
  std::shared_ptr<host::HostPool> pool_;
};

class SessionImpl {
 public:
  SessionImpl(std::shared_ptr<DeviceImpl> device, std::shared_ptr<ProgramBase> program, const SessionConfig& config);

  RoundStatistics run(std::span<const Binding> bindings);
  void for_each_rank(const std::function<void(HostIo&)>& body, std::int64_t round, int phase);
  void cancel() noexcept { cancel_requested_.store(true, std::memory_order_relaxed); }  // relaxed: see Monitor
  void recover();
  void write_trace(const std::string& path) const;
  void refuse_failed(int rank) const;
  std::span<std::byte> memory(int rank, std::string_view name, DType type, std::size_t element_bytes);
  std::span<std::byte> window(int rank, std::string_view name);

  host::HostEngine& engine() { return *engine_; }
  const host::HostEngine& engine() const { return *engine_; }
  bool finished(int rank) const;
  int threads() const { return pool_->threads(); }
  std::int64_t rounds_run() const { return round_ + 1; }

 private:
  void check_rank(int rank) const;
  void check_usable(const char* what) const;
  void copy_in(std::span<const Binding> bindings);
  void copy_back(std::span<const Binding> bindings);
  std::size_t find(const Binding& binding) const;
  RoundStatistics statistics(const RoundStatistics& before, std::uint64_t started) const;
  RoundStatistics totals() const;
  void poison();

  std::shared_ptr<DeviceImpl> device_;
  std::shared_ptr<host::HostPool> pool_;
  std::shared_ptr<host::HostEngine> engine_;
  std::shared_ptr<base::HostEnvironment::Parker> fence_;
  std::atomic<bool> cancel_requested_{false};
  std::int64_t round_ = -1;
  bool failed_ = false;
  bool poisoned_ = false;
};

}  // namespace heddle::detail
