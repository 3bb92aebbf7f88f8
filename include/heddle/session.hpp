// SPDX-License-Identifier: Apache-2.0
//
// Devices and sessions: prepare a program once, run its rounds.
//
//   auto device = Device::open("host", {.ranks = 16});
//   auto session = device.prepare(Isolation{.padded = true});
//   for (int round = 0; round < 100; ++round) session.run();     // throws heddle::Error
//
// The same on a simulated chip, in virtual time: Device::open("lab:a2a3", {.ranks = 16, .seed = 7}).
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <heddle/program.hpp>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// One ring; a rank has four, chosen by scope depth (the last serves every deeper scope).
struct RingConfig {
  std::uint32_t task_window = 16384;         ///< slots, 1 … 2^20
  std::uint64_t heap_bytes = 256ULL << 20U;  ///< at least 1,024
  std::uint32_t dep_pool = 16384;            ///< edges, at least 1
};

/// `off` is std::nullopt. Where set: scheduler < operation < host_fence, host_fence > scheduler + 1.5 s, and
/// scheduler < tensor_access.
/// The laboratory has no timeouts: it proves at once that nothing can happen any more.
struct Timeouts {
  using Duration = std::optional<std::chrono::milliseconds>;
  Duration scheduler = std::chrono::seconds(10);      ///< nothing ran and nothing retired: no_progress
  Duration operation = std::chrono::seconds(45);      ///< one block ran this long: core_stalled
  Duration host_fence = std::chrono::seconds(50);     ///< one round took this long with nothing retiring: no_progress
  Duration tensor_access = std::chrono::seconds(15);  ///< one scalar access waited this long: tensor_wait_timeout
  std::chrono::milliseconds grace{1000};              ///< a cancelled kernel's time to return
};

struct DeviceConfig {
  int ranks = 1;    ///< 1 … 1,024
  int threads = 0;  ///< the host's worker threads; 0: as many as the process may use cores
  /// Of each fiber, that is of each block that waits; virtual, only touched pages use memory. 64 KiB … 1 GiB.
  std::uint64_t stack_bytes = 256ULL << 10U;
  /// Of the laboratory; the host ignores what follows. Every latency and every tie is drawn from the seed: the same
  /// calls on the same program do the same, on every machine.
  std::uint64_t seed = 0;
  std::string strategy = "random";                  ///< how choices are made; `heddle list` shows the names
  std::map<std::string, std::uint64_t> chip_set{};  ///< constants that differ from the chip's table: {{"clusters", 2}}
};

struct SessionConfig {
  RingConfig ring{};
  std::uint32_t region_entries = 65536;  ///< live accesses that a rank's inference table holds
  Timeouts timeouts{};
  /// Fills every output, and what the runtime allocates, with a pattern before it is written.
  bool checked = true;
  /// Zeroes the windows before each round instead of keeping their contents.
  bool reset_windows = false;
  /// Waits that can be parked at the same time, over all ranks.
  std::uint32_t waiting_blocks = 16384;
  /// Flight-recorder records kept per worker (in the laboratory: per rank), a power of two. A trace of a whole run
  /// needs more than the default.
  std::uint32_t recorder_entries = 1024;
  bool recorder = true;
  /// When a round fails, keeps where everything stood before anything was cancelled, for Session::write_snapshot(). The
  /// host only.
  bool keep_failure = false;
};

/// Host memory for one rank's declared tensor, given to one run. Inputs are copied in, outputs copied back.
struct Binding {
  int rank = 0;
  std::string name;
  void* data = nullptr;
  std::uint64_t bytes = 0;
  DType type = DType::other;
  bool writable = false;
};
template <class T>
Binding bind(int rank, std::string name, std::span<T> data) {
  return {rank,          std::move(name),    const_cast<std::remove_const_t<T>*>(data.data()), data.size_bytes(),
          dtype_of<T>(), !std::is_const_v<T>};
}

struct RoundStatistics {
  std::int64_t round = 0;
  std::uint64_t tasks = 0;
  std::uint64_t blocks = 0;  ///< a block of a mixed task counts once for each of its cores
  std::uint64_t puts = 0;
  std::uint64_t put_bytes = 0;
  std::uint64_t notifies = 0;
  std::uint64_t waits_parked = 0;
  std::uint64_t edges = 0;
  std::uint64_t conservative_overlaps = 0;  ///< in all rounds of the session: overlaps assumed, not proved
  std::uint64_t records = 0;                ///< in all rounds: written to the flight recorders
  std::uint64_t records_dropped = 0;        ///< of those, overwritten since
  std::chrono::nanoseconds elapsed{0};      ///< in the laboratory: virtual time
  std::uint64_t trace_hash = 0;             ///< in the laboratory: of all that the session has done so far
};

