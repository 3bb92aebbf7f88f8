// SPDX-License-Identifier: Apache-2.0
//
// What was recorded of a run at one moment: all that the doctor reads. Plain values, so that the snapshot of another
// process, machine or runtime is the same thing. docs/snapshot.md describes the file, docs/snapshot.schema.json its
// form.
//
// What was not recorded is told apart from what was seen to be so: an empty optional, an empty string, -1, or
// State::unknown. Lists are in the order of rank, task and block.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace heddle::snapshot {

inline constexpr const char* format_name = "heddle-snapshot";
inline constexpr int format_version = 1;

struct Source {
  std::string file;
  std::int64_t line = -1;
  bool known() const { return !file.empty(); }
  std::string text() const;  // "cases/x/x.cpp:41", or empty
  friend bool operator==(const Source&, const Source&) = default;
};

// A task: `task` counts the submits of its rank in the round, from 0.
struct TaskRef {
  int rank = -1;
  std::int64_t task = -1;
  auto operator<=>(const TaskRef&) const = default;
};

enum class RankState : std::uint8_t { unknown, running, ended, failed, dead };
// What a rank's program, which submits its tasks, waits for.
enum class ProgramWait : std::uint8_t { unknown, nothing, ring, region_map, value, end };
enum class Resource : std::uint8_t { unknown, task_window, heap, dep_pool };

struct Rank {
  int rank = -1;
  RankState state = RankState::unknown;
  std::int64_t round = -1;
  ProgramWait waits_for = ProgramWait::unknown;
  Resource resource = Resource::unknown;  // of a wait for a ring
  int ring = -1;
  std::int64_t submitted = -1;  // tasks so far; those of them that are not listed have ended
  std::int64_t holder = -1;     // the task of this rank that has to end first
  bool held_by_scope = false;   // nothing but the end of an open scope gives room
  std::string for_task;         // what it would submit next
  Source source;                // where it waits
};

// A wait for a cell of a window of the waiter's own rank, or for a flag of its cluster.
enum class WaitKind : std::uint8_t { signal, flag };
struct Wait {
  WaitKind kind = WaitKind::signal;
  int rank = -1;
  std::string window;         // of a flag: empty
  std::int64_t cell = -1;     // of the window; the flag's number
  std::int64_t cluster = -1;  // of a flag
  std::string compare;        // "==", "!=", ">=", ">", "<=", "<"
  std::optional<std::int64_t> needs, has;
  Source source;
};

// not_submitted: known from the program, and not yet handed to the runtime. waiting: its blocks have ended, and a
// condition that completes it has not been met.
enum class TaskState : std::uint8_t { unknown, not_submitted, submitted, ready, running, waiting, complete };

struct Task {
  int rank = -1;
  std::int64_t task = -1;
  std::string name;
  std::string kernel;  // where it differs from the name
  Source source;
  int ring = -1;
  std::int64_t round = -1;
  TaskState state = TaskState::unknown;
  int cubes = -1, vectors = -1;  // cores that a block takes
  std::int64_t blocks = -1, begun = -1, ended = -1;
  std::optional<std::vector<TaskRef>> producers;
  std::vector<Wait> conditions;  // that are still to be met
};

// dispatched: given to a core that has not taken it up. Blocks that have ended need not be listed.
enum class BlockState : std::uint8_t { unknown, queued, dispatched, running, waiting, ended };

struct Block {
  int rank = -1;
  std::int64_t task = -1, block = -1;
  int part = -1;  // of a block that takes several cores
  BlockState state = BlockState::unknown;
  std::int64_t core = -1;    // index of the rank's core
  std::int64_t worker = -1;  // of a host
  bool off_core = false;     // it waits, and its core or worker does other work meanwhile
  std::optional<Wait> wait;
  Source source;  // where in the kernel it is
};

enum class CoreKind : std::uint8_t { unknown, cube, vector };
enum class CoreState : std::uint8_t { unknown, idle, gated, dispatched, running, finish_withheld, dead };

struct Assignment {
  std::int64_t task = -1, block = -1;
  int part = -1;
  std::int64_t token = -1;
};

struct Core {
  int rank = -1;
  std::int64_t core = -1;
  std::string name;  // "cluster 3 vector 1"
  std::int64_t cluster = -1;
  int lane = -1;
  CoreKind kind = CoreKind::unknown;
  CoreState state = CoreState::unknown;
  std::optional<Assignment> running, pending;
  std::int64_t status = -1;     // last seen by its scheduler
  std::int64_t anomalies = -1;  // statuses that nothing explains
  std::int64_t withheld = -1;   // waits for a pending task that were given up
};

