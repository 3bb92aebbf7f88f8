// SPDX-License-Identifier: Apache-2.0
//
// The checkers of a lab run: an observer that keeps what it is told in one picture of the round, and asks each checker
// that was named. The first finding stands; after it nothing is looked at any more.
//
// What it expects of the feed, besides what observer.hpp says:
// - `completed` comes no later than the orchestrator can see that the task has completed;
// - a block that takes several cores is told as that many blocks: `blocks` of TaskFacts counts them;
// - a store that passes no cache is a scalar_write and a line_written_back of its bytes;
// - `round_ends` is for rounds that ended well; a run that stops otherwise calls stopped().
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "lab/checkers/checker.hpp"
#include "lab/observer.hpp"

namespace heddle::lab {

class CheckerSet final : public Observer {
 public:
  // Throws invalid_argument for a name that is not one of checker_names().
  CheckerSet(const std::vector<std::string>& names, int ranks);
  ~CheckerSet() override;

  std::optional<Finding> first() const { return context_.finding; }
  // The run ended in the middle of a round: what a checker keeps for the round's end is looked at now.
  void stopped();

  void round_begins(std::int64_t round) override;
  void round_ends() override;
  void submitted(const TaskFacts& facts) override;
  void completed(TaskId id) override;
  void block_begins(const BlockId& id, std::uint32_t core) override;
  void block_ends(const BlockId& id) override;
  void put(const BlockId& id, std::uint64_t put_id, const Piece& to, const Piece& from) override;
  void arrived(std::uint64_t put_id) override;
  void get(const BlockId& id, const Piece& to, const Piece& from) override;
  void scalar_read(const BlockId& id, const Piece& piece, bool from_cache) override;
  void scalar_write(const BlockId& id, const Piece& piece) override;
  void line_written_back(const BlockId& id, const Piece& line, std::uint64_t dirty) override;
  void notify(const BlockId& id, std::uint64_t notify_id, const heddle::detail::SignalRef& signal, std::int64_t value,
              Notify how, Order order) override;
  void notify_arrived(std::uint64_t notify_id) override;
  void fence(const BlockId& id, int peer) override;
  void wait_satisfied(const BlockId& id, const heddle::detail::SignalRef& signal, Compare compare, std::int64_t value,
                      bool deferred) override;
  void half(const BlockId& id, const HalfEvent& event) override;

 private:
  bool idle() const { return checkers_.empty() || context_.finding.has_value(); }
  checkers::BlockIndex find(const BlockId& id) const { return idle() ? checkers::none : context_.order.find(id); }
  checkers::Access access_of(checkers::Access::Kind kind, checkers::BlockIndex block, std::uint32_t op,
                             const Piece& piece, bool write) const;
  checkers::AccessIndex access(const checkers::Access& access);
  bool is_inferred(const checkers::Access& access) const;
  void use_arguments(checkers::TaskIndex task);
  void write_runs(checkers::BlockIndex block, std::uint32_t op, const Piece& line, std::uint64_t dirty);
  bool join_read(const checkers::Access& access);
  // The signal cells that share a byte with a region.
  template <class Visit>
  void for_cells_in(const graph::Region& region, Visit&& visit) {
    context_.order.for_cells(region.base, region.end(), [&](checkers::CellIndex cell) {
      const heddle::detail::SignalRef& signal = context_.order.cell(cell).signal;
      const graph::Region bytes = graph::Region::contiguous(signal.cell, signal.wide ? 8 : 4);
      if (graph::overlaps(bytes, region, context_.overlaps)) visit(cell);
    });
  }

  checkers::Context context_;
  std::vector<std::unique_ptr<checkers::Checker>> checkers_;
  bool keeps_accesses_ = false;  // somebody asks for all of them
  bool keeps_writes_ = false;    // somebody asks for puts and stores
  bool keeps_lines_ = false;
  std::uint64_t half_gifts_ = 0;                                   // numbers them
  std::unordered_map<std::uint64_t, checkers::AccessIndex> puts_;  // on their way; looked up only
};

}  // namespace heddle::lab
