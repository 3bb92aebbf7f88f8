// SPDX-License-Identifier: Apache-2.0
//
// What a run on simulated chips did, in virtual time, for the Perfetto UI: an observer that keeps the newest records of
// each rank. Names are kept as numbers, so that a trace outlives its run, and nothing is kept by its address: equal
// runs make equal files.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "chip/geometry.hpp"
#include "lab/observer.hpp"
#include "lab/simulator.hpp"
#include "lab/trace_chain.hpp"

namespace heddle::lab {

// Something that took from `start` to `end`, ns of virtual time.
struct TraceRecord {
  // submit: of a task, by its orchestrator. arrival: of a put or a notify, in the memory of the record's rank.
  // condition: of a task that completes when it holds. The others are a block's.
  enum class Kind : std::uint8_t { block, wait, put, get, notify, arrival, condition, submit };
  static constexpr std::uint32_t no_core = UINT32_MAX, no_name = UINT32_MAX;
  static constexpr std::uint64_t no_link = UINT64_MAX;

  std::uint64_t start = 0, end = 0;
  std::uint64_t link = no_link;    // of a put or notify: its own; of what it led to: the same
  std::int64_t value = 0;          // bytes of a copy, the value of a notify or wait, the blocks of a task
  std::int64_t cell = -1;          // of the window
  std::uint32_t name = no_name;    // of the task
  std::uint32_t window = no_name;  // name of the window that the cell lies in
  std::uint32_t task = 0, block = 0;
  std::uint32_t core = no_core;  // of the rank
  std::int32_t peer = -1;        // the other rank of a copy; the cell's rank
  Kind kind = Kind::block;
  Compare compare = Compare::eq;
  bool complete = true;  // false: it was cancelled, or had not ended when the run did
};

class TraceLog final : public Observer {
 public:
  struct Round {
    std::int64_t number = 0;
    std::uint64_t start = 0, end = 0;
    bool complete = false;
  };

  // Keeps so many records of each rank, and as many rounds.
  explicit TraceLog(std::uint64_t most) : most_(most) {}
  TraceLog(const TraceLog&) = delete;
  TraceLog& operator=(const TraceLog&) = delete;
  // Before a run: forgets another one. The simulator tells the time until end().
  void begin(const Simulator& simulator, const chip::Geometry& geometry, int ranks);
  void end();

  // Replaces the file. Throws invalid_argument when it cannot be opened and user_error when it cannot be written whole,
  // with the path and the system's reason; then what was written of it is removed.
  void write(const std::string& path, const TraceChain& chain = {}) const;

  std::uint64_t written() const { return written_; }
  std::uint64_t dropped() const { return dropped_; }

  // ---- for the writer: what is kept, and what had not ended by now
  const chip::Geometry& geometry() const { return geometry_; }
  int ranks() const { return static_cast<int>(ranks_.size()); }
  std::vector<TraceRecord> records(int rank) const;
  std::vector<Round> rounds() const;
  const std::string& name(std::uint32_t number) const;

  void round_begins(std::int64_t round) override;
  void round_ends() override;
  void submitted(const TaskFacts& facts) override;
  void block_begins(const BlockId& id, std::uint32_t core) override;
  void block_ends(const BlockId& id) override;
  void put(const BlockId& id, std::uint64_t put_id, const Piece& to, const Piece& from) override;
  void arrived(std::uint64_t put_id) override;
  void get(const BlockId& id, const Piece& to, const Piece& from) override;
  void notify(const BlockId& id, std::uint64_t notify_id, const heddle::detail::SignalRef& signal, std::int64_t value,
              Notify how, Order order) override;
  void notify_arrived(std::uint64_t notify_id) override;
  void wait_begins(const BlockId& id, const heddle::detail::SignalRef& signal, Compare compare,
                   std::int64_t value) override;
  void wait_satisfied(const BlockId& id, const heddle::detail::SignalRef& signal, Compare compare, std::int64_t value,
                      bool deferred) override;

 private:
  // A block that runs, and its wait if it waits.
  struct Running {
    TraceRecord block, wait;
    bool runs = false, waits = false;
  };
  struct OfRank {
    std::deque<TraceRecord> records;                        // in the order in which they ended
    std::vector<std::uint32_t> names;                       // of this round's tasks
    std::vector<Running> cores;                             // by core
    std::unordered_map<std::uint64_t, std::uint32_t> runs;  // task and block → core; looked up only
  };
  // On its way: where it arrives, and what is told of it then.
  struct Flight {
    int rank = -1;
    TraceRecord record;
    const void* cell = nullptr;
  };

  static std::uint64_t key_of(const BlockId& id) { return std::uint64_t{id.task.serial} << 32U | id.block; }
  OfRank& of(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  std::uint64_t now() const { return simulator_ != nullptr ? simulator_->now() : ended_at_; }
  std::uint32_t number_of(const char* name);
  TraceRecord record(TraceRecord::Kind kind, const BlockId& id);
  void set_cell(TraceRecord& record, const heddle::detail::SignalRef& signal);
  Running* running(const BlockId& id);
  void keep(int rank, const TraceRecord& record);
  void arrive(std::uint64_t link);
  void clear();

  std::uint64_t most_;
  const Simulator* simulator_ = nullptr;
  std::uint64_t ended_at_ = 0;
  chip::Geometry geometry_;
  std::vector<OfRank> ranks_;
  std::deque<Round> rounds_;
  std::map<std::string, std::uint32_t, std::less<>> numbers_;  // of the names
  std::vector<const std::string*> names_;                      // by number; they stand in numbers_
  std::unordered_map<std::uint64_t, Flight> flights_;          // by link; looked up only
  std::unordered_map<const void*, std::uint64_t> last_;        // the notify that a cell was changed by; looked up only
  std::uint64_t written_ = 0, dropped_ = 0;
};

}  // namespace heddle::lab
