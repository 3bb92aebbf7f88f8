// SPDX-License-Identifier: Apache-2.0
//
// A simulated machine for code that is written against an Environment: agents on one thread, one at a time. Every
// access of an agent to shared memory is a step, before which a seeded stream decides who runs next and which buffered
// stores reach memory. The same seed gives the same run, on every compiler.
//
// Memory model, for what an Atomic, an atomic_ref and a fence do:
//   * Stores that are not seq_cst wait in a buffer of their agent, which only that agent sees through. They reach
//     memory at a random later step. Relaxed stores to different cells may overtake each other; a release store, and
//     what follows a release fence, does not overtake anything. The buffer is emptied by a read-modify-write, a
//     seq_cst store, a seq_cst fence, park, unpark, spawn and the end of the run.
//   * A read-modify-write acts on memory at once. If it is not seq_cst, loads of agents that are not ordered after it
//   may
//     still get the value before it, until its agent does something seq_cst, parks or unparks, or a random later step:
//     its own later loads may overtake it.
//   * Loads see memory as it is at their step. A load that another architecture would let overtake an earlier load is
//     therefore not shown as a stale value; where data is guarded by it, the missing acquire shows as a race.
//   * Happens-before is kept exactly, by vector clocks: release and acquire, release sequences through
//     read-modify-writes (a plain relaxed store ends one), fences of every kind, park/unpark, spawn.
//   * Accesses to a Plain, and construction and destruction of any cell, must be ordered with each other by
//     happens-before; otherwise the run ends with a race, whether or not a wrong value was seen.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/fiber.hpp"
#include "lab/clock.hpp"

namespace heddle::lab {

struct Options {
  std::uint64_t step_limit = 1'000'000;
  // Chance in percent that an agent takes another step in a row. Negative: drawn from the seed, so that some seeds
  // have long runs of one agent and some change at nearly every step.
  int stay_percent = -1;
  std::size_t stack_bytes = std::size_t{256} << 10U;
};

struct Outcome {
  enum class Kind {
    finished,    // every agent returned
    deadlock,    // all agents that have not returned are parked without a deadline
    step_limit,  // too many steps: probably a livelock
    race,        // two accesses without an order between them
    exception,   // an agent let an exception out
  };
  Kind kind = Kind::finished;
  std::uint64_t seed = 0;
  std::uint64_t steps = 0;
  std::uint64_t hash = 0;           // of every decision: equal for equal runs
  std::string detail;               // one line: what and where
  std::vector<std::string> agents;  // parked ones, or the two of a race (the later access first), or the thrower
  std::set<std::string> marks;      // what E::mark named
  std::string tail;                 // the last steps, one a line, unless finished

  bool finished() const { return kind == Kind::finished; }
  const char* kind_name() const;
  bool reached(const std::string& mark) const { return marks.count(mark) != 0; }
  // One line with seed, kind and detail, followed by the tail.
  std::string describe() const;
};

// What the machine knows about an atomic cell. Belongs to one run; older entries count as empty.
struct CellHistory {
  std::uint64_t run = 0;
  VectorClock release;  // what an acquire load of the present value is ordered after
  Epoch born;
  // The last read-modify-write, as long as loads may still see what was there before it.
  Epoch unseen_change;
  bool unseen = false;
  std::uint64_t bits_before = 0;
  VectorClock release_before;
};

struct PlainHistory {
  std::uint64_t run = 0;
  Epoch write;
  VectorClock reads;  // since the last write
};

struct ParkerHistory {
  std::uint64_t run = 0;
  VectorClock release;
  std::uint32_t waiter = Epoch::nobody;
  bool token = false;
};

class Machine {
 public:
  explicit Machine(std::uint64_t seed, Options options = {});
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // Adds an agent: before run(), or from a running agent, which is ordered before it.
  void spawn(std::string name, std::function<void()> body);

  // Names a cell (a Plain, or an atomic) for the report of a race.
  void label(const void* cell, std::string name);

  // Runs the agents to an end; once. If that is not Kind::finished, the agents that have not returned are abandoned
  // where they stand: their frames are not unwound, and what these own is lost. (For this reason the leak checker
  // ignores what is allocated during a run: leaks are for the tests on real threads to find.)
  Outcome run();

