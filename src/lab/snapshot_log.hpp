// SPDX-License-Identifier: Apache-2.0
//
// What a snapshot of a run on simulated chips tells and its engine does not keep: which blocks stand where, and what
// changed each cell. An observer: it changes nothing.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lab/observer.hpp"
#include "lab/standstill.hpp"
#include "lab/trace_log.hpp"
#include "snapshot/snapshot.hpp"

namespace heddle::lab {

class SnapshotLog final : public Observer {
 public:
  // Set when a run has failed.
  std::optional<snapshot::Snapshot> taken;

  // Before a run: forgets another one.
  void begin(const Simulator& simulator, const chip::Geometry& geometry, int ranks, bool resets_windows);
  void end() { events_.end(); }

  // ---- for the one who takes it
  bool has_begun(TaskId task, std::uint32_t part) const { return is(begun_, task, part); }
  bool has_ended(TaskId task, std::uint32_t part) const { return is(ended_, task, part); }
  std::vector<snapshot::Cell> cells() const;
  std::vector<snapshot::Event> events() const;

  void round_begins(std::int64_t round) override;
  void round_ends() override { events_.round_ends(); }
  void submitted(const TaskFacts& facts) override;
  void block_begins(const BlockId& id, std::uint32_t core) override;
  void block_ends(const BlockId& id) override;
  void put(const BlockId& id, std::uint64_t put_id, const Piece& to, const Piece& from) override;
  void arrived(std::uint64_t put_id) override;
  void get(const BlockId& id, const Piece& to, const Piece& from) override { events_.get(id, to, from); }
  void notify(const BlockId& id, std::uint64_t notify_id, const heddle::detail::SignalRef& signal, std::int64_t value,
              Notify how, Order order) override;
  void notify_arrived(std::uint64_t notify_id) override;
  void line_written_back(const BlockId& id, const Piece& line, std::uint64_t dirty) override;
  void wait_begins(const BlockId& id, const heddle::detail::SignalRef& signal, Compare compare,
                   std::int64_t value) override;
  void wait_satisfied(const BlockId& id, const heddle::detail::SignalRef& signal, Compare compare, std::int64_t value,
                      bool deferred) override;

 private:
  static constexpr std::size_t changes_most = 256;  // of a cell
  static constexpr std::size_t cells_most = 65'536;
  static constexpr std::uint64_t events_most = 256;  // of a rank

  struct CellLog {
    heddle::detail::SignalRef signal;
    std::deque<snapshot::Change> history;
    std::int64_t older = 0;
  };
  struct OfRank {
    std::vector<const char*> names;  // of this round's tasks
    std::vector<std::vector<bool>> begun, ended;
  };
  using Flags = std::vector<std::vector<bool>> OfRank::*;
  struct Extent {
    const std::byte* begin = nullptr;
    const std::byte* end = nullptr;
  };

  bool is(Flags which, TaskId task, std::uint32_t part) const;
  void set(Flags which, const BlockId& id);
  std::uint64_t now() const { return simulator_ == nullptr ? 0 : simulator_->now(); }
  CellLog* cell(const heddle::detail::SignalRef& signal);
  void add(CellLog& cell, snapshot::Change change);
  snapshot::Change change(const BlockId& id, snapshot::ChangeKind kind) const;
  void written(const std::byte* begin, const std::byte* end);

  static constexpr Flags begun_ = &OfRank::begun;
  static constexpr Flags ended_ = &OfRank::ended;

  const Simulator* simulator_ = nullptr;
  bool resets_windows_ = false;
  std::int64_t round_ = 0;
  std::vector<OfRank> ranks_;
  std::map<CellName, CellLog> cells_;
  std::map<const std::byte*, CellLog*> by_address_;                                 // looked up by ranges only
  std::vector<Extent> written_;                                                     // that held no cell then
  std::unordered_map<std::uint64_t, std::pair<CellLog*, std::uint64_t>> notifies_;  // looked up only; cell, number
  std::unordered_map<std::uint64_t, Extent> puts_;                                  // looked up only
  TraceLog events_{events_most};
};

}  // namespace heddle::lab
