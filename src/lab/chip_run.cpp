// SPDX-License-Identifier: Apache-2.0
#include "lab/chip_run.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "host/engine_impl.hpp"
#include "lab/host_calls.hpp"

namespace heddle::host {
template class Engine<lab::ProgramEnvironment, lab::ChipBackend<lab::ProgramEnvironment>>;
template class Rank<lab::ProgramEnvironment, lab::ChipBackend<lab::ProgramEnvironment>>;
}  // namespace heddle::host

namespace heddle::lab {

namespace {

// What a cancelled run may still need standstills for, before it is given up.
constexpr int standstills_most = 16;
constexpr int forced_most = 100'000;

SessionConfig session_of(const RunSpec& spec) {
  SessionConfig session = spec.session;
  session.recorder = false;
  session.checked = spec.check && spec.values;
  return session;
}

}  // namespace

ChipRun::ChipRun(const Setup& setup)
    : program_(setup.program),
      spec_(setup.spec),
      forces_waits_(setup.forces_waits),
      world_(setup.simulator, setup.chip, setup.links, setup.spec, *this, setup.observer),
      pool_(world_) {
  world_.faults.draw([&](const char* label, std::uint32_t alternatives) {
    return setup.simulator.choose(label, ChoiceKind::fault, alternatives);
  });
  engine_ = std::make_unique<Engine>(pool_, program_, host::plan_ranks(*program_, spec_.ranks), session_of(spec_));
  pool_.explain_standstill = [this](Engine& engine, const std::vector<WaitRecord>&) { return explain(engine); };
  pool_.start(*engine_);
}

// Agents that a fault holds are abandoned where they stand.
ChipRun::~ChipRun() {
  (void)run_after([this] { pool_.stop(); });
}

Simulator::End ChipRun::run_after(std::function<void()> what) {
  call_.what = std::move(what);
  world_.simulator.at(world_.simulator.now(), call_);
  return world_.simulator.run();
}

void ChipRun::update_cell(const heddle::detail::SignalRef& signal, std::int64_t value, Notify how) {
  world_.touch(signal.rank);
  window::update<E>(signal, value, how);
  engine_->rank(signal.rank).waits().notified(signal.cell, [this](window::WaitNode& node) { engine_->wake(node); });
}

void ChipRun::memory_changed(int rank, const std::byte* begin, const std::byte* end) {
  world_.touch(rank);
  engine_->memory_changed(rank, begin, end);
}

bool ChipRun::round(std::int64_t number) {
  for (int index = 0; index < program_->phases(); ++index)
    if (!phase(number, index)) return false;
  return true;
}

bool ChipRun::phase(std::int64_t number, int index) {
  if (!host_calls(number, index, true)) return false;
  if (spec_.session.reset_windows) engine_->windows().list().zero();
  world_.log.begin_round();
  if (world_.observer != nullptr) world_.observer->round_begins(number);
  if (!graph(number)) return false;
  if (world_.observer != nullptr) world_.observer->round_ends();
  return !spec_.check || !spec_.values || host_calls(number, index, false);
}

bool ChipRun::host_calls(std::int64_t number, int index, bool fill) {
  const auto io = [this](int rank) -> const heddle::detail::IoTable& { return engine_->rank(rank).io(); };
  error_ = call_program(*program_, fill ? HostCall::fill : HostCall::check, spec_.ranks, number, index, io);
  return !error_;
}

bool ChipRun::graph(std::int64_t number) {
  world_.last_progress = world_.simulator.now();
  // A run goes on until nothing is left that could happen: also what was on its way when the last task ended.
  auto end = run_after([&] { engine_->start_round(number, fence_); });
  for (int standstills = 0; !engine_->finished() && end == Simulator::End::idle; ++standstills) {
    if (standstills == (forces_waits_ ? forced_most : standstills_most)) break;
    const std::uint64_t before = world_.simulator.events();
    end = run_after([this] { forces_waits_ ? pass_all_waits() : pool_.standstill(); });
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

void ChipRun::pass_all_waits() {
  for (int r = 0; r < spec_.ranks; ++r)
    engine_->rank(r).waits().release_all([this](window::WaitNode& node) { engine_->wake(node); });
}

std::optional<Error> ChipRun::explain(Engine& engine) {
  standstill_ = describe(engine);
  return verdict_of(*standstill_, world_.faults);
}

Standstill ChipRun::describe(Engine& engine) {
  Standstill still;
  still.log = std::make_shared<const SubmitLog>(world_.log.frozen());
  for (int r = 0; r < spec_.ranks; ++r) {
    still.round = engine.rank(r).round();
    engine.rank(r).waits().for_each([&](const window::WaitNode& node) {
      if (node.signal.window->bytes == 0) return;  // a core that a fault holds
      const auto& slot = *static_cast<const graph::Slot<E>*>(node.task);
      StuckWait wait;
      wait.task = {r, slot.number};
      wait.block = node.deferred ? -1 : node.block;
      if (!node.deferred) wait.core = pool_.core_name(r, static_cast<const LabFiber<E>*>(node.waiter)->core);
      wait.cell = name_of(node.signal);
      wait.has = window::load<E>(node.signal);
      wait.needs = node.value;
      wait.compare = base::sign_of(node.compare);
      still.waits.push_back(std::move(wait));
    });
    const auto snapshot = pool_.device(r).snapshot();
    for (const auto& core : snapshot.cores) {
      if (!core.withholds) continue;
      const auto& given = core.pending ? core.pending : core.running;
      if (!given) continue;
      still.dead.push_back({r, pool_.core_name(r, core.core), given.slot->name, given.block, given.slot->location});
    }
    for (std::uint32_t n = 0; n < world_.log.tasks(r); ++n) {
      const LoggedTask& task = world_.log.task(r, n);
      if (task.ready && !task.complete && task.begun < task.parts) still.starved.push_back({r, n});
    }
  }
  std::sort(still.waits.begin(), still.waits.end(), [](const StuckWait& left, const StuckWait& right) {
    return std::tie(left.task.rank, left.task.serial, left.block, left.cell.cell) <
           std::tie(right.task.rank, right.task.serial, right.block, right.cell.cell);
  });
  return still;
}

RoundStatistics ChipRun::statistics() const {
  RoundStatistics sum;
  sum.tasks = world_.log.count();
  sum.blocks = world_.blocks_run;
  sum.puts = world_.network.puts;
  sum.put_bytes = world_.network.put_bytes;
  sum.notifies = world_.network.notifies;
  sum.edges = edges_;
  return sum;
}

}  // namespace heddle::lab
