// SPDX-License-Identifier: Apache-2.0
#include "lab/ladder.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace heddle::lab {
namespace {

using Clock = std::chrono::steady_clock;

// Of each part of a hunt that the rungs take by turns; it doubles, so that a budget that ends cuts all of them alike.
constexpr std::uint64_t first_part = 4;  // schedules of each strategy
constexpr std::uint64_t few_failures = 10;

// What came of a schedule.
struct Seen {
  bool is_known = false, passed = true;
  Verdict verdict = Verdict::passed;
  std::uint16_t code = 0;
  std::string sentence;

  bool is(const LadderFailure& failure) const {
    return is_known && !passed && verdict == failure.verdict && code == failure.code;
  }
};

// Written by the threads of a hunt, one entry a schedule; after a stall they may outlive it.
struct Sheet {
  explicit Sheet(std::uint64_t from, std::uint64_t count) : first(from), seen(count) {}
  std::uint64_t first;  // seed
  std::mutex mutex;
  std::vector<Seen> seen;

  void enter(std::uint64_t seed, const RunResult& result) {
    Seen entry{true, result.passed(), result.verdict, 0, {}};
    if (result.error) entry.code = static_cast<std::uint16_t>(result.error->code());
    if (!entry.passed) entry.sentence = result.sentence;
    const std::scoped_lock lock(mutex);
    if (seed - first < seen.size()) seen[seed - first] = std::move(entry);
  }
};

class Climb {
 public:
  Climb(const LadderConfig& config, const Climber& climber)
      : config_(config), climber_(climber), part_(first_part * config.hunt.strategies.size()), begun_(Clock::now()) {}

  LadderReport run() {
    for (const Rung& rung : config_.rungs) report_.rungs.emplace_back().rung = rung;
    walk_baseline();
    if (!report_.failure || has_ended()) return std::move(report_);
    walk_rungs();
    judge_all();
    return std::move(report_);
  }

 private:
  static constexpr std::size_t baseline = SIZE_MAX;

  bool has_ended() const { return report_.interrupted || report_.stalled.has_value(); }
  std::chrono::nanoseconds elapsed() const { return Clock::now() - begun_; }
  std::uint64_t tried() const {
    return static_cast<std::uint64_t>(std::count_if(report_.rungs.begin(), report_.rungs.end(),
                                                    [](const RungReport& each) { return each.was_tried(); }));
  }

  // Runs the schedules [from, from + count) of the baseline or a rung, and adds what came of them to `seen`. False when
  // the time ended before all were run.
  bool walk(std::size_t rung, std::uint64_t from, std::uint64_t count, std::vector<Seen>& seen, std::uint64_t of) {
    // A short hunt may be over before it asks.
    report_.interrupted = report_.interrupted || climber_.interrupted();
    if (report_.interrupted) return false;
    HuntConfig part = config_.hunt;
    const bool is_baseline = rung == baseline;
    if (!is_baseline) part.spec = config_.rungs[rung].spec;
    part.seed = config_.hunt.seed + from;
    part.schedules = count;
    part.keep_going = true;
    if (part.time) {
      // While there is a chance that the baseline leaves time for the rungs, it does.
      const bool leaves_half = is_baseline && elapsed() < *part.time / 2;
      part.time = (leaves_half ? *part.time / 2 : *part.time) - elapsed();
      if (part.time->count() <= 0) return false;
    }
    const auto sheet = std::make_shared<Sheet>(part.seed, count);
    const Settings& settings = is_baseline ? config_.settings : config_.rungs[rung].settings;
    Hunter hunter;
    hunter.make_runner = [make = climber_.make_runner, settings, sheet]() -> Runner {
      return [run = make(settings), sheet](const RunSpec& spec, Strategy& strategy, std::uint64_t seed, bool record) {
        RunResult result = run(spec, strategy, seed, record);
        sheet->enter(seed, result);
        return result;
      };
    };
    hunter.strategies = climber_.strategies;
    hunter.interrupted = climber_.interrupted;
    if (climber_.progress) {
      hunter.progress = [&, name = is_baseline ? std::string() : config_.rungs[rung].name](const HuntCounts& counts) {
        climber_.progress(name, from + counts.schedules, of);
      };
    }
    const HuntReport report = hunt(part, hunter);
    report_.runs += report.counts.schedules;
    report_.interrupted = report_.interrupted || report.interrupted;
    if (report.stalled) {
      report_.stalled = report.stalled;
      report_.stalled->number += from;
      report_.stalled_at = is_baseline ? std::string() : config_.rungs[rung].name;
    }
    const std::scoped_lock lock(sheet->mutex);
    // Of a hunt that was cut off the schedules that were begun are a beginning of all, so what is missing is its end.
    for (Seen& each : sheet->seen) {
      if (!each.is_known) return false;
      seen.push_back(std::move(each));
    }
    return true;
  }

