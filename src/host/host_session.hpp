// SPDX-License-Identifier: Apache-2.0
//
// Sessions and devices of the host backend.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "host/host_pool.hpp"
#include "host/monitor.hpp"
#include "host/session_impl.hpp"
#include "host/session_memory.hpp"

namespace heddle::host {

class HostDevice final : public heddle::detail::DeviceImpl {
 public:
  // Throws invalid_argument for a configuration out of range.
  explicit HostDevice(const DeviceConfig& config);

  std::unique_ptr<heddle::detail::SessionImpl> prepare(std::shared_ptr<ProgramBase> program,
                                                       const SessionConfig& config) override;
  int ranks() const override { return config_.ranks; }
  int threads() const override { return config_.threads; }

  // The pool for new sessions; another one after replace().
  std::shared_ptr<HostPool> pool();
  // Forgets a pool of which a thread never comes back, and keeps it for good with what that thread may touch.
  void replace(std::shared_ptr<HostPool> stuck, std::shared_ptr<void> with);

 private:
  DeviceConfig config_;
  std::mutex mutex_;
  std::shared_ptr<HostPool> pool_;
};

class HostSession final : public heddle::detail::SessionImpl, private FailureListener {
 public:
  HostSession(std::shared_ptr<HostDevice> device, std::shared_ptr<ProgramBase> program, const SessionConfig& config);

  RoundStatistics run(std::span<const Binding> bindings) override;
  void for_each_rank(const std::function<void(HostIo&)>& body, std::int64_t round, int phase) override;
  // relaxed: see Monitor.
  void cancel() noexcept override { cancel_requested_.store(true, std::memory_order_relaxed); }
  void recover() override;
  void write_trace(const std::string& path) const override;
  snapshot::Snapshot snapshot() override;

  bool finished(int rank) const override;
  std::span<std::byte> memory(int rank, std::string_view name, DType type, std::size_t element_bytes) override;
  std::span<std::byte> window(int rank, std::string_view name) override;

  const ProgramBase& program() const override { return engine_->program(); }
  int ranks() const override { return engine_->ranks(); }
  int threads() const override { return pool_->threads(); }
  std::int64_t rounds_run() const override { return round_ + 1; }
  RoomUse room_use(int rank) const override {
    memory_.check_rank(rank);
    check_usable("room_use");
    return engine_->rank(rank).core().room_use();
  }

 private:
  void check_usable(const char* what) const;
  RoundStatistics statistics(const RoundStatistics& before, std::uint64_t started) const;
  RoundStatistics totals() const;
  void poison();
  void failing(bool stands_still) override;
  void complete_kept(const Error& error);
  void forget_kept();

  std::shared_ptr<HostDevice> device_;
  std::shared_ptr<HostPool> pool_;
  std::shared_ptr<HostEngine> engine_;
  SessionMemory memory_;
  std::shared_ptr<base::HostEnvironment::Parker> fence_;
  std::atomic<bool> cancel_requested_{false};
  std::uint64_t began_;  // ns
  std::mutex kept_mutex_;
  std::optional<snapshot::Snapshot> kept_;  // of the last round, when it has failed
  std::int64_t round_ = -1;
  bool failed_ = false;
  bool poisoned_ = false;
};

}  // namespace heddle::host
