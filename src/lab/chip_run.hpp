// SPDX-License-Identifier: Apache-2.0
//
// A run on simulated chips, at the fidelity of its environment: the engine, its devices and the rounds. Whoever
// instantiates it for an environment includes lab/chip_run_impl.hpp.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lab/arrivals.hpp"
#include "lab/lab_block.hpp"
#include "lab/program_environment.hpp"
#include "lab/protocol_environment.hpp"
#include "lab/run.hpp"
#include "lab/snapshot_log.hpp"
#include "lab/standstill.hpp"

namespace heddle::lab {

// `forces_waits`: at a standstill every wait is let pass, to learn what would have come after it.
struct ChipRunSetup {
  std::shared_ptr<ProgramBase> program;
  const RunSpec& spec;
  const chip::Config& chip;
  const LinkTable& links;
  Simulator& simulator;
  Observer* observer = nullptr;
  bool forces_waits = false;
  DispatchLog* records = nullptr;
  SnapshotLog* snapshot = nullptr;
};

template <base::Environment E>
class ChipRun final : NetworkSink {
 public:
  explicit ChipRun(const ChipRunSetup& setup);
  ~ChipRun();
  ChipRun(const ChipRun&) = delete;
  ChipRun& operator=(const ChipRun&) = delete;

  // Runs one round, its phases included. False when it failed: then error() says why.
  bool round(std::int64_t number);
  // The same without the program's fill and check: the ranks' graphs of one phase.
  bool graphs(std::int64_t number);

  const std::optional<Error>& error() const { return error_; }
  const std::optional<Standstill>& standstill() const { return standstill_; }
  World& world() { return world_; }
  ChipEngine<E>& engine() { return *engine_; }
  RoundStatistics statistics() const;
  // Of the run as it is now, unless one was taken of its failure.
  void take_snapshot(snapshot::Taken when);

 private:
  using Engine = ChipEngine<E>;

  void update_cell(std::uint64_t id, const heddle::detail::SignalRef& signal, std::int64_t value, Notify how) override;
  void memory_changed(int rank, const std::byte* begin, const std::byte* end) override;
  void take_effect(const Arrival& arrival);

  // Does something as an event of the simulator. Where agents may be disturbed: when nothing else can happen, and so
  // none of them is in the middle of anything.
  struct Call final : Event {
    void happen() override { what(); }
    std::function<void()> what;
  };
  Simulator::End run_after(std::function<void()> what);
  // A request to stop cancels the round, which then goes on to its end.
  Simulator::End heed(Simulator::End end);

  bool phase(std::int64_t number, int index);
  bool host_calls(std::int64_t number, int index, bool fill);
  bool graph(std::int64_t number);
  void pass_all_waits();
  std::optional<Error> explain(Engine& engine);
  Standstill describe(Engine& engine);
  void describe_starved(int rank, const chip::Snapshot<E>& snapshot, Standstill& still);
  void describe_runtime(int rank, const chip::Snapshot<E>& snapshot, Standstill& still);
  void describe_cores(int rank, const std::map<std::uint32_t, std::string>& held, Standstill& still);
  void look_at_standstill();
  StuckHalf describe_half(int rank, const window::WaitNode& node);

  std::shared_ptr<ProgramBase> program_;
  const RunSpec& spec_;
  bool forces_waits_;
  World world_;
  ChipPool<E> pool_;
  std::unique_ptr<Engine> engine_;
  std::vector<std::unique_ptr<Arrivals<E>>> arrivals_;  // per rank, where agents may be disturbed
  E::Parker fence_;
  Call call_;
  std::optional<Error> error_;
  std::optional<Standstill> standstill_;
  SnapshotLog* snapshot_ = nullptr;
  std::uint64_t edges_ = 0;
  std::uint64_t cancellations_ = 0;
};

extern template class ChipRun<ProgramEnvironment>;
extern template class ChipRun<ProtocolEnvironment>;

}  // namespace heddle::lab
