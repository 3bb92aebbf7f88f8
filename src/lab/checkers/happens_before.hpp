// SPDX-License-Identifier: Apache-2.0
//
// What happened before what in one round, as far as the program's own means order it: the order of operations in a
// block, the edges of the graph, and released notifies that a wait has seen. The clock orders nothing.
//
// Rules
// - A block's operations are numbered from 1, in program order.
// - A task starts after its producers have completed, all blocks and conditions. It also starts after every task of its
//   rank that had completed when it was submitted: inference names those no more.
// - A wait acquires all notifies that made the cell's present value: those that took effect since the last `set` or
//   ordinary store. A released notify carries what its block did before it; a relaxed one what the block did before its
//   last fence to that peer or quiet.
// - A put is carried only by a notify to the same peer, or by what follows a quiet, or by the end of its block.
// - Rounds are fenced: a new one starts with nothing to remember, but for which cells have a value of an earlier round.
//
// Questions are answered by a search backward from one place. It goes no further than the horizon: what ended before
// that cannot come after anything that began later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "lab/observer.hpp"

namespace heddle::lab::checkers {

using Tick = std::uint64_t;  // counts what the feed told, from 1; 0: not yet
using TaskIndex = std::uint32_t;
using BlockIndex = std::uint32_t;
using NotifyIndex = std::uint32_t;
using CellIndex = std::uint32_t;
using AcquireIndex = std::uint32_t;
inline constexpr std::uint32_t none = UINT32_MAX;

struct TaskNode {
  TaskId id;
  const char* name = "";
  Location location;
  std::uint32_t blocks = 1, first_block = 0;
  std::uint32_t first_producer = 0, producers = 0;
  std::uint32_t completed_before = 0;  // tasks of its rank that had completed when it was submitted
  std::uint32_t blocks_ended = 0;
  AcquireIndex last_condition = none;
  bool manual = false;
  Tick submitted = 0, begun = 0, completed = 0;
  std::uint32_t start_seen = 0, end_seen = 0, entered = 0;  // searches that came here
};

struct BlockNode {
  TaskIndex task = none;
  std::uint32_t core = 0;
  std::uint32_t op = 0;  // of the last operation
  AcquireIndex last_acquire = none;
  NotifyIndex last_notify = none;
  std::uint32_t last_fence = none;
  Tick begun = 0, ended = 0;
  std::uint32_t seen = 0, upto = 0;  // search that came here, and the last operation that it knows of
};

// A notify as a report names it; outlives its round.
struct Origin {
  std::int64_t round = -1;
  int rank = -1;
  std::int64_t block = -1;
  const char* task = "";
  Location location;
};

struct NotifyNode {
  std::uint64_t id = 0;
  BlockIndex block = none;
  std::uint32_t op = 0;
  std::uint32_t carried = 0;  // the last operation of its block that it publishes; 0: none
  CellIndex cell = none;
  int peer = -1;
  std::int64_t value = 0;
  Notify how = Notify::set;
  bool relaxed = false;
  Tick issued = 0, arrived = 0;
  NotifyIndex previous_of_block = none;
  NotifyIndex previous_of_cell = none;   // issued before to the same cell in this round
  NotifyIndex previous_of_value = none;  // part of the cell's value, and took effect before
  std::uint32_t seen = 0;
};

struct AcquireNode {
  BlockIndex block = none;  // none: a condition of `task`
  TaskIndex task = none;
  std::uint32_t op = 0;
  CellIndex cell = none;
  NotifyIndex head = none;  // the newest notify in the cell's value
  Compare compare = Compare::eq;
  std::int64_t value = 0;
  Tick tick = 0;
  AcquireIndex previous = none;  // of the same block, or condition of the same task
};

struct CellNode {
  heddle::detail::SignalRef signal;
  NotifyIndex head = none;         // of this round's notifies in the value
  NotifyIndex last_notify = none;  // issued in this round
  bool notified = false;           // ever
  bool has_old = false;            // a notify of an earlier round is in the value
  Origin old;                      // the last of those
};

class HappensBefore {
 public:
  explicit HappensBefore(int ranks);

  // ---- the feed. Whatever names a block that is not known gives `none`.
  void round_begins(std::int64_t round);
  TaskIndex submitted(const TaskFacts& facts);
  void completed(TaskIndex task);
  void block_begins(BlockIndex block, std::uint32_t core);
  void block_ends(BlockIndex block);
  std::uint32_t operation(BlockIndex block);  // one more of the block; its number
  void fence(BlockIndex block, int peer);
  NotifyIndex notify(BlockIndex block, std::uint64_t id, const heddle::detail::SignalRef& signal, std::int64_t value,
                     Notify how, Order order);
  NotifyIndex notify_arrived(std::uint64_t id);  // none, too, for one of an earlier round
  AcquireIndex wait_satisfied(TaskIndex task, BlockIndex block, const heddle::detail::SignalRef& signal,
                              Compare compare, std::int64_t value);
  void overwritten(CellIndex cell);  // by an ordinary store
  Tick tick() { return ++now_; }

