// SPDX-License-Identifier: Apache-2.0
//
// What stands behind Device and Session: one pair of classes for each kind of backend.
#pragma once

#include <cstdint>
#include <functional>
#include <heddle/session.hpp>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "snapshot/snapshot.hpp"

namespace heddle::detail {

// What heddle/session.hpp says of the calls of the same names holds here.
class SessionImpl {
 public:
  SessionImpl() = default;
  virtual ~SessionImpl() = default;
  SessionImpl(const SessionImpl&) = delete;
  SessionImpl& operator=(const SessionImpl&) = delete;

  virtual RoundStatistics run(std::span<const Binding> bindings) = 0;
  // Calls body for every rank, each on the rank's declared tensors, and throws the first failure in rank order.
  virtual void for_each_rank(const std::function<void(HostIo&)>& body, std::int64_t round, int phase) = 0;
  virtual void cancel() noexcept = 0;
  virtual void recover() = 0;
  virtual void write_trace(const std::string& path) const = 0;
  virtual snapshot::Snapshot snapshot() = 0;

  virtual bool finished(int rank) const = 0;
  virtual std::span<std::byte> memory(int rank, std::string_view name, DType type, std::size_t element_bytes) = 0;
  virtual std::span<std::byte> window(int rank, std::string_view name) = 0;

  virtual const ProgramBase& program() const = 0;
  virtual int ranks() const = 0;
  virtual int threads() const = 0;
  virtual std::int64_t rounds_run() const = 0;
  virtual RoomUse room_use(int rank) const = 0;
};

// For the command, which adds to a snapshot what it has run.
class SessionAccess {
 public:
  static SessionImpl& of(Session& session) { return *session.impl_; }
};

class DeviceImpl : public std::enable_shared_from_this<DeviceImpl> {
 public:
  DeviceImpl() = default;
  virtual ~DeviceImpl() = default;
  DeviceImpl(const DeviceImpl&) = delete;
  DeviceImpl& operator=(const DeviceImpl&) = delete;

  // The session keeps its device.
  virtual std::unique_ptr<SessionImpl> prepare(std::shared_ptr<ProgramBase> program, const SessionConfig& config) = 0;
  virtual int ranks() const = 0;
  virtual int threads() const = 0;
};

}  // namespace heddle::detail