  // The most frequent kind; of several, the one that came first.
  void name_failure() {
    std::map<std::pair<Verdict, std::uint16_t>, std::uint64_t> counts;
    for (const Seen& each : base_)
      if (!each.passed) ++counts[{each.verdict, each.code}];
    std::uint64_t most = 0;
    for (std::size_t i = 0; i < base_.size(); ++i) {
      const Seen& each = base_[i];
      if (each.passed || counts[{each.verdict, each.code}] <= most) continue;
      most = counts[{each.verdict, each.code}];
      const std::string& strategy = config_.hunt.strategies[i % config_.hunt.strategies.size()];
      report_.failure =
          LadderFailure{each.verdict, each.code, code_name(each.code), each.sentence, strategy, config_.hunt.seed + i};
    }
    report_.schedules = base_.size();
    report_.failures = most;
    report_.others = 0;
    for (const auto& [kind, count] : counts) report_.others += count;
    report_.others -= most;
  }
  static std::string code_name(std::uint16_t code) {
    return code == 0 ? std::string() : std::string(Error(static_cast<Code>(code), "").name());
  }

  void walk_baseline() {
    const std::uint64_t most = config_.hunt.schedules.value_or(UINT64_MAX);
    for (std::uint64_t part = part_; base_.size() < most && !has_ended(); part *= 2) {
      const bool whole = walk(baseline, base_.size(), std::min(part, most - base_.size()), base_, 0);
      name_failure();
      if (report_.failures > config_.wanted || is_time_for_rungs()) break;
      if (whole) continue;
      if (!config_.hunt.time || elapsed() >= *config_.hunt.time) break;
      base_.resize(base_.size() / config_.hunt.strategies.size() * config_.hunt.strategies.size());
    }
    if (!report_.failure) return;
    // The schedules up to the last failure were chosen by it: without it the rate is what it is.
    std::uint64_t left = config_.wanted;
    report_.compared = base_.size();
    for (std::size_t i = 0; i < base_.size(); ++i) {
      if (!base_[i].is(*report_.failure) || left-- != 0) continue;
      report_.compared = i;
      break;
    }
  }
  bool is_time_for_rungs() const {
    if (!config_.hunt.time || report_.failures == 0) return false;
    const auto share = *config_.hunt.time / static_cast<std::int64_t>(tried() + 1);
    return (elapsed() >= share && report_.failures >= few_failures) || elapsed() >= *config_.hunt.time / 2;
  }

  void walk_rungs() {
    std::vector<std::vector<Seen>> seen(config_.rungs.size());
    std::uint64_t part = part_;
    for (std::uint64_t from = 0; from < report_.compared && !has_ended(); from += part, part *= 2) {
      const std::uint64_t count = std::min(part, report_.compared - from);
      for (std::size_t i = 0; i < seen.size() && !has_ended(); ++i) {
        if (!report_.rungs[i].was_tried() || seen[i].size() < from) continue;
        try {
          walk(i, from, count, seen[i], report_.compared);
        } catch (const Error& error) {
          report_.rungs[i].rung.why_not = error.message();
        }
      }
    }
    for (std::size_t i = 0; i < seen.size(); ++i) count(report_.rungs[i], seen[i]);
  }

  void count(RungReport& rung, const std::vector<Seen>& seen) const {
    rung.schedules = seen.size();
    for (std::size_t i = 0; i < seen.size(); ++i) {
      const bool as_is = base_[i].is(*report_.failure), changed = seen[i].is(*report_.failure);
      const bool is_other = !seen[i].passed && !changed;
      rung.failures += changed ? 1 : 0;
      rung.others += is_other ? 1 : 0;
      // Under another failure this one may be hidden.
      if (is_other || (!base_[i].passed && !as_is)) continue;
      ++(as_is     ? changed ? rung.pairs.both : rung.pairs.only_as_is
         : changed ? rung.pairs.only_changed
                   : rung.pairs.neither);
    }
  }
  void judge_all() {
    const std::uint64_t questions = tried();
    for (RungReport& each : report_.rungs)
      if (each.was_tried()) each.judgement = judge(each.pairs, questions);
  }

  const LadderConfig& config_;
  const Climber& climber_;
  const std::uint64_t part_;
  const Clock::time_point begun_;
  std::vector<Seen> base_;
  LadderReport report_;
};

}  // namespace

LadderReport climb(const LadderConfig& config, const Climber& climber) {
  if (config.wanted < 1) detail::throw_invalid("a ladder needs at least one failure");
  if (config.hunt.strategies.empty()) detail::throw_invalid("a ladder needs a strategy");
  if (std::find(config.hunt.strategies.begin(), config.hunt.strategies.end(), "dfs") != config.hunt.strategies.end())
    detail::throw_invalid("dfs has no seeds, and a ladder compares by seeds: give other strategies");
  if (config.hunt.fidelities.size() > 1 || !config.hunt.widths.empty())
    detail::throw_invalid("a ladder starts from one fidelity and one width");
  return Climb(config, climber).run();
}

}  // namespace heddle::lab