  // ---- what is there
  TaskIndex find(TaskId id) const;
  BlockIndex find(const BlockId& id) const;
  const TaskNode& task(TaskIndex i) const { return tasks_[i]; }
  const BlockNode& block(BlockIndex i) const { return blocks_[i]; }
  const NotifyNode& notify(NotifyIndex i) const { return notifies_[i]; }
  const AcquireNode& acquire(AcquireIndex i) const { return acquires_[i]; }
  const CellNode& cell(CellIndex i) const { return cells_[i]; }
  std::size_t tasks() const { return tasks_.size(); }
  std::size_t acquires() const { return acquires_.size(); }
  TaskIndex producer(const TaskNode& task, std::uint32_t i) const { return producers_[task.first_producer + i]; }
  std::uint32_t block_number(BlockIndex i) const { return i - tasks_[blocks_[i].task].first_block; }
  std::int64_t round() const { return round_; }
  Tick now() const { return now_; }
  Tick oldest_running() const;  // when the oldest task that still runs began; now(), if there is none
  Origin origin(NotifyIndex notify) const;
  // Calls visit(cell) for each cell that begins in [begin, end).
  template <class Visit>
  void for_cells(std::uintptr_t begin, std::uintptr_t end, Visit&& visit) const {
    for (auto at = cells_by_address_.lower_bound(begin); at != cells_by_address_.end() && at->first < end; ++at)
      visit(at->second);
  }
  bool has_notified_cell(std::uintptr_t begin, std::uintptr_t end) const;

  // ---- searches. What look_* found stays until the next one.
  void look_from(BlockIndex block, std::uint32_t op, Tick horizon);
  // From the ends of the task's blocks, so far; its conditions are left out.
  void look_from_blocks(TaskIndex task, Tick horizon);

  bool knows(BlockIndex block, std::uint32_t op) const {
    const BlockNode& node = blocks_[block];
    return node.seen == stamp_ && node.upto >= op;
  }
  // The same of a put or notify to a peer, whose effect may come later.
  bool knows_remote(BlockIndex block, std::uint32_t op, int peer) const;
  bool knows_something_of(TaskIndex task) const { return tasks_[task].entered == stamp_; }
  bool knows_end_of(TaskIndex task) const { return tasks_[task].end_seen == stamp_; }
  // The notify was part of a value that a wait saw: its effect is known, whatever it publishes.
  bool saw(NotifyIndex notify) const { return notifies_[notify].seen == stamp_; }

 private:
  struct FenceNode {
    std::uint32_t op = 0;
    int peer = -1;
    std::uint32_t previous = none;
  };
  struct RankNode {
    std::vector<TaskIndex> by_serial;
    std::vector<TaskIndex> completed;  // in the order of completion
    std::uint32_t seen = 0, seen_count = 0;
  };
  struct Step {
    bool is_task;
    std::uint32_t index;
    std::uint32_t from, upto;  // a block's acquires in (from, upto] are new
  };
  static constexpr std::uint32_t whole = UINT32_MAX;

  CellIndex cell_of(const heddle::detail::SignalRef& signal);
  bool reuse(std::uint64_t key, AcquireIndex acquire, Tick& horizon);
  void begin_search(Tick horizon);
  void run();
  void reach_start(TaskIndex task);
  void reach_end(TaskIndex task);
  void reach(BlockIndex block, std::uint32_t upto);
  void reach_value(NotifyIndex head);

  std::int64_t round_ = -1;
  Tick now_ = 0;
  std::vector<RankNode> ranks_;
  std::vector<TaskNode> tasks_;
  std::vector<BlockNode> blocks_;
  std::vector<TaskIndex> producers_;
  std::vector<NotifyNode> notifies_;
  std::vector<AcquireNode> acquires_;
  std::vector<FenceNode> fences_;
  std::vector<TaskIndex> running_;  // in the order in which they began
  mutable std::size_t first_running_ = 0;
  std::unordered_map<std::uint64_t, NotifyIndex> notify_of_id_;           // looked up only
  std::unordered_map<std::uint64_t, std::pair<CellIndex, Origin>> late_;  // issued in an earlier round, on their way
  std::vector<CellNode> cells_;
  std::map<std::uintptr_t, CellIndex> cells_by_address_;
  std::unordered_map<const void*, CellIndex> cell_of_address_;  // looked up only

  std::vector<Step> steps_;
  std::uint32_t stamp_ = 0;
  Tick horizon_ = 0;
  std::uint64_t key_ = UINT64_MAX;  // of the last search
  AcquireIndex key_acquire_ = none;
};

}  // namespace heddle::lab::checkers
