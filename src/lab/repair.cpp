// SPDX-License-Identifier: Apache-2.0
#include "lab/repair.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "lab/chips/chips.hpp"
#include "lab/with_edge.hpp"

namespace heddle::lab {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t quick_failures = 8;  // failing schedules that a change has to stand first
constexpr std::size_t edges_most = 3;      // that are reported
constexpr std::uint64_t clusters_most = 4096;

struct Attempt {
  std::string name, advice;
  RunSpec spec;
  std::optional<NamedEdge> edge;
};

bool is_of_rings(std::uint16_t code) {
  for (const Code each : {Code::scope_deadlock, Code::heap_ring_deadlock, Code::flow_control_deadlock,
                          Code::dep_pool_overflow, Code::region_map_full})
    if (code == static_cast<std::uint16_t>(each)) return true;
  return false;
}

class RepairSearch {
 public:
  RepairSearch(const RepairConfig& config, const Repairer& repairer)
      : config_(config), repairer_(repairer), spec_(config.failure.spec), begun_(Clock::now()) {}

  RepairReport run() {
    program_ = repairer_.make(config_.failure.settings);
    const ScheduledRun first =
        run_schedule(runner_of(program_), repairer_.strategies, spec_, config_.failure.schedule, false);
    ++report_.runs;
    report_.result = first.result;
    report_.is_shown = first.result.verdict == config_.failure.verdict && code_of(first.result) == config_.failure.code;
    if (!report_.is_shown) return std::move(report_);
    as_it_is();
    try_all();
    order();
    return std::move(report_);
  }

 private:
  static std::uint16_t code_of(const RunResult& result) {
    return result.error ? static_cast<std::uint16_t>(result.error->code()) : std::uint16_t{0};
  }
  static Runner runner_of(std::shared_ptr<ProgramBase> program) {
    return [program = std::move(program)](const RunSpec& spec, Strategy& strategy, std::uint64_t seed, bool record) {
      return run_once(program, spec, strategy, seed, record);
    };
  }
  bool may_go_on() {
    report_.interrupted = report_.interrupted || repairer_.interrupted();
    if (!report_.interrupted && Clock::now() - begun_ < config_.time) return true;
    report_.is_complete = false;
    return false;
  }

  Schedule schedule(std::uint64_t number) const {
    Schedule made;
    made.strategy = config_.strategies[number % config_.strategies.size()];
    made.seed = config_.failure.schedule.seed + number;
    made.length_hint = length_hint_;
    return made;
  }
  RunResult run_one(const std::shared_ptr<ProgramBase>& program, const RunSpec& spec, const Schedule& how) {
    ++report_.runs;
    return run_schedule(runner_of(program), repairer_.strategies, spec, how, false).result;
  }

  // The failure's own schedule is one of those that fail.
  void as_it_is() {
    names_ = std::make_shared<NamesSeen>();
    const auto watched = with_names(program_, names_);
    length_hint_ = report_.result.choices;
    failing_.push_back(config_.failure.schedule);
    const auto share = config_.time == std::chrono::nanoseconds::max() ? config_.time : config_.time / 4;
    for (std::uint64_t i = 0; i < config_.schedules && may_go_on() && Clock::now() - begun_ < share; ++i) {
      const RunResult result = run_one(watched, spec_, schedule(i));
      times_.push_back(result.passed() ? result.virtual_ns : 0);
      if (result.passed()) continue;
      ++report_.failures;
      if (failing_.size() < quick_failures) failing_.push_back(schedule(i));
    }
    report_.schedules = times_.size();
    if (report_.schedules == 0) run_one(watched, spec_, config_.failure.schedule);
  }

  void try_all() {
    const std::uint16_t code = config_.failure.code;
    if (is_of_rings(code)) {
      rings();
      return;
    }
    std::vector<Attempt> changes = edges();
    surroundings(changes);
    all_ = changes.size();
    for (const Attempt& change : changes) (void)stands(change);
    if (code == static_cast<std::uint16_t>(Code::core_deadlock)) cores();
  }

  std::vector<Attempt> edges() const {
    std::vector<Attempt> changes;
    for (const NamedEdge& pair : names_->pairs()) {
      changes.push_back({"edge " + pair.from + " -> " + pair.to,
                         "submit " + pair.to + " with after(…) of the tasks " + pair.from +
                             " that were submitted since the " + pair.to + " before it",
                         spec_, pair});
    }
    return changes;
  }

  void surroundings(std::vector<Attempt>& changes) const {
    const Surroundings around = surroundings_of(spec_.chip_set);
    const auto add = [&](const char* name, const char* advice) -> RunSpec& {
      changes.push_back({name, advice, spec_, {}});
      return changes.back().spec;
    };
    if (!around.ordered_notifies)
      add("released notifies", "notify with Order::released where it is Order::relaxed").chip_set["ordered_notifies"] =
          1;
    if (!around.coherent_scalars)
      add("no scalar caches", "clean what was stored before it is told of, and invalidate before it is loaded")
          .chip_set["coherent_scalars"] = 1;
    if (!spec_.session.reset_windows && spec_.rounds > 1)
      add("windows zeroed", "SessionConfig::reset_windows, or signals that grow from round to round")
          .session.reset_windows = true;
  }

