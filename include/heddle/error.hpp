// SPDX-License-Identifier: Apache-2.0
//
// The error model: one exception type that carries the whole first failure, and the table of codes.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// Numbers are stable; those that the field's runtimes already use keep their meaning. docs/errors.md describes each.
enum class Code : std::uint16_t {
  ok = 0,
  scope_deadlock = 1,
  heap_ring_deadlock = 2,
  flow_control_deadlock = 3,
  dep_pool_overflow = 4,
  invalid_argument = 5,
  sync_start_too_wide = 7,
  tensor_wait_timeout = 8,
  user_error = 9,
  region_map_full = 11,
  signal_deadlock = 20,
  core_deadlock = 21,
  window_mismatch = 22,
  kernel_failed = 30,
  core_stalled = 31,
  peer_lost = 40,
  race = 50,
  stale_read = 51,
  missing_edge = 52,
  not_once = 53,
  flags_unbalanced = 54,
  no_progress = 100,
  async_invalid = 101,
  async_overflow = 102,
  async_registration = 103,
  queue_overflow = 104,
};

struct CodeInfo {
  Code code;
  std::string_view name;
  std::string_view description;
  std::string_view hint;
};

/// Every code, in the order of its number.
std::span<const CodeInfo> code_table() noexcept;
/// A generic entry for a number that is not in the table.
const CodeInfo& info(Code code) noexcept;

/// Where in the user's program something stands. `file` is null when unknown.
struct Location {
  const char* file = nullptr;
  std::uint32_t line = 0;

  Location() = default;
  constexpr Location(const char* file_name, std::uint32_t line_number) : file(file_name), line(line_number) {}
  constexpr explicit Location(const std::source_location& here) : file(here.file_name()), line(here.line()) {}
  /// "programs/stencil.cpp:41", or "unknown".
  std::string text() const;
};

/// One block, deferred task or orchestrator that waits, as a deadlock report lists it.
struct WaitRecord {
  enum class What : std::uint8_t { signal, completion, ring, tensor, flag } what = What::signal;
  int rank = -1;
  std::string task;         ///< task name; "orchestrator" for the rank's own program
  std::int64_t block = -1;  ///< -1 when it is not a block
  Location location;        ///< where the task was submitted
  std::string window;       ///< signal waits: the window's name
  std::int64_t cell = -1;   ///< signal waits: index of the cell in the window, in cells of its width
  std::int64_t has = 0;     ///< signal waits: the cell's value now
  std::int64_t needs = 0;   ///< signal waits: the value it is compared with
  std::string compare;      ///< signal waits: "ge", …
  std::string detail;       ///< other waits: what is waited for, in words
  /// One sentence.
  std::string text() const;
};

/// Where one worker stood when something ran for too long: a thread of the host, or a core of a simulated chip.
struct WorkerRecord {
  enum class State : std::uint8_t {
    kernel,   ///< in a block's kernel
    program,  ///< in a rank's program
    idle,     ///< in the runtime's dispatcher, which has no work for it
    unknown,  ///< it did not answer
  } state = State::unknown;
  std::string worker;              ///< "worker 3"; "rank 0 cluster 1 vector 0"
  bool stuck = false;              ///< it is what the failure is about
  int rank = -1;                   ///< whose kernel or program
  std::string task;                ///< of a kernel
  std::int64_t block = -1;         ///< of a kernel
  Location submitted;              ///< where the task was submitted
  std::string function;            ///< that it stands in; on a simulated chip, the call
  Location at;                     ///< the line of it, as far as debug information tells
  std::string instruction;         ///< "spin+0x1f in stuck.so"; empty when it is not known
  std::vector<std::string> stack;  ///< from `function` outwards: "spin (stuck.cpp:12)"
  /// One sentence.
  std::string text() const;
};

/// The first failure of a run, whole. Later failures are attached and never replace it.
class Error : public std::exception {
 public:
  Error(Code code, std::string message);

  const char* what() const noexcept override;

  Code code() const noexcept;
  std::string_view name() const noexcept;
  const std::string& message() const noexcept;
  /// -1 when the failure belongs to no rank.
  int rank() const noexcept;
  /// Empty when the failure belongs to no task.
  const std::string& task() const noexcept;
  /// -1 when the failure belongs to no block.
  std::int64_t block() const noexcept;
  Location location() const noexcept;
  const std::string& hint() const noexcept;
  /// Rounds are counted from 0 within a session; -1 outside a round.
  std::int64_t round() const noexcept;
  /// Deadlocks: everything that waits, in the order of rank, task and block.
  const std::vector<WaitRecord>& waits() const noexcept;
  /// Something ran too long: where every worker stood at that time.
  const std::vector<WorkerRecord>& workers() const noexcept;
  /// Failures that followed this one.
  const std::vector<Error>& attached() const noexcept;
  /// The whole report, several lines.
  std::string report() const;

  Error& at_rank(int rank);
  Error& at_task(std::string_view task, std::int64_t block, Location location);
  Error& at_location(Location location);
  Error& in_round(std::int64_t round);
  Error& with_hint(std::string hint);
  Error& with_waits(std::vector<WaitRecord> waits);
  Error& with_workers(std::vector<WorkerRecord> workers);
  Error& attach(Error later);

 private:
  struct Body;
  Body& own();
  std::shared_ptr<Body> body_;
};

namespace detail {
[[noreturn]] void throw_invalid(std::string message);
/// What a kernel's view throws when an index is out of its range; becomes Code::kernel_failed.
[[noreturn]] void throw_out_of_view(int dimension, std::int64_t index, std::int64_t extent);
}  // namespace detail

}  // namespace heddle