/// What is taken of a ring: slots of its task window, bytes of its heap, edges of its dependency pool.
struct RingRoom {
  std::uint64_t tasks = 0;
  std::uint64_t heap_bytes = 0;
  std::uint64_t edges = 0;
};
/// The most that was taken of a ring at a time. A ring takes back only when it needs room: with less of it, the same
/// program may wait more often and end all the same.
struct RingUse {
  RingRoom most;
  std::uint64_t waits = 0;  ///< how often the orchestrator waited for room
};
/// The most that one scope held of its ring until it ended, of those that a line of the program opens. With a smaller
/// ring the program does not end.
struct ScopeUse {
  std::string where;  ///< "programs/stencil.cpp:41"; empty: the round's own scope
  int ring = 0;
  bool manual = false;
  std::uint64_t opened = 0;  ///< how often
  RingRoom most;
};
/// What a rank used of its rings, in all rounds of a session.
struct RoomUse {
  std::array<RingUse, 4> rings;
  std::vector<ScopeUse> scopes;  ///< in the order in which they were first opened
};

namespace detail {
class SessionImpl;
class SessionAccess;
class DeviceImpl;
}  // namespace detail

class Session {
 public:
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  /// Runs one round on every rank and returns when all graphs have retired. Throws the first error. After it the
  /// session refuses rounds until recover(). Tensors that are not bound keep the session's own memory (see input and
  /// output).
  RoundStatistics run(std::span<const Binding> bindings = {});
  RoundStatistics run(std::initializer_list<Binding> bindings) {
    return run(std::span(bindings.begin(), bindings.size()));
  }

  /// Calls the program's fill (or check) for every rank, on the device's workers (in the laboratory: rank by rank).
  /// Throws the first failure, in rank order.
  void fill(std::int64_t round, int phase = 0);
  void check(std::int64_t round, int phase = 0);

  /// The session's own memory of a declared tensor.
  template <class T>
  std::span<T> input(int rank, std::string_view name) {
    const auto bytes = memory(rank, name, dtype_of<T>(), sizeof(T));
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  /// Throws invalid_argument for a rank that failed in the last round.
  template <class T>
  std::span<const T> output(int rank, std::string_view name) {
    refuse_failed(rank);
    const auto bytes = memory(rank, name, dtype_of<T>(), sizeof(T));
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  /// A rank's part of a window that the plan named, between rounds.
  std::span<std::byte> window(int rank, std::string_view name);

  /// Asks the running round to stop, from any thread; run then throws. Asked between rounds, it ends the next one.
  /// Async-signal-safe. In the laboratory a kernel that never asks its block for anything cannot be stopped.
  void cancel() noexcept;
  /// Makes a failed session run again: zeroes its windows, forgets the failure. Throws when it was poisoned by a kernel
  /// that never returned, or, in the laboratory, by a standstill that no failure ends.
  void recover();
  /// Whether a rank finished the last round.
  bool finished(int rank) const;

  const ProgramBase& program() const;
  int ranks() const;
  int threads() const;  ///< in the laboratory: 1, a thread of the session's own
  std::int64_t rounds_run() const;

  /// What a rank has used of its rings so far, between rounds; also of one that failed.
  RoomUse room_use(int rank) const;

  /// Writes what the flight recorders hold as a JSON trace for the Perfetto UI, in the laboratory with virtual times.
  /// Throws when the file cannot be written.
  void write_trace(const std::string& path) const;

  /// Writes where everything stands as a snapshot for `heddle explain`, from any thread; a round that runs goes on.
  /// After a round that has failed: what SessionConfig::keep_failure has kept. Throws when the file cannot be written,
  /// and in the laboratory.
  void write_snapshot(const std::string& path);

 private:
  friend class Device;
  friend class detail::SessionAccess;
  explicit Session(std::unique_ptr<detail::SessionImpl> impl);
  std::span<std::byte> memory(int rank, std::string_view name, DType type, std::size_t element_bytes);
  void refuse_failed(int rank) const;
  std::unique_ptr<detail::SessionImpl> impl_;
};

class Device {
 public:
  /// Backends: "host", and the simulated chips of the laboratory: "lab:ideal", "lab:a2a3", "lab:a5". Throws
  /// invalid_argument for an unknown one or a configuration out of range.
  static Device open(std::string_view backend, const DeviceConfig& config = {});
  Device(Device&&) noexcept;
  Device& operator=(Device&&) noexcept;
  ~Device();

  template <class P>
  Session prepare(P program, const SessionConfig& config = {}) {
    return prepare(std::shared_ptr<ProgramBase>(make_program(std::move(program))), config);
  }
  Session prepare(std::shared_ptr<ProgramBase> program, const SessionConfig& config = {});

  /// Runs a small program on every rank, in a session of its own: kernels, a put, and a notify to the next rank that
  /// waits for it. Throws the error that it ends with, so that a device that has been through a failure can be trusted
  /// again. The other way asks only whether it throws.
  void probe();
  bool healthy() noexcept;

  int ranks() const;
  int threads() const;

 private:
  explicit Device(std::shared_ptr<detail::DeviceImpl> impl);
  std::shared_ptr<detail::DeviceImpl> impl_;
};

}  // namespace heddle