// A counter of a cluster, between the halves of a mixed task.
struct Flag {
  int rank = -1;
  std::int64_t cluster = -1, flag = -1;
  std::string side;  // which half waits for it
  std::int64_t count = -1;
};

struct Queued {
  std::int64_t task = -1;
  std::int64_t next_block = -1, blocks = -1;
};
struct Queue {
  int rank = -1;
  std::string name;
  std::vector<Queued> entries;  // in the order in which they would be served
};

struct Amount {
  std::int64_t size = -1, held = -1;
};
struct Ring {
  int rank = -1;
  int ring = -1;
  Amount tasks, heap_bytes, edges;
  std::int64_t oldest = -1;  // the task that has to retire first
  Source holder;             // the outermost open scope that has tasks in it
};

struct Scope {
  int rank = -1;
  int depth = -1, ring = -1;
  bool manual = false;
  std::int64_t first = -1;  // the first task that it submitted
  Source source;
};

// Something that changed, or was to change, a cell. A notify that has no `arrived` is not visible to its rank.
enum class ChangeKind : std::uint8_t { notify, store, reset };
struct Change {
  ChangeKind kind = ChangeKind::notify;
  int rank = -1;  // who
  std::int64_t task = -1, block = -1;
  std::string name;  // of the task
  std::int64_t round = -1;
  std::optional<std::int64_t> value;
  std::string op;                                // "set", "add"
  std::optional<std::uint64_t> issued, arrived;  // ns
  bool lost = false;                             // a fault dropped it
};

struct Cell {
  int rank = -1;
  std::string window;
  std::int64_t cell = -1;
  std::optional<std::int64_t> value;
  std::vector<Change> history;                    // the newest ones, in the order in which they were issued
  std::int64_t older = -1;                        // changes before those; -1: the history was not recorded
  std::optional<std::vector<TaskRef>> notifiers;  // tasks of this round whose kernels notify it; empty list: none do
};

struct Window {
  std::string name;
  std::int64_t bytes = -1;
};

struct Fault {
  std::string name;
  int rank = -1;
  std::string where;
};

// One of the last things that happened.
struct Event {
  std::optional<std::uint64_t> start, end;  // ns
  std::string kind;                         // "block", "wait", "put", "get", "notify", "arrival", "submit", …
  int rank = -1;
  std::int64_t task = -1, block = -1;
  std::string name;
  std::int64_t core = -1;
  int peer = -1;
  std::string window;
  std::int64_t cell = -1;
  std::optional<std::int64_t> value;
  bool unfinished = false;  // it had not ended
};

// What the runtime itself concluded.
struct Outcome {
  std::string verdict;  // "DEADLOCK (proved)"
  int code = -1;        // docs/errors.md
  std::string message;
  int rank = -1;
  std::string task;
  std::int64_t block = -1;
  std::int64_t round = -1;
  Source source;
  std::string hint;
  std::vector<std::string> chain;  // sentences
};

// standstill: nothing could happen any more, so who waits waits for good. failure: when the first error was known, or
// soon after it. request: while the run went on.
enum class Taken : std::uint8_t { unknown, standstill, failure, request };

struct Setting {
  std::string name, value;
};

struct Snapshot {
  std::string program, variant, backend, fidelity, strategy;
  std::vector<Setting> settings;  // of the program
  std::optional<std::uint64_t> seed, trace_hash;
  std::string replay;  // the command that shows it again
  Taken taken = Taken::unknown;
  std::optional<std::uint64_t> time;  // ns since the run began
  std::optional<Outcome> outcome;

  std::vector<Rank> ranks;
  std::vector<Task> tasks;
  std::vector<Block> blocks;
  std::vector<Core> cores;
  std::vector<Flag> flags;
  std::vector<Queue> queues;
  std::vector<Ring> rings;
  std::vector<Scope> scopes;
  std::vector<Window> windows;
  std::vector<Cell> cells;
  std::vector<Fault> faults;
  std::vector<Event> events;
  std::vector<std::string> notes;  // of whoever took it: what it left out, and why

  // The lists that were in the file at all: "tasks", "cores", …; a list that is absent was not recorded.
  std::vector<std::string> recorded;
  bool has(const std::string& list) const;
};

}  // namespace heddle::snapshot