  // The machine that runs the calling agent, or null outside of run(). There the members of a LabEnvironment act
  // directly on their cells, without steps and checks: before the run, or after it.
  static Machine* current() noexcept;

  // What LabEnvironment is made of; for an agent of this machine only. `what` names the step in the tail.
  void step(const char* what, bool prefer_other = false);
  std::uint64_t load(CellHistory& cell, const void* address, std::size_t size, std::memory_order order);
  void store(CellHistory& cell, void* address, std::size_t size, std::uint64_t bits, std::memory_order order);
  // Around a read-modify-write that the caller does on memory between the two.
  void begin_modify(CellHistory& cell, const void* address, std::size_t size, const char* what);
  void end_modify(CellHistory& cell, std::memory_order order, bool stored);
  void fence(std::memory_order order);
  void born(CellHistory& cell);
  void gone(CellHistory& cell, const void* address);
  void read(PlainHistory& plain, const void* address, bool is_step);
  void write(PlainHistory& plain, const void* address, bool is_step);
  bool park(ParkerHistory& parker, std::uint64_t deadline);  // false: the deadline came first
  void unpark(ParkerHistory& parker);
  CellHistory& raw_cell(const void* address) { return raw_cells_[address]; }
  void*& self() noexcept;
  // Ends the run with Kind::exception: for checks on a stack from which no exception gets out.
  void fail(std::string what);
  std::uint32_t choose(const char* label, std::uint32_t alternatives);
  void mark(const char* name) { marks_.insert(name); }
  std::uint64_t now() const noexcept { return time_; }
  std::uint64_t seed() const noexcept { return seed_; }
  void charge(std::uint64_t nanoseconds) noexcept { time_ += nanoseconds; }

  static constexpr std::uint64_t no_deadline = UINT64_MAX;

 private:
  struct Agent;
  struct PendingStore;
  struct Event {
    std::uint32_t agent;
    const char* what;
  };

  base::Fiber& run_current();
  Agent& now_running() { return *agents_[running_]; }
  std::uint64_t draw() noexcept;
  void note(std::uint64_t decision) noexcept;
  void note_event(const char* what);
  std::uint32_t next_after_block();
  void continue_with(std::uint32_t agent);
  void stop(Outcome::Kind kind, std::string detail, std::vector<std::string> agents);
  void race(const char* access, const void* address, const char* other_access, std::uint32_t other);
  void flush_one(Agent& agent, std::size_t index);
  void flush_all(Agent& agent);
  void flush_somewhere(std::uint64_t random);
  void show(CellHistory& cell);
  void show_all_of(std::uint32_t agent);
  void release_step(Agent& agent) noexcept;
  CellHistory& refresh(CellHistory& cell, const void* address);
  PlainHistory& refresh(PlainHistory& plain) const;
  ParkerHistory& refresh(ParkerHistory& parker) const;
  std::string tail() const;

  const std::uint64_t seed_;
  const std::uint64_t run_id_;  // unique in the process: tells this run's histories from older ones
  const Options options_;
  std::uint64_t stay_percent_ = 0;
  std::uint64_t random_;
  std::uint64_t hash_;
  std::uint64_t steps_ = 0;
  std::uint64_t time_ = 0;
  base::Fiber home_ = base::Fiber::adopt();
  std::vector<std::unique_ptr<Agent>> agents_;
  std::vector<std::uint32_t> runnable_;
  std::uint32_t running_ = Epoch::nobody;
  bool has_run_ = false;
  std::size_t unfinished_ = 0;
  std::size_t pending_stores_ = 0;
  std::vector<CellHistory*> unseen_;                        // cells with unseen set
  std::unordered_map<const void*, CellHistory> raw_cells_;  // looked up only, never iterated
  std::map<const void*, std::string> labels_;
  std::set<std::string> marks_;
  std::vector<Event> events_;  // ring of the last ones
  std::uint64_t event_count_ = 0;
  Outcome outcome_;
};

}  // namespace heddle::lab
