// SPDX-License-Identifier: Apache-2.0
//
// A run in which nothing can happen any more: what it says about who waits for whom, and the chain of waits in
// sentences.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "lab/faults.hpp"
#include "lab/observer.hpp"
#include "lab/run.hpp"
#include "lab/submit_log.hpp"
#include "window/half_wait.hpp"

namespace heddle::lab {

// A cell, named so that it is the same in every run.
struct CellName {
  std::string window;
  int rank = -1;
  std::int64_t cell = -1;
  auto key() const { return std::tie(window, rank, cell); }
  friend bool operator<(const CellName& left, const CellName& right) { return left.key() < right.key(); }
  std::string text() const;  // cell 3 of "hidden_done" on rank 2
};
CellName name_of(const heddle::detail::SignalRef& signal);

// Which tasks notify which cells, as learned from a run in which every wait was let pass.
class NotifyMap final : public Observer {
 public:
  void notify(const BlockId& block, std::uint64_t, const heddle::detail::SignalRef& signal, std::int64_t, Notify,
              Order) override;
  void half(const BlockId& block, const HalfEvent& event) override;
  void submitted(const TaskFacts& facts) override {
    tasks_[{round_, facts.id.rank, facts.id.serial}] = {facts.name, facts.location};
  }
  void round_begins(std::int64_t round) override { round_ = round; }
  // The tasks that notify a cell in a round, in the order in which they did.
  const std::vector<TaskId>& of(const CellName& cell, std::int64_t round) const;
  // Its name and where it is submitted; an empty name when it was not.
  std::pair<std::string, Location> task(const TaskId& task, std::int64_t round) const {
    const auto found = tasks_.find({round, task.rank, task.serial});
    return found == tasks_.end() ? std::pair<std::string, Location>{} : found->second;
  }
  // Where the halves of a task first do to a count what the wait needs; no file: they do not.
  Location of(const TaskId& task, const window::HalfWait& wait, std::int64_t round) const;

 private:
  using HalfKey = std::tuple<std::int64_t, int, std::uint32_t, bool, bool, bool, std::uint32_t>;
  std::int64_t round_ = 0;
  std::map<std::pair<std::int64_t, CellName>, std::vector<TaskId>> notifiers_;
  std::map<std::tuple<std::int64_t, int, std::uint32_t>, std::pair<std::string, Location>> tasks_;
  std::map<HalfKey, Location> halves_;  // round, rank, task, gives, from the cube, a tile, flag
};

// What a half of a mixed block waits for, and where the other half is.
struct StuckHalf {
  enum class Other : std::uint8_t { nowhere, behind, dispatched, runs, ended };
  window::HalfWait wait;
  std::uint32_t cluster = 0;
  std::uint32_t block = 0, part = 0;  // of the task, and among the block's cores
  std::uint32_t other_part = 0;
  Other other = Other::nowhere;
  std::string other_core;  // where it stands or runs
  // The part of a block that runs on that core, when the other half stands behind it.
  TaskId before;
  std::uint32_t before_part = 0;  // of all the task's parts
  std::string left;               // who has left something in the count, in words
};

struct StuckWait {
  TaskId task;
  std::int64_t block = -1;  // -1: the condition of a task, which holds no core
  std::string core;         // "rank 0 cluster 1 vector 0"; empty: none
  CellName cell;
  std::int64_t has = 0, needs = 0;
  std::string compare;
  std::optional<StuckHalf> half;  // then `cell` means nothing
};

// A core whose task can neither run on nor be given to another core.
struct DeadCore {
  int rank = -1;
  std::string core;
  std::string task;
  std::int64_t block = -1;
  Location location;
  // What it had ended before, and was taken for told after a bound: "task early, block 0"; or empty.
  std::string ended = {};
};

// A task whose blocks start together, and that a scheduler has taken and placed nothing of.
struct StuckGang {
  TaskId task;
  bool drains = false;      // for it: nothing else is handed out
  bool has_failed = false;  // an attempt to place it: others were kept back for it
  bool has_room = false;    // there are idle cores for all of its blocks
  std::int64_t blocks = 0;
  std::int64_t overtook = 0;  // tasks that became ready later, and ran
};

// An agent that asks for something again and again, while nothing is left that could change the answer.
struct Retry {
  int rank = -1;
  std::string agent;
  std::string what;
};

struct Standstill {
  std::shared_ptr<const SubmitLog> log;  // as it was then
  std::int64_t round = 0;
  std::vector<StuckWait> waits;
  std::vector<DeadCore> dead;   // dispatched, and never taken up
  std::vector<DeadCore> gated;  // given a task that may not begin before others end
  std::vector<TaskId> starved;  // ready, but every core that they could run on is held
  std::vector<TaskId> lost;     // of the starved: in no queue, and given to no core
  std::vector<TaskId> idle;     // of the starved: there is an idle core that they could run on
  std::vector<StuckGang> gangs;
  std::vector<Retry> retries;
  // Where the cores stand of each rank that has one which a fault holds.
  std::vector<WorkerRecord> cores;
};

// The wait of a task's part, or null.
const StuckWait* wait_of_part(const Standstill& standstill, TaskId task, std::uint32_t part);

// What is proved of halves that wait for each other, if that is what it comes to.
std::optional<Error> verdict_of_halves(const Standstill& standstill);

// "cube half of scale (rank 0, task 3) block 0"
std::string half_name(const Standstill& standstill, const StuckWait& wait);
// One sentence for a half's wait, and one for why the other half does not end it; that one may be empty.
std::string half_waits(const Standstill& standstill, const StuckWait& wait, const NotifyMap& notifiers);
std::string half_blocked(const Standstill& standstill, const StuckWait& wait);
// The wait that this one waits for, or null.
const StuckWait* after_half(const Standstill& standstill, const StuckWait& wait);

// A fault of the runtime itself that the standstill proves, whatever the program waits for; or none.
std::optional<Error> verdict_of_runtime(const Standstill& standstill);
// How it is called: unless it is one of these, Verdict::unexplained.
std::optional<Verdict> named_fault(const Standstill& standstill);

// The error that the standstill proves, or none when it is an ordinary one of signals and rings.
std::optional<Error> verdict_of(const Standstill& standstill, const FaultBook& faults);

// From the first wait on, until a step comes back to an earlier one or nothing more is known. The last sentence names
// the edge that would make a core deadlock impossible.
std::vector<std::string> chain_of(const Standstill& standstill, const NotifyMap& notifiers);

}  // namespace heddle::lab
