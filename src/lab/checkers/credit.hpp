// SPDX-License-Identifier: Apache-2.0
//
// A wait that passed on credit: what satisfied it had been waited for before, and the notify that it should have waited
// for came later, ordered with nothing.
//
// A wait is suspect when it asks for no more than an earlier wait on the cell has already seen (the cell not cleared in
// between), and its value holds no notify of this round that an earlier wait, ordered before it, did not acquire. The
// suspicion stands when a notify of this round, not ordered after the wait, comes to the cell later and no wait asks
// for more because of it. So counters that only grow, and credits that flow back, are never accused. Whether a later
// wait asks for more is known when the round ends.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "lab/checkers/checker.hpp"

namespace heddle::lab::checkers {

class Credit final : public Checker {
 public:
  using Checker::Checker;
  void round_begins() override;
  void round_ends() override { settle(); }
  void stopped() override { settle(); }
  void notify_arrived(NotifyIndex notify) override;
  void overwrites(CellIndex cell, BlockIndex block, std::uint32_t op, int peer) override;
  void waited(AcquireIndex acquire) override;

 private:
  struct Suspect {
    AcquireIndex wait = none;
    std::optional<Origin> old;  // of an earlier round, that satisfied it
  };
  struct Cell {
    std::optional<std::int64_t> seen;                           // the most that a wait asked for, at least
    std::vector<std::pair<Compare, std::int64_t>> seen_others;  // other conditions that a wait saw
    std::vector<AcquireIndex> waits;                            // of this round
    std::vector<Suspect> suspects;                              // of this round
    Tick asked_more = 0;                                        // when a wait last asked for more than any before
    void forget() {
      seen.reset();
      seen_others.clear();
    }
  };
  Cell& cell_at(CellIndex cell);
  static bool asks_again(Cell& cell, Compare compare, std::int64_t value);
  bool is_acquired(const Cell& cell, const AcquireNode& wait);
  void settle();
  NotifyIndex missed(const Cell& cell, const AcquireNode& wait);

  std::vector<Cell> cells_;
  std::vector<CellIndex> touched_;  // in this round
};

}  // namespace heddle::lab::checkers
