// SPDX-License-Identifier: Apache-2.0
#include "lab/run.hpp"

#include <algorithm>
#include <utility>

#include "base/sanitizer.hpp"
#include "graph/room.hpp"
#include "host/session_checks.hpp"
#include "lab/checkers/checkers.hpp"
#include "lab/chip_run.hpp"
#include "lab/chips/chips.hpp"
#include "lab/host_run.hpp"
#include "lab/observer_set.hpp"
#include "lab/snapshot_finish.hpp"
#include "lab/strategies/default.hpp"
#include "lab/trace_log.hpp"
#include "lab/verdicts.hpp"

#if HEDDLE_ASAN
#include <sanitizer/lsan_interface.h>
#endif

namespace heddle::lab {

namespace {

// A pause longer than this, in virtual time, is told.
constexpr std::uint64_t slow_ns = 1'000'000'000;
constexpr std::int64_t rehearsals_most = 64;  // rounds

std::string seconds(std::uint64_t ns) {
  const std::string millis = std::to_string(ns / 1'000'000 % 1'000);
  return std::to_string(ns / 1'000'000'000) + "." + std::string(3 - millis.size(), '0') + millis + " s";
}

// Which tasks would notify what the stuck ones wait for: from a run on the ideal chip in which every wait is let pass.
NotifyMap rehearse(const std::shared_ptr<ProgramBase>& program, RunSpec spec, std::int64_t round) {
  NotifyMap notifiers;
  spec.faults.clear();
  spec.check = false;
  spec.chip = "ideal";
  spec.chip_set.clear();
  const chip::Config chip = chip_config(spec.chip, spec.chip_set);
  const LinkTable links;
  DefaultStrategy strategy;
  strategy.begin(0, 0);
  Simulator simulator(strategy);
  ChipRun<ProgramEnvironment> run({program, spec, chip, links, simulator, &notifiers, true});
  for (std::int64_t r = round < rehearsals_most ? 0 : round; r <= round; ++r) (void)run.round(r);
  return notifiers;
}

bool holds_cores(const Standstill& still, int rank) {
  return std::any_of(still.waits.begin(), still.waits.end(),
                     [&](const StuckWait& wait) { return wait.task.rank == rank && !wait.core.empty(); }) ||
         std::any_of(still.gated.begin(), still.gated.end(), [&](const DeadCore& gate) { return gate.rank == rank; });
}

// A task that is ready while nothing of its rank holds a core, or one that it could run on is idle, and nothing was put
// in that holds one: all that it needs is there, and still nobody hands it out. That is no program's doing, whatever
// else waits for it.
std::optional<Error> never_handed_out(const Standstill& still, const FaultBook& faults) {
  if (!still.dead.empty() || verdict_of_runtime(still) || !faults.struck().empty()) return std::nullopt;
  for (const TaskId id : still.starved) {
    const bool has_core = std::find(still.idle.begin(), still.idle.end(), id) != still.idle.end();
    const bool held = holds_cores(still, id.rank);
    if (held && !has_core) continue;
    const LoggedTask& task = still.log->task(id.rank, id.serial);
    return Error(Code::no_progress, "task " + std::string(task.name) + " of rank " + std::to_string(id.rank) +
                                        " is ready, " +
                                        (held ? "a core that it could run on is idle" : "no core is held by a wait") +
                                        ", and no scheduler hands it out")
        .at_rank(id.rank)
        .at_task(task.name, -1, task.location)
        .with_hint("this is a fault of the runtime: please report it");
  }
  return std::nullopt;
}

// Puts a checker's finding and the engine's error together: the one that came first stands, except that a proved
// deadlock is told as what it is, with the finding as its cause.
template <base::Environment E>
void settle(RunResult& result, ChipRun<E>& run, const std::optional<Finding>& finding,
            const std::shared_ptr<ProgramBase>& program, const RunSpec& spec) {
  result.error = run.error();
  if (result.error) result.verdict = verdict_for(result.error->code());
  // Nothing was dropped, and still nothing goes on: that is no program's doing.
  const auto& still = run.standstill();
  const bool was_dropped = still && !still->dead.empty();
  if (result.verdict == Verdict::no_progress && !was_dropped)
    result.verdict = (still ? named_fault(*still) : std::nullopt).value_or(Verdict::unexplained);
  if (result.verdict == Verdict::deadlock || result.verdict == Verdict::unexplained) {
    if (std::optional<Error> own = still ? never_handed_out(*still, run.world().faults) : std::nullopt) {
      if (result.error) own->attach(*result.error);
      result.error = std::move(own);
      result.verdict = Verdict::unexplained;
    }
  }
  if (result.verdict == Verdict::deadlock && still && !still->waits.empty())
    result.chain = chain_of(*still, rehearse(program, spec, still->round));
  if (finding) {
    // Of a deadlock that comes of a flag that was left unbalanced, the kernel that left it is the culprit.
    const bool explains = finding->error.code() == Code::flags_unbalanced;
    if (result.error && result.verdict == Verdict::deadlock && !explains) {
      result.chain.push_back("before that, " + finding->error.message());
    } else {
      Error first = finding->error;
      if (result.error) first.attach(*result.error);
      result.error = std::move(first);
      result.verdict = verdict_for(result.error->code());
    }
  }
}

void tell(RunResult& result, const World& world) {
  if (result.error) {
    result.sentence = std::string(result.error->name()) + ": " + result.error->message();
    return;
  }
  if (world.longest_pause < slow_ns) {
    result.sentence = "every round ended and every check passed";
    return;
  }
  result.verdict = Verdict::slow;
  result.sentence =
      "no block ended for " + seconds(world.longest_pause) + ", from " + seconds(world.pause_began) + " on";
  for (const StruckFault& struck : world.faults.struck()) result.sentence += "; " + struck.where;
}

// A run that failed without coming to a standstill is told as it is now.
template <base::Environment E>
void finish(SnapshotLog& log, const RunResult& result, ChipRun<E>& run, const std::shared_ptr<ProgramBase>& program,
            const RunSpec& spec) {
  const bool stood_still = log.taken && result.verdict != Verdict::race && result.verdict != Verdict::stale_read;
  if (result.passed()) {
    log.taken.reset();
  } else {
    if (!stood_still) run.take_snapshot(snapshot::Taken::failure);
    const std::int64_t round = result.rounds_done;
    std::optional<NotifyMap> notifiers;
    if (log.taken->taken == snapshot::Taken::standstill) notifiers = rehearse(program, spec, round);
    finish_snapshot(*log.taken, spec, result, run.world().faults, notifiers ? &*notifiers : nullptr, round);
  }
  log.end();
}

template <base::Environment E>
RunResult run_chips(const std::shared_ptr<ProgramBase>& program, const RunSpec& spec, const chip::Config& chip,
                    Simulator& simulator, const RunWatch& watch) {
  TraceLog* const trace = watch.trace;
  std::optional<CheckerSet> checkers;
  if (!spec.checkers.empty()) checkers.emplace(spec.checkers, spec.ranks);
  ObserverSet watching;
  if (checkers) watching.add(*checkers);
  if (trace != nullptr) {
    trace->begin(simulator, chip.geometry, spec.ranks);
    watching.add(*trace);
  }
  if (watch.snapshot != nullptr) {
    watch.snapshot->begin(simulator, chip.geometry, spec.ranks, spec.session.reset_windows);
    watching.add(*watch.snapshot);
  }
  const LinkTable links = surroundings_of(spec.chip_set).links;
  RunResult result;
  ChipRun<E> run({program, spec, chip, links, simulator, watching.get(), false, watch.records, watch.snapshot});
  std::optional<Finding> finding;
  for (std::int64_t round = 0; round < spec.rounds; ++round) {
    const bool passed = run.round(round);
    if (checkers) {
      if (!passed) checkers->stopped();
      finding = checkers->first();
    }
    if (!passed || finding) break;
    ++result.rounds_done;
  }
  World& world = run.world();
  result.statistics = run.statistics();
  result.virtual_ns = simulator.now();
  result.trace_hash = simulator.hash();
  result.events = simulator.events();
  result.choices = simulator.choices();
  result.program_hash = world.log.hash();
  result.tasks = world.log.count();
  result.blocks = world.blocks_run;
  result.taken = simulator.taken();
  if (trace != nullptr) trace->end();
  if (watch.rooms != nullptr)
    for (int r = 0; r < spec.ranks; ++r) graph::add(*watch.rooms, run.engine().rank(r).core().room_use());
  settle(result, run, finding, program, spec);
  tell(result, world);
  for (const StruckFault& struck : world.faults.struck()) result.faults.push_back(struck.where);
  if (watch.snapshot != nullptr) finish(*watch.snapshot, result, run, program, spec);
  return result;
}

}  // namespace

Verdict verdict_for(Code code) {
  switch (code) {
    case Code::scope_deadlock:
    case Code::heap_ring_deadlock:
    case Code::flow_control_deadlock:
    case Code::dep_pool_overflow:
    case Code::region_map_full:
    case Code::signal_deadlock:
    case Code::core_deadlock:
      return Verdict::deadlock;
    case Code::race:
      return Verdict::race;
    case Code::stale_read:
      return Verdict::stale_read;
    case Code::core_stalled:
      return Verdict::core_stalled;
    case Code::no_progress:
      return Verdict::no_progress;
    default:
      return Verdict::failed;
  }
}

const char* name_of(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::passed:
      return "PASSED";
    case Verdict::slow:
      return "SLOW";
    case Verdict::deadlock:
      return "DEADLOCK (proved)";
    case Verdict::race:
      return "RACE";
    case Verdict::stale_read:
      return "STALE READ";
    case Verdict::core_stalled:
      return "CORE STALLED";
    case Verdict::no_progress:
      return "NO PROGRESS (proved)";
    case Verdict::failed:
      return "FAILED";
    case Verdict::starved:
      return "STARVED (proved)";
    case Verdict::livelock:
      return "LIVELOCK (proved)";
    case Verdict::unexplained:
      return "NOT EXPLAINED BY THE PROGRAM";
  }
  return "NOT EXPLAINED BY THE PROGRAM";
}

bool same_failure(const RunResult& left, const RunResult& right) {
  if (left.verdict != right.verdict || left.error.has_value() != right.error.has_value()) return false;
  return !left.error || left.error->code() == right.error->code();
}

RunResult run_once(const std::shared_ptr<ProgramBase>& program, const RunSpec& spec, Strategy& strategy,
                   std::uint64_t seed, bool record_choices, const RunWatch& watch) {
  if (program == nullptr) detail::throw_invalid("there is no program to run");
  if (spec.ranks < 1 || spec.ranks > 1024)
    detail::throw_invalid("ranks is " + std::to_string(spec.ranks) + "; allowed are 1 to 1024");
  if (spec.rounds < 1) detail::throw_invalid("rounds is " + std::to_string(spec.rounds) + "; at least 1");
  host::check(spec.session.timeouts);
#if HEDDLE_ASAN
  // Agents that a fault holds for good are abandoned with what their frames own.
  const __lsan::ScopedDisabler no_leak_check;
#endif
  const RunningNow::Run running;
  if (spec.chip == "host") return run_on_host_lab(program, spec, seed, watch.rooms);
  const chip::Config chip = chip_config(spec.chip, spec.chip_set);
  strategy.begin(seed, 0);
  Simulator::Options options;
  options.record_choices = record_choices;
  Simulator simulator(strategy, options);
  if (spec.fidelity == Fidelity::protocol) return run_chips<ProtocolEnvironment>(program, spec, chip, simulator, watch);
  return run_chips<ProgramEnvironment>(program, spec, chip, simulator, watch);
}

void learn_notifiers(snapshot::Snapshot& snapshot, const std::shared_ptr<ProgramBase>& program, const RunSpec& spec,
                     std::int64_t round) {
#if HEDDLE_ASAN
  const __lsan::ScopedDisabler no_leak_check;  // as in run_once()
#endif
  const RunningNow::Run running;
  add_notifiers(snapshot, rehearse(program, spec, round), round);
}

const std::vector<NamedHelp>& fault_names() {
  static const std::vector<NamedHelp> names = [] {
    std::vector<NamedHelp> all;
    for (std::size_t i = 0; i < fault_count; ++i) {
      const FaultInfo& fault = info(static_cast<Fault>(i));
      all.push_back({fault.name, fault.help});
    }
    return all;
  }();
  return names;
}

}  // namespace heddle::lab