  // Whether no schedule fails with it. Then it is reported; otherwise only the failing ones are run.
  bool stands(const Attempt& change, bool is_reported = true) {
    if (!may_go_on()) return false;
    ++report_.changes;
    if (repairer_.progress) repairer_.progress(change.name, report_.changes, std::max(all_, report_.changes));
    const auto program = change.edge ? with_edge(program_, *change.edge) : program_;
    const auto fails = [&](const Schedule& how) { return !run_one(program, change.spec, how).passed(); };
    if (std::any_of(failing_.begin(), failing_.end(), fails)) return false;
    if (!is_reported) return true;
    Repair made{change.name, change.advice, 0, 1, report_.failures != 0};
    std::uint64_t with = 0, without = 0;
    for (std::uint64_t i = 0; i < report_.schedules; ++i) {
      if (!may_go_on()) {
        made.is_proved = false;
        break;
      }
      const RunResult result = run_one(program, change.spec, schedule(i));
      if (!result.passed()) return false;
      ++made.schedules;
      if (times_[i] != 0) with += result.virtual_ns;
      without += times_[i];
    }
    if (without != 0) made.slower = static_cast<double>(with) / static_cast<double>(without);
    report_.repairs.push_back(std::move(made));
    return true;
  }

  // The least multiple of one size with which it passes: doubled until it does, then halved into.
  template <class Set>
  void size(const std::string& option, std::uint64_t from, std::uint64_t step, std::uint64_t most, Set&& set) {
    const auto with = [&](std::uint64_t value) {
      Attempt change{option + " " + std::to_string(value), "prepare the session with at least this size", spec_, {}};
      set(change.spec, value);
      return change;
    };
    std::uint64_t fails = from / step, passes = 0;
    for (std::uint64_t units = std::max<std::uint64_t>(fails * 2, 1); units * step <= most; units *= 2) {
      if (stands(with(units * step), false)) {
        passes = units;
        break;
      }
      fails = units;
      if (!may_go_on()) return;
    }
    if (passes == 0) return;
    while (passes - fails > 1) {
      const std::uint64_t middle = fails + (passes - fails) / 2;
      (stands(with(middle * step), false) ? passes : fails) = middle;
      if (!may_go_on()) return;
    }
    (void)stands(with(passes * step));
  }

  void rings() {
    const RingConfig& ring = spec_.session.ring;
    size("--task-window", ring.task_window, 1, 1U << 20U,
         [](RunSpec& spec, std::uint64_t value) { spec.session.ring.task_window = static_cast<std::uint32_t>(value); });
    size("--heap-bytes", ring.heap_bytes, 1024, 1ULL << 32U,
         [](RunSpec& spec, std::uint64_t value) { spec.session.ring.heap_bytes = value; });
    size("--dep-pool", ring.dep_pool, 1, 1U << 24U,
         [](RunSpec& spec, std::uint64_t value) { spec.session.ring.dep_pool = static_cast<std::uint32_t>(value); });
    size("SessionConfig::region_entries", spec_.session.region_entries, 1, 1U << 24U,
         [](RunSpec& spec, std::uint64_t value) { spec.session.region_entries = static_cast<std::uint32_t>(value); });
  }

  // Where waits hold the cores that others need, there is a number of cores that is enough.
  void cores() {
    const std::uint64_t have = chip_config(spec_.chip, spec_.chip_set).geometry.clusters;
    for (std::uint64_t count = have * 2; count <= clusters_most; count *= 2) {
      Attempt change{
          "--chip-set clusters=" + std::to_string(count),
          "waits hold cores that others need: complete the waiting tasks by completes_when, which holds none, "
          "or run fewer of them at a time",
          spec_,
          {}};
      change.spec.chip_set["clusters"] = count;
      if (stands(change) || !may_go_on()) return;
    }
  }

  // Edges that cost the least time first, and only some of them; then what else there is, as it was tried.
  void order() {
    std::vector<Repair> edges, others;
    for (Repair& each : report_.repairs) (each.change.starts_with("edge ") ? edges : others).push_back(std::move(each));
    std::sort(edges.begin(), edges.end(), [](const Repair& a, const Repair& b) {
      return std::tie(a.slower, a.change) < std::tie(b.slower, b.change);
    });
    if (edges.size() > edges_most) edges.resize(edges_most);
    std::move(others.begin(), others.end(), std::back_inserter(edges));
    report_.repairs = std::move(edges);
  }

  const RepairConfig& config_;
  const Repairer& repairer_;
  const RunSpec& spec_;
  Clock::time_point begun_;
  std::shared_ptr<ProgramBase> program_;
  std::shared_ptr<NamesSeen> names_;
  std::uint64_t length_hint_ = 0;
  std::uint64_t all_ = 0;  // changes, as far as they are known
  std::vector<Schedule> failing_;
  std::vector<std::uint64_t> times_;  // of each schedule as it is; 0: it failed
  RepairReport report_;
};

}  // namespace

RepairReport repair(const RepairConfig& config, const Repairer& repairer) {
  return RepairSearch(config, repairer).run();
}

}  // namespace heddle::lab
