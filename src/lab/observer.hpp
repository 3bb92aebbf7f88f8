// SPDX-License-Identifier: Apache-2.0
//
// What a lab run tells its checkers: who did what, in the order of virtual time. A checker sees accesses at the moments
// at which they take effect; it never changes what happens.
#pragma once

#include <cstdint>
#include <heddle/block.hpp>
#include <heddle/error.hpp>
#include <heddle/task.hpp>
#include <span>
#include <string>
#include <vector>

namespace heddle::lab {

// A task of this round: `serial` counts the submits of its rank in the round, from 0, and is the same in every run.
struct TaskId {
  int rank = -1;
  std::uint32_t serial = 0;
  friend bool operator==(const TaskId&, const TaskId&) = default;
};

struct TaskFacts {
  TaskId id;
  const char* name = "";
  Location location;
  std::uint32_t blocks = 1;
  bool manual = false;                              // submitted in a manual scope
  bool always_runs = false;                         // has a kernel and no predicate: all its blocks run
  std::span<const heddle::detail::ArgRecord> args;  // placed; valid during the call
  std::span<const TaskId> producers;                // the tasks that it waits for, explicit and inferred
  Cores cores;                                      // that a block takes
};

// A block of a task. `core` is its place: "cluster 3 vector 1".
struct BlockId {
  TaskId task;
  std::uint32_t block = 0;
  friend bool operator==(const BlockId&, const BlockId&) = default;
};

// A strided piece of memory of `rank` (its tensors, heap or window part).
struct Piece {
  int rank = -1;
  const std::byte* data = nullptr;
  std::uint32_t element_bytes = 1;
  int dims = 0;
  std::int64_t shape[max_tensor_rank]{};
  std::int64_t stride[max_tensor_rank]{};               // bytes
  const heddle::detail::WindowTable* window = nullptr;  // null: not in a window
};

// What a half of a mixed block does to a count that it shares with the other side; or, that it ended by itself.
struct HalfEvent {
  enum class Kind : std::uint8_t { gave, took, ended };
  Kind kind = Kind::ended;
  bool from_cube = false;          // who gives
  bool tile = false;               // a push or pop, and no flag
  std::uint32_t flag = 0;          // its number
  std::uint32_t part = 0;          // the vector half
  std::uint32_t cluster = 0;       // of the rank
  heddle::detail::SignalRef cell;  // the count
  Location location;               // of the call
};

class Observer {
 public:
  virtual ~Observer() = default;

  virtual void round_begins(std::int64_t /*round*/) {}
  virtual void round_ends() {}
  virtual void submitted(const TaskFacts&) {}
  // Every task's end: all blocks and conditions done. Its consumers start after this.
  virtual void completed(TaskId) {}

  // `core` numbers the cores of the whole run.
  virtual void block_begins(const BlockId&, std::uint32_t /*core*/) {}
  virtual void block_ends(const BlockId&) {}

  // A block's put or get. The put was issued now; its data arrives later (arrived, once, when all of it has).
  virtual void put(const BlockId&, std::uint64_t /*put_id*/, const Piece& /*to*/, const Piece& /*from*/) {}
  virtual void arrived(std::uint64_t /*put_id*/) {}
  virtual void get(const BlockId&, const Piece& /*to*/, const Piece& /*from*/) {}
  // Scalar accesses through a core's cache: `data` has `bytes` bytes and lies in one 64-byte line.
  virtual void scalar_read(const BlockId&, const Piece&, bool /*from_cache*/) {}
  virtual void scalar_write(const BlockId&, const Piece&) {}
  // A line goes from a core's cache to memory; `dirty` has a bit for each byte that the core wrote.
  virtual void line_written_back(const BlockId&, const Piece& /*line*/, std::uint64_t /*dirty*/) {}

  // A notify was issued (id counts them), and later took effect on the cell.
  virtual void notify(const BlockId&, std::uint64_t /*notify_id*/, const heddle::detail::SignalRef&,
                      std::int64_t /*value*/, Notify, Order) {}
  virtual void notify_arrived(std::uint64_t /*notify_id*/) {}
  virtual void fence(const BlockId&, int /*peer; -1: all (quiet)*/) {}
  virtual void half(const BlockId&, const HalfEvent&) {}
  // A block begins to wait: its condition does not hold yet. It ends satisfied, or with the block.
  virtual void wait_begins(const BlockId&, const heddle::detail::SignalRef&, Compare, std::int64_t /*value*/) {}
  // A wait of a block (or a test that said yes) was satisfied by the cell's present value. `deferred`: a condition of
  // the task; then `block` means nothing.
  virtual void wait_satisfied(const BlockId&, const heddle::detail::SignalRef&, Compare, std::int64_t /*value*/,
                              bool /*deferred*/) {}
};

// A fault of the program that a checker has found.
struct Finding {
  const char* checker = "";  // "races", …
  Error error;               // code race, stale_read, …; with rank, task, block and location
};

}  // namespace heddle::lab
