// SPDX-License-Identifier: Apache-2.0
//
// How a run on simulated chips goes: part of chip_run.hpp.
#pragma once

#include <stdexcept>
#include <utility>

#include "host/engine_impl.hpp"
#include "lab/chip_run_standstill.hpp"
#include "lab/host_calls.hpp"
#include "lab/snapshot_take.hpp"

namespace heddle::lab {

namespace chip_run {

// What a cancelled run may still need standstills for, before it is given up.
inline constexpr int standstills_most = 16;
inline constexpr int forced_most = 100'000;

inline SessionConfig session_of(const RunSpec& spec) {
  SessionConfig session = spec.session;
  session.recorder = false;
  session.checked = spec.check && spec.values;
  return session;
}

}  // namespace chip_run

template <base::Environment E>
ChipRun<E>::ChipRun(const ChipRunSetup& setup)
    : program_(setup.program),
      spec_(setup.spec),
      forces_waits_(setup.forces_waits),
      world_(setup.simulator, setup.chip, setup.links, setup.spec, *this, setup.observer),
      pool_(world_) {
  world_.records = setup.records;
  snapshot_ = setup.snapshot;
  world_.faults.draw([&](const char* label, std::uint32_t alternatives) {
    return setup.simulator.choose(label, ChoiceKind::fault, alternatives);
  });
  engine_ =
      std::make_unique<Engine>(pool_, program_, host::plan_ranks(*program_, spec_.ranks), chip_run::session_of(spec_));
  pool_.explain_standstill = [this](Engine& engine, const std::vector<WaitRecord>&) { return explain(engine); };
  pool_.start(*engine_);
  if constexpr (E::disturbed) {
    for (int r = 0; r < spec_.ranks; ++r)
      arrivals_.push_back(std::make_unique<Arrivals<E>>(world_.simulator, "rank " + std::to_string(r) + " network",
                                                        [this](const Arrival& arrival) { take_effect(arrival); }));
  }
}

// Agents that a fault holds are abandoned where they stand.
template <base::Environment E>
ChipRun<E>::~ChipRun() {
  try {
    auto end = run_after([this] {
      pool_.stop();
      for (auto& arrivals : arrivals_) arrivals->stop();
    });
    while (end == Simulator::End::interrupted) end = world_.simulator.run();
  } catch (const std::logic_error&) {  // NOLINT(bugprone-empty-catch): what it tells has been told
    // The same that ended the run: an agent let an exception out.
  }
}

template <base::Environment E>
Simulator::End ChipRun<E>::run_after(std::function<void()> what) {
  call_.what = std::move(what);
  world_.simulator.at(world_.simulator.now(), call_);
  return world_.simulator.run();
}

template <base::Environment E>
Simulator::End ChipRun<E>::heed(Simulator::End end) {
  const auto cancel = [this] { engine_->cancel_all(Error(Code::user_error, "the run was cancelled")); };
  while (end == Simulator::End::interrupted) {
    if (engine_->finished()) {
      end = world_.simulator.run();
    } else if constexpr (E::disturbed) {
      // Agents may be in the middle of anything, with a lock held.
      world_.simulator.spawn("host " + std::to_string(cancellations_++), cancel);
      end = world_.simulator.run();
    } else {
      end = run_after(cancel);
    }
  }
  return end;
}

template <base::Environment E>
void ChipRun<E>::update_cell(std::uint64_t id, const heddle::detail::SignalRef& signal, std::int64_t value,
                             Notify how) {
  const Arrival arrival{signal.rank, true, id, signal, value, how, nullptr, nullptr};
  if constexpr (E::disturbed) {
    arrivals_[static_cast<std::size_t>(signal.rank)]->add(arrival);
  } else {
    take_effect(arrival);
  }
}

template <base::Environment E>
void ChipRun<E>::memory_changed(int rank, const std::byte* begin, const std::byte* end) {
  const Arrival arrival{rank, false, 0, {}, 0, Notify::set, begin, end};
  if constexpr (E::disturbed) {
    arrivals_[static_cast<std::size_t>(rank)]->add(arrival);
  } else {
    take_effect(arrival);
  }
}

template <base::Environment E>
void ChipRun<E>::take_effect(const Arrival& arrival) {
  world_.touch(arrival.rank);
  if (!arrival.is_notify) {
    engine_->memory_changed(arrival.rank, arrival.begin, arrival.end);
    return;
  }
  E::step();
  // Told and applied in one step: whoever sees the new value sees it after it has arrived.
  if (world_.observer != nullptr) world_.observer->notify_arrived(arrival.id);
  window::update<ProgramEnvironment>(arrival.signal, arrival.value, arrival.how);
  engine_->rank(arrival.rank).waits().notified(arrival.signal.cell, [this](window::WaitNode& node) {
    engine_->wake(node);
  });
}

template <base::Environment E>
bool ChipRun<E>::round(std::int64_t number) {
  for (int index = 0; index < program_->phases(); ++index)
    if (!phase(number, index)) return false;
  return true;
}

template <base::Environment E>
bool ChipRun<E>::phase(std::int64_t number, int index) {
  if (!host_calls(number, index, true) || !graphs(number)) return false;
  return !spec_.check || !spec_.values || host_calls(number, index, false);
}

template <base::Environment E>
bool ChipRun<E>::graphs(std::int64_t number) {
  if (spec_.session.reset_windows) engine_->windows().list().zero();
  world_.log.begin_round();
  if (world_.records != nullptr) world_.records->begin_graph();
  if (world_.observer != nullptr) world_.observer->round_begins(number);
  if (!graph(number)) return false;
  if (world_.observer != nullptr) world_.observer->round_ends();
  return true;
}

template <base::Environment E>
bool ChipRun<E>::host_calls(std::int64_t number, int index, bool fill) {
  const auto io = [this](int rank) -> const heddle::detail::IoTable& { return engine_->rank(rank).io(); };
  error_ = call_program(*program_, fill ? HostCall::fill : HostCall::check, spec_.ranks, number, index, io);
  return !error_;
}

template <base::Environment E>
bool ChipRun<E>::graph(std::int64_t number) {
  world_.last_progress = world_.simulator.now();
  // A run goes on until nothing is left that could happen: also what was on its way when the last task ended.
  auto end = heed(run_after([&] { engine_->start_round(number, fence_); }));
  for (int standstills = 0; !engine_->finished() && end == Simulator::End::idle; ++standstills) {
    if (standstills == (forces_waits_ ? chip_run::forced_most : chip_run::standstills_most)) break;
    const std::uint64_t before = world_.simulator.events();
    end = heed(run_after([this] { forces_waits_ ? pass_all_waits() : look_at_standstill(); }));
    if (world_.simulator.events() <= before + 1) break;  // nothing came of it
  }
  if (end == Simulator::End::event_limit) {
    error_ = Error(Code::no_progress, "the run reached its limit of events").in_round(number);
    return false;
  }
  for (int r = 0; r < spec_.ranks; ++r) edges_ += engine_->rank(r).core().edges();
  error_ = engine_->first_error();
  if (!error_ && !engine_->windows().list().all_equal()) error_ = engine_->windows().list().mismatch().in_round(number);
  if (!error_ && !engine_->finished())
    error_ = Error(Code::no_progress, "nothing can happen any more, and no wait explains it").in_round(number);
  return !error_;
}

template <base::Environment E>
void ChipRun<E>::pass_all_waits() {
  for (int r = 0; r < spec_.ranks; ++r)
    engine_->rank(r).waits().release_all([this](window::WaitNode& node) { engine_->wake(node); });
}

// Before anything is done about it. What follows a failure is kept as it was when everything first stood still.
template <base::Environment E>
void ChipRun<E>::look_at_standstill() {
  const bool has_failed = engine_->first_error().has_value();
  if (snapshot_ != nullptr && !(has_failed && snapshot_->taken)) take_snapshot(snapshot::Taken::standstill);
  pool_.standstill();
  // It only looked like one: an ordinary store had changed a cell.
  if (snapshot_ != nullptr && !engine_->first_error()) snapshot_->taken.reset();
}

template <base::Environment E>
void ChipRun<E>::take_snapshot(snapshot::Taken when) {
  snapshot_->taken = SnapshotTaker<E>(*engine_, world_, *snapshot_).take(when);
}

template <base::Environment E>
std::optional<Error> ChipRun<E>::explain(Engine& engine) {
  standstill_ = describe(engine);
  return verdict_of(*standstill_, world_.faults);
}

template <base::Environment E>
RoundStatistics ChipRun<E>::statistics() const {
  RoundStatistics sum;
  sum.tasks = world_.log.count();
  sum.blocks = world_.blocks_run;
  sum.puts = world_.network.puts;
  sum.put_bytes = world_.network.put_bytes;
  sum.notifies = world_.network.notifies;
  sum.waits_parked = world_.waits_parked;
  sum.edges = edges_;
  return sum;
}

}  // namespace heddle::lab
