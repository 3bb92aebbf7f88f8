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
#include <vector>

#include "lab/faults.hpp"
#include "lab/observer.hpp"
#include "lab/submit_log.hpp"

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
  void round_begins(std::int64_t round) override { round_ = round; }
  // The tasks that notify a cell in a round, in the order in which they did.
  const std::vector<TaskId>& of(const CellName& cell, std::int64_t round) const;

 private:
  std::int64_t round_ = 0;
  std::map<std::pair<std::int64_t, CellName>, std::vector<TaskId>> notifiers_;
};

struct StuckWait {
  TaskId task;
  std::int64_t block = -1;  // -1: the condition of a task, which holds no core
  std::string core;         // "rank 0 cluster 1 vector 0"; empty: none
  CellName cell;
  std::int64_t has = 0, needs = 0;
  std::string compare;
};

// A core whose task can neither run on nor be given to another core.
struct DeadCore {
  int rank = -1;
  std::string core;
  std::string task;
  std::int64_t block = -1;
  Location location;
};

struct Standstill {
  std::shared_ptr<const SubmitLog> log;  // as it was then
  std::int64_t round = 0;
  std::vector<StuckWait> waits;
  std::vector<DeadCore> dead;   // dispatched, and never taken up
  std::vector<TaskId> starved;  // ready, but every core that they could run on is held
};

// The error that the standstill proves, or none when it is an ordinary one of signals and rings.
std::optional<Error> verdict_of(const Standstill& standstill, const FaultBook& faults);

// From the first wait on, until a step comes back to an earlier one or nothing more is known. The last sentence names
// the edge that would make a core deadlock impossible.
std::vector<std::string> chain_of(const Standstill& standstill, const NotifyMap& notifiers);

}  // namespace heddle::lab
