// SPDX-License-Identifier: Apache-2.0
//
// Devices and sessions on simulated chips: what Device::open("lab:a2a3") gives. A session has one simulator and one run
// of chips for all its rounds, and a thread of its own, which alone runs them: so it may be called from any thread,
// also from a kernel of another session.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "chip/geometry.hpp"
#include "host/session_impl.hpp"
#include "host/session_memory.hpp"
#include "lab/chip_run.hpp"
#include "lab/choice.hpp"
#include "lab/links.hpp"
#include "lab/own_thread.hpp"
#include "lab/program_environment.hpp"
#include "lab/run.hpp"
#include "lab/simulator.hpp"
#include "lab/trace_log.hpp"

namespace heddle::lab {

class LabDevice final : public heddle::detail::DeviceImpl {
 public:
  // `chip` is one of chip_names() that is simulated. Throws invalid_argument for a configuration out of range.
  LabDevice(const std::string& chip, DeviceConfig config);

  std::unique_ptr<heddle::detail::SessionImpl> prepare(std::shared_ptr<ProgramBase> program,
                                                       const SessionConfig& config) override;
  int ranks() const override { return config_.ranks; }
  int threads() const override { return 1; }

  const DeviceConfig& config() const { return config_; }
  const std::string& chip() const { return chip_; }

 private:
  DeviceConfig config_;
  std::string chip_;
};

class LabSession final : public heddle::detail::SessionImpl {
 public:
  LabSession(std::shared_ptr<LabDevice> device, std::shared_ptr<ProgramBase> program, const SessionConfig& config);
  ~LabSession() override;

  RoundStatistics run(std::span<const Binding> bindings) override;
  void for_each_rank(const std::function<void(HostIo&)>& body, std::int64_t round, int phase) override;
  // relaxed: a request, nothing is read on the strength of it.
  void cancel() noexcept override { cancel_requested_.store(true, std::memory_order_relaxed); }
  void recover() override;
  void write_trace(const std::string& path) const override;
  snapshot::Snapshot snapshot() override;

  bool finished(int rank) const override;
  std::span<std::byte> memory(int rank, std::string_view name, DType type, std::size_t element_bytes) override;
  std::span<std::byte> window(int rank, std::string_view name) override;

  const ProgramBase& program() const override { return *program_; }
  int ranks() const override { return spec_.ranks; }
  int threads() const override { return 1; }
  std::int64_t rounds_run() const override { return round_ + 1; }
  RoomUse room_use(int rank) const override {
    memory_.check_rank(rank);
    return chips_->engine().rank(rank).core().room_use();
  }

 private:
  using Chips = ChipRun<ProgramEnvironment>;

  void check_usable(const char* what) const;
  void start();
  void stop() noexcept;
  RoundStatistics statistics(const RoundStatistics& before, std::uint64_t started) const;

  std::shared_ptr<LabDevice> device_;  // keeps what the session was made of
  std::shared_ptr<ProgramBase> program_;
  RunSpec spec_;
  chip::Config chip_;
  LinkTable links_;
  std::unique_ptr<Strategy> strategy_;
  std::atomic<bool> cancel_requested_{false};
  std::unique_ptr<Simulator> simulator_;
  TraceLog trace_;
  std::unique_ptr<Chips> chips_;
  host::SessionMemory memory_;
  std::int64_t round_ = -1;
  bool failed_ = false;
  bool poisoned_ = false;
  OwnThread thread_;  // the last: it ends before what it uses
};

}  // namespace heddle::lab
