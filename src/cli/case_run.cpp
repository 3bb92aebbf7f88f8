// SPDX-License-Identifier: Apache-2.0
#include "cli/case_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "cli/lab_run.hpp"
#include "cli/run_plan.hpp"
#include "cli/snapshot_file.hpp"
#include "doctor/draw_chain.hpp"
#include "doctor/write.hpp"

namespace heddle::cli {
namespace {

constexpr std::uint64_t between_starts = 1'000'003;

/// All that a person is told.
std::string told(const lab::RunResult& result) {
  std::string text = result.sentence;
  for (const std::string& step : result.chain) text += "\n" + step;
  return result.error ? text + "\n" + result.error->report() : text;
}

bool contains(const std::vector<std::string>& list, const std::string& wanted) {
  return std::find(list.begin(), list.end(), wanted) != list.end();
}

class Running {
 public:
  Running(const CaseFile& about, const FoundProgram& program, const CaseConfig& config)
      : program_(program), config_(config) {
    run_.about = about;
  }

  CaseRun run() {
    if (run_.about.is_faulty())
      for (std::uint64_t start = 0; start < config_.starts && goes_on(); ++start) find(start);
    if (goes_on()) pass();
    return std::move(run_);
  }

 private:
  bool goes_on() const { return !run_.interrupted && !run_.stalled; }
  void differ(std::string sentence) {
    if (!contains(run_.differs, sentence)) run_.differs.push_back(std::move(sentence));
  }

  lab::HuntReport hunt(std::uint64_t seed, const Budget& budget, const lab::RunSpec& wanted, const Settings& settings) {
    lab::HuntConfig config;
    config.spec = wanted;
    config.strategies = run_.about.strategies;
    config.seed = seed;
    config.schedules = budget.runs;
    config.time = budget.time;
    config.jobs = config_.jobs;
    config.patience = config_.patience;
    lab::Hunter hunter;
    hunter.make_runner = [found = program_, settings]() -> lab::Runner {
      return [made = create_program(found, settings)](const lab::RunSpec& spec, lab::Strategy& strategy,
                                                      std::uint64_t from, bool record) {
        return lab::run_once(made, spec, strategy, from, record);
      };
    };
    hunter.strategies = strategy_maker();
    hunter.interrupted = config_.interrupted;
    if (config_.progress)
      hunter.progress = [&](const lab::HuntCounts& counts) { config_.progress(run_.about.name, counts); };
    lab::HuntReport report = lab::hunt(config, hunter);
    run_.interrupted = run_.interrupted || report.interrupted || config_.interrupted();
    run_.stalled = report.stalled;
    return report;
  }

  void find(std::uint64_t start) {
    const std::uint64_t seed = config_.seed + start * between_starts;
    lab::HuntReport report = hunt(seed, config_.find, run_.about.spec, {});
    if (!report.failure) {
      if (goes_on()) differ(fmt::format("no failure in {} schedules from seed {}", report.counts.schedules, seed));
      return;
    }
    compare(report.failure->result, seed);
    run_.needed.push_back(report.failure->number + 1);
    if (run_.failure) return;
    run_.verdict = lab::name_of(report.failure->result.verdict);
    run_.sentence = report.failure->result.sentence;
    run_.failure = std::move(report.failure);
  }

  void compare(const lab::RunResult& result, std::uint64_t seed) {
    const std::string verdict = lab::name_of(result.verdict);
    if (!contains(run_.about.verdicts, verdict))
      differ(
          fmt::format("from seed {} the verdict is {}, not {}", seed, verdict, fmt::join(run_.about.verdicts, " or ")));
    const std::string code = result.error ? std::string(result.error->name()) : "ok";
    if (!contains(run_.about.codes, code))
      differ(fmt::format("from seed {} the code is {}, not {}", seed, code, fmt::join(run_.about.codes, " or ")));
    const std::string text = told(result);
    for (const std::string& name : run_.about.names)
      if (text.find(name) == std::string::npos)
        differ(fmt::format("from seed {} {} is not named", seed, base::quoted(name)));
  }

  void pass() {
    const lab::HuntReport report =
        hunt(config_.seed, config_.pass, run_.about.right_spec(), run_.about.right_settings());
    run_.passed = report.counts.schedules - report.counts.failures;
    if (report.failure) {
      if (!run_.about.is_faulty()) {
        run_.verdict = lab::name_of(report.failure->result.verdict);
        run_.sentence = report.failure->result.sentence;
      }
      differ(fmt::format("{} fails at seed {}: {}: {}",
                         run_.about.kind == "program" ? "the repaired program" : "what is right",
                         report.failure->schedule.seed, lab::name_of(report.failure->result.verdict),
                         report.failure->result.sentence));
      return;
    }
    if (run_.about.is_faulty()) return;
    for (const auto& [verdict, count] : report.counts.verdicts)
      if (count != 0 && !contains(run_.about.verdicts, lab::name_of(verdict)))
        differ(fmt::format("the verdict is {}, not {}", lab::name_of(verdict), fmt::join(run_.about.verdicts, " or ")));
    const lab::RunResult first = first_run();
    run_.verdict = lab::name_of(first.verdict);
    run_.sentence = first.sentence;
  }
  lab::RunResult first_run() const {
    const auto strategy = strategy_maker().named(run_.about.strategies.front());
    return lab::run_once(create_program(program_, {}), run_.about.spec, *strategy, config_.seed);
  }

  const FoundProgram& program_;
  const CaseConfig& config_;
  CaseRun run_;
};

}  // namespace

std::uint64_t CaseRun::median() const {
  if (needed.empty()) return 0;
  std::vector<std::uint64_t> sorted = needed;
  std::sort(sorted.begin(), sorted.end());
  return sorted[sorted.size() / 2];
}

CaseRun run_case(const CaseFile& about, const FoundProgram& program, const CaseConfig& config) {
  return Running(about, program, config).run();
}

CaseShown show_case(const CaseRun& run, const FoundProgram& program) {
  if (!run.failure) return {run.verdict + "\n  " + run.sentence + "\n", doctor::draw_passed(run.verdict)};
  std::optional<snapshot::Snapshot> taken =
      snapshot_of(create_program(program, {}), run.failure->spec, run.failure->schedule);
  if (!taken) return {run.verdict + "\n  " + run.sentence + "\n", doctor::draw_passed(run.verdict)};
  RunPlan plan;
  plan.name = run.about.program;
  const lab::Schedule& schedule = run.failure->schedule;
  // Where a hunt from that seed begins it finds the same again.
  add_run(*taken, plan, schedule.strategy, schedule.seed,
          fmt::format("{} --seed {}", run.about.hunt_command(), schedule.seed - run.failure->number));
  const doctor::Report report = doctor::diagnose(*taken);
  return {doctor::to_text(report, *taken), doctor::draw_chain(report)};
}

}  // namespace heddle::cli
