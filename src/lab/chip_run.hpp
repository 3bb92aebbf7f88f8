// SPDX-License-Identifier: Apache-2.0
//
// A run on simulated chips, at program fidelity: the engine, its devices and the rounds.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lab/lab_block.hpp"
#include "lab/program_environment.hpp"
#include "lab/run.hpp"
#include "lab/standstill.hpp"

namespace heddle::host {
extern template class Engine<lab::ProgramEnvironment, lab::ChipBackend<lab::ProgramEnvironment>>;
extern template class Rank<lab::ProgramEnvironment, lab::ChipBackend<lab::ProgramEnvironment>>;
}  // namespace heddle::host

namespace heddle::lab {

class ChipRun final : NetworkSink {
 public:
  // `forces_waits`: at a standstill every wait is let pass, to learn what would have come after it.
  struct Setup {
    std::shared_ptr<ProgramBase> program;
    const RunSpec& spec;
    const chip::Config& chip;
    const LinkTable& links;
    Simulator& simulator;
    Observer* observer = nullptr;
    bool forces_waits = false;
  };
  explicit ChipRun(const Setup& setup);
  ~ChipRun();
  ChipRun(const ChipRun&) = delete;
  ChipRun& operator=(const ChipRun&) = delete;

  // Runs one round, its phases included. False when it failed: then error() says why.
  bool round(std::int64_t number);

  const std::optional<Error>& error() const { return error_; }
  const std::optional<Standstill>& standstill() const { return standstill_; }
  World& world() { return world_; }
  RoundStatistics statistics() const;

 private:
  using E = ProgramEnvironment;
  using Engine = ChipEngine<E>;

  void update_cell(const heddle::detail::SignalRef& signal, std::int64_t value, Notify how) override;
  void memory_changed(int rank, const std::byte* begin, const std::byte* end) override;

  // Does something as an event of the simulator: whom it wakes, it wakes there.
  struct Call final : Event {
    void happen() override { what(); }
    std::function<void()> what;
  };
  Simulator::End run_after(std::function<void()> what);

  bool phase(std::int64_t number, int index);
  bool host_calls(std::int64_t number, int index, bool fill);
  bool graph(std::int64_t number);
  void pass_all_waits();
  std::optional<Error> explain(Engine& engine);
  Standstill describe(Engine& engine);

  std::shared_ptr<ProgramBase> program_;
  const RunSpec& spec_;
  bool forces_waits_;
  World world_;
  ChipPool<E> pool_;
  std::unique_ptr<Engine> engine_;
  E::Parker fence_;
  Call call_;
  std::optional<Error> error_;
  std::optional<Standstill> standstill_;
  std::uint64_t edges_ = 0;
};

}  // namespace heddle::lab
