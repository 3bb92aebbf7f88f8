// SPDX-License-Identifier: Apache-2.0
//
// What the checkers share: what is known of the round, and the place for the first finding. A checker is told of each
// event after the order and before the histories know of it; all of it names blocks that are known.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lab/checkers/accesses.hpp"
#include "lab/checkers/happens_before.hpp"
#include "lab/checkers/lines_written.hpp"
#include "lab/observer.hpp"

namespace heddle::lab::checkers {

struct Argument {
  graph::Region region;
  heddle::detail::Tag tag = heddle::detail::Tag::in;
};

struct Context {
  explicit Context(int ranks) : order(ranks), reads(accesses), writes(accesses) {}

  HappensBefore order;
  std::vector<Access> accesses;
  RegionIndex<Access> reads, writes;
  std::vector<Argument> arguments;                  // of all tasks
  std::vector<std::uint32_t> first_argument_of{0};  // of each task, and one more
  LinesWritten lines;
  graph::OverlapStatistics overlaps;
  std::optional<Finding> finding;

  std::vector<const heddle::detail::WindowTable*> windows;  // that the feed has named

  void learn(const heddle::detail::WindowTable* window);
  const heddle::detail::WindowTable* window_at(int rank, std::uintptr_t address) const;

  // An access in the index, until nothing that is still to come can conflict with it and not with a later one.
  AccessIndex record(Access access);
  void drop(AccessIndex access) { spare_accesses_.push_back(access); }
  void forget_round();

  std::span<const Argument> arguments_of(TaskIndex task) const {
    return std::span(arguments).subspan(first_argument_of[task], first_argument_of[task + 1] - first_argument_of[task]);
  }

  // The first one stands.
  void report(const char* checker, Error error) {
    if (!finding) finding = Finding{checker, std::move(error.in_round(order.round()))};
  }
  // At a block of a task; `block` may be none.
  Error error_at(Code code, std::string message, TaskIndex task, BlockIndex block) const;

  // Searches from where the access ends.
  void look_from(const Access& access, Tick horizon) {
    if (access.block == none)
      order.look_from_blocks(access.task, horizon);
    else
      order.look_from(access.block, access.op, horizon);
  }
  // Whether the place of the last search comes after the access. An argument may be done with at the first operation
  // that its block publishes.
  bool is_before(const Access& access) const {
    if (access.block == none) return order.knows_something_of(access.task);
    if (access.kind == Access::Kind::put) return order.knows_remote(access.block, access.op, access.peer);
    return order.knows(access.block, access.op);
  }
  bool is_before(NotifyIndex notify) const {
    const NotifyNode& node = order.notify(notify);
    return order.saw(notify) || order.knows_remote(node.block, node.op, node.peer);
  }
  // The newest wait on the cell that the place of the last search comes after, or none.
  AcquireIndex known_wait(CellIndex cell) const;

  // "rank 1, task push (programs/x.cpp:12), block 3"
  std::string who(TaskIndex task, BlockIndex block) const;
  static std::string who(const Origin& origin);
  std::string who(NotifyIndex notify) const { return who(order.origin(notify)); }
  // "done[3] of rank 2"
  std::string name_of(CellIndex cell) const;
  // "done[3] of rank 2 >= 8"
  std::string condition_of(const AcquireNode& acquire) const;

 private:
  std::vector<AccessIndex> spare_accesses_;
  std::uint32_t accesses_made_ = 0;
};

// "bytes 64 to 127 of window inbox of rank 2", by the bounds of what two regions share.
std::string name_bytes(std::uintptr_t begin, std::uintptr_t end, int rank, const heddle::detail::WindowTable* window,
                       const char* fallback);

class Checker {
 public:
  explicit Checker(Context& context) : context_(context) {}
  virtual ~Checker() = default;
  Checker(const Checker&) = delete;
  Checker& operator=(const Checker&) = delete;

  virtual void round_begins() {}
  virtual void round_ends() {}
  virtual void stopped() {}  // the run, in the middle of a round or after its end
  virtual void submitted(TaskIndex, const TaskFacts&) {}
  virtual void completed(TaskIndex) {}
  virtual void block_begins(BlockIndex) {}
  virtual void block_ends(BlockIndex) {}
  virtual void unknown_block(const BlockId&) {}  // began, though no such block was submitted
  // The block uses a piece: "puts", … Far: of the peer that it named.
  virtual void uses(BlockIndex, const char* /*verb*/, const Piece&, bool /*far*/) {}
  // The access ends now, but for a put, whose effect is still to come.
  virtual void accessed(const Access&) {}
  virtual void scalar_read(BlockIndex, std::uint32_t /*op*/, const graph::Region&, bool /*from_cache*/) {}
  virtual void scalar_write(BlockIndex, std::uint32_t /*op*/, std::uintptr_t /*line*/, std::uint64_t /*bytes*/) {}
  virtual void written_back(BlockIndex, std::uint32_t /*op*/, std::uintptr_t /*line*/, std::uint64_t /*bytes*/) {}
  // A put of a block arrived.
  virtual void arrived(AccessIndex) {}
  virtual void notified(NotifyIndex) {}
  virtual void notify_arrived(NotifyIndex) {}
  // An ordinary store or put of the block changed the cell.
  virtual void overwrites(CellIndex, BlockIndex, std::uint32_t /*op*/, int /*peer of a put*/) {}
  virtual void waited(AcquireIndex) {}
  // A half of a mixed block, number `part` of it.
  virtual void half(BlockIndex, const HalfEvent&) {}

 protected:
  Context& context_;
};

}  // namespace heddle::lab::checkers
