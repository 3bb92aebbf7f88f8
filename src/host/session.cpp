// SPDX-License-Identifier: Apache-2.0
#include <heddle/session.hpp>
#include <string>

#include "host/probe.hpp"
#include "host/session_checks.hpp"
#include "host/session_impl.hpp"
#include "host/snapshot_take.hpp"

namespace heddle {

Session::Session(std::unique_ptr<detail::SessionImpl> impl) : impl_(std::move(impl)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

RoundStatistics Session::run(std::span<const Binding> bindings) { return impl_->run(bindings); }

void Session::fill(std::int64_t round, int phase) {
  impl_->for_each_rank([program = &program()](HostIo& io) { program->fill(io); }, round, phase);
}

void Session::check(std::int64_t round, int phase) {
  for (int rank = 0; rank < ranks(); ++rank) refuse_failed(rank);
  impl_->for_each_rank([program = &program()](HostIo& io) { program->check(io); }, round, phase);
}

void Session::refuse_failed(int rank) const {
  host::require(finished(rank),
                "output: rank " + std::to_string(rank) +
                    (rounds_run() == 0 ? " has run no round yet" : " failed in the last round; its outputs are void"));
}

std::span<std::byte> Session::window(int rank, std::string_view name) { return impl_->window(rank, name); }
std::span<std::byte> Session::memory(int rank, std::string_view name, DType type, std::size_t element_bytes) {
  return impl_->memory(rank, name, type, element_bytes);
}
void Session::cancel() noexcept { impl_->cancel(); }
void Session::recover() { impl_->recover(); }
bool Session::finished(int rank) const { return impl_->finished(rank); }
const ProgramBase& Session::program() const { return impl_->program(); }
int Session::ranks() const { return impl_->ranks(); }
int Session::threads() const { return impl_->threads(); }
std::int64_t Session::rounds_run() const { return impl_->rounds_run(); }
RoomUse Session::room_use(int rank) const { return impl_->room_use(rank); }
void Session::write_trace(const std::string& path) const { impl_->write_trace(path); }
void Session::write_snapshot(const std::string& path) { host::write_snapshot(path, impl_->snapshot()); }

Device::Device(std::shared_ptr<detail::DeviceImpl> impl) : impl_(std::move(impl)) {}
Device::Device(Device&&) noexcept = default;
Device& Device::operator=(Device&&) noexcept = default;
Device::~Device() = default;

Session Device::prepare(std::shared_ptr<ProgramBase> program, const SessionConfig& config) {
  return Session(impl_->prepare(std::move(program), config));
}

void Device::probe() { host::probe(*this); }

bool Device::healthy() noexcept {
  try {
    probe();
    return true;
  } catch (...) {
    return false;
  }
}

int Device::ranks() const { return impl_->ranks(); }
int Device::threads() const { return impl_->threads(); }

}  // namespace heddle
