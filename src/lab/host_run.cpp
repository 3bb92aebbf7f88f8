// SPDX-License-Identifier: Apache-2.0
#include "lab/host_run.hpp"

#include <string>
#include <utility>
#include <vector>

#include "graph/room.hpp"
#include "host/engine_impl.hpp"
#include "lab/host_calls.hpp"
#include "lab/lab_environment.hpp"
#include "lab/verdicts.hpp"

namespace heddle::lab {

namespace {

using Engine = host::Engine<LabEnvironment>;

HostLabConfig config_of(const RunSpec& spec) {
  HostLabConfig config;
  for (const auto& [name, value] : spec.chip_set) {
    if (name == "workers") {
      if (value < 1 || value > 64)
        detail::throw_invalid("chip constant workers is " + std::to_string(value) + "; allowed are 1 to 64");
      config.workers = static_cast<std::uint32_t>(value);
    } else if (name == "step_limit") {
      if (value < 1) detail::throw_invalid("chip constant step_limit is 0; at least 1");
      config.step_limit = value;
    } else {
      detail::throw_invalid("chip host has no constant \"" + name + "\"; there are: workers, step_limit");
    }
  }
  if (!spec.faults.empty()) detail::throw_invalid("lab:host has no faults: they are of the chips");
  if (!spec.checkers.empty())
    detail::throw_invalid("lab:host has no checkers by name: what is unordered ends a run there in any case");
  return config;
}

// An engine with its pool. Where a run did not come to its end, agents may hold its locks: then it is kept for good.
struct Ground {
  Ground(const HostLabConfig& config, const RunSpec& spec, const std::shared_ptr<ProgramBase>& program)
      : pool(pool_of(config), client),
        engine(pool, program, host::plan_ranks(*program, spec.ranks), session_of(spec)) {}
  static host::PoolConfig pool_of(const HostLabConfig& config) {
    host::PoolConfig pool;
    pool.workers = config.workers;
    pool.deque_capacity = 64;
    pool.spin_rounds = 2;
    pool.patience = 2;
    pool.patience_most = 4;
    return pool;
  }
  static SessionConfig session_of(const RunSpec& spec) {
    SessionConfig session = spec.session;
    session.recorder = false;
    session.checked = spec.check;
    return session;
  }

  host::EngineClient<LabEnvironment> client;
  host::Pool<LabEnvironment> pool;
  Engine engine;
  LabEnvironment::Parker fence;
};

void keep_for_good(std::unique_ptr<Ground> ground) {
  static auto* const kept = new std::vector<std::unique_ptr<Ground>>;
  static std::mutex mutex;
  const std::lock_guard guard(mutex);
  kept->push_back(std::move(ground));
}

// The host's part: rounds until one fails. In an agent of the machine.
class Rounds {
 public:
  Rounds(Ground& ground, const RunSpec& spec, const ProgramBase& program)
      : ground_(ground), spec_(spec), program_(program) {}

  void run() {
    for (std::int64_t round = 0; round < spec_.rounds && !error; ++round) {
      for (int phase = 0; phase < program_.phases() && !error; ++phase) one(round, phase);
      if (!error) ++done;
    }
    ground_.pool.stop();
  }
  std::optional<Error> error;
  std::int64_t done = 0;

 private:
  void one(std::int64_t round, int phase) {
    call(round, phase, HostCall::fill);
    if (error) return;
    if (spec_.session.reset_windows) ground_.engine.windows().list().zero();
    ground_.engine.start_round(round, ground_.fence);
    while (!ground_.engine.finished()) ground_.fence.park();
    error = ground_.engine.first_error();
    if (!error && !ground_.engine.windows().list().all_equal())
      error = ground_.engine.windows().list().mismatch().in_round(round);
    if (!error && spec_.check) call(round, phase, HostCall::check);
  }
  void call(std::int64_t round, int phase, HostCall what) {
    const auto io = [this](int rank) -> const heddle::detail::IoTable& { return ground_.engine.rank(rank).io(); };
    error = call_program(program_, what, spec_.ranks, round, phase, io);
  }

  Ground& ground_;
  const RunSpec& spec_;
  const ProgramBase& program_;
};

}  // namespace

const std::vector<NamedHelp>& host_constants() {
  static const std::vector<NamedHelp> names{{"workers", "worker threads of the host backend (2)"},
                                            {"step_limit", "steps after which a run is given up (2,000,000,000)"}};
  return names;
}

RunResult run_on_host_lab(const std::shared_ptr<ProgramBase>& program, const RunSpec& spec, std::uint64_t seed,
                          RoomUse* rooms) {
  const HostLabConfig config = config_of(spec);
  auto ground = std::make_unique<Ground>(config, spec, program);
  Options options;
  options.step_limit = config.step_limit;
  Machine machine(seed, options);
  Rounds rounds(*ground, spec, *program);
  for (std::uint32_t i = 0; i < config.workers; ++i)
    machine.spawn("worker " + std::to_string(i), [&ground, i] { ground->pool.run_worker(i); });
  machine.spawn("host", [&rounds] { rounds.run(); });
  const Outcome outcome = machine.run();

  RunResult result;
  result.trace_hash = outcome.hash;
  result.events = outcome.steps;
  result.choices = outcome.steps;
  result.rounds_done = rounds.done;
  for (int r = 0; r < spec.ranks; ++r) result.tasks += ground->engine.rank(r).core().submitted();
  using Counts = host::WorkerCounts<LabEnvironment>;
  result.blocks = ground->engine.total(Counts::blocks);
  result.statistics.tasks = result.tasks;
  result.statistics.blocks = result.blocks;
  result.statistics.puts = ground->engine.total(Counts::puts);
  result.statistics.put_bytes = ground->engine.total(Counts::put_bytes);
  result.statistics.notifies = ground->engine.total(Counts::notifies);
  result.error = rounds.error;
  if (result.error) result.verdict = verdict_for(result.error->code());
  if (rooms != nullptr && outcome.finished())
    for (int r = 0; r < spec.ranks; ++r) graph::add(*rooms, ground->engine.rank(r).core().room_use());
  if (!outcome.finished()) {
    // The runtime's own fault, whatever the program did.
    result.verdict = Verdict::unexplained;
    result.error = Error(Code::no_progress,
                         "the host backend itself: " + std::string(outcome.kind_name()) + ": " + outcome.detail);
    keep_for_good(std::move(ground));
  }
  result.sentence = result.error ? std::string(result.error->name()) + ": " + result.error->message()
                                 : "every round ended and every check passed";
  return result;
}

}  // namespace heddle::lab
