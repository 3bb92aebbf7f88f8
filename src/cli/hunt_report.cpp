// SPDX-License-Identifier: Apache-2.0
#include "cli/hunt_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "base/text.hpp"
#include "cli/lab_run.hpp"
#include "cli/output.hpp"
#include "cli/result.hpp"

namespace heddle::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::string grouped_count(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", grouped(count), noun, count == 1 ? "" : "s");
}

std::string failures_by_verdict(const lab::HuntCounts& counts) {
  std::vector<std::string> parts;
  for (const auto& [verdict, count] : counts.verdicts)
    if (verdict != lab::Verdict::passed) parts.push_back(fmt::format("{} {}", lab::name_of(verdict), grouped(count)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string counts_text(const lab::HuntReport& report) {
  const lab::HuntCounts& counts = report.counts;
  std::string text = fmt::format("{} in {} ({}/s)", grouped_count(counts.schedules, "schedule"),
                                 duration_text(counts.elapsed), rate_text(counts.per_second()));
  std::vector<std::string> strategies;
  for (const lab::StrategyCount& each : counts.strategies) {
    strategies.push_back(fmt::format("{} {}", each.name, grouped(each.schedules)));
    if (each.failures != 0) strategies.back() += fmt::format(" ({} failed)", grouped(each.failures));
  }
  text += fmt::format(": {}\n", fmt::join(strategies, ", "));
  if (const std::string verdicts = failures_by_verdict(counts); !verdicts.empty()) text += verdicts + '\n';
  if (!counts.states.empty()) text += fmt::format("{} reached\n", grouped_count(counts.states.size(), "state"));
  return text;
}

std::string failure_text(const lab::FoundFailure& found, const std::string& path, bool colour) {
  const lab::RunResult& result = found.result;
  std::string text = fmt::format("{}: {}\n", red(lab::name_of(result.verdict), colour), result.sentence);
  text +=
      fmt::format("schedule {}: strategy {}, seed {}, {}, {} of virtual time, trace hash {}\n", grouped(found.number),
                  found.schedule.strategy, found.schedule.seed, grouped_count(result.events, "event"),
                  duration_text(std::chrono::nanoseconds(static_cast<std::int64_t>(result.virtual_ns))),
                  hash_text(result.trace_hash));
  text += explanation(outcome_of(result, found.schedule.strategy, found.schedule.seed));
  if (!found.is_repeatable) {
    text +=
        "a second run with the same choices was another one: something in the program depends on the clock, on "
        "addresses "
        "or on threads\n";
  }
  if (!path.empty()) {
    text +=
        fmt::format("written to {0}: 'heddle replay {0}' shows it again, 'heddle shrink {0}' makes it small\n", path);
  }
  return text;
}

}  // namespace

std::string hunt_line(const std::string& title, const lab::HuntCounts& counts) {
  std::string text =
      fmt::format("{}  {}  {}/s", title, grouped_count(counts.schedules, "schedule"), rate_text(counts.per_second()));
  if (const std::string verdicts = failures_by_verdict(counts); !verdicts.empty()) text += "  " + verdicts;
  if (!counts.states.empty()) text += fmt::format("  {}", grouped_count(counts.states.size(), "state"));
  return text;
}

std::string hunt_text(const RunPlan& plan, const lab::HuntReport& report, const std::string& path, bool colour) {
  if (report.failure) return failure_text(*report.failure, path, colour) + counts_text(report);
  const std::string where = plan.variant.empty() ? plan.name : plan.name + " " + plan.variant;
  std::string text = report.complete ? fmt::format("{}: {}: every schedule passes\n", where, green("complete", colour))
                     : report.interrupted ? fmt::format("{}: interrupted, nothing found until then\n", where)
                                          : fmt::format("{}: {}\n", where, green("nothing found", colour));
  return text + counts_text(report);
}

nlohmann::ordered_json hunt_json(const RunPlan& plan, const lab::HuntReport& report, const std::string& path,
                                 const std::string& page) {
  const lab::HuntCounts& counts = report.counts;
  RunPlan shown = plan;
  LabOutcome outcome;
  lab::RunResult result;
  if (report.failure) {
    const lab::FoundFailure& found = *report.failure;
    result = found.result;
    shown.device.ranks = found.spec.ranks;
    outcome = outcome_of(result, found.schedule.strategy, found.schedule.seed);
  }
  RunResult run = result_of(shown, result, outcome);
  // Without a failure there is no run to speak of: only the counts are.
  if (!report.failure) run.lab.reset();
  if (!report.failure && report.interrupted) {
    run.interrupted = true;
    run.error = Error(Code::user_error, "interrupted, nothing found until then").with_hint("");
  }
  run.html = page;
  OrderedJson json = to_json(run);
  OrderedJson verdicts = OrderedJson::object(), states = OrderedJson::object(), strategies = OrderedJson::array();
  for (const auto& [verdict, count] : counts.verdicts) verdicts[lab::name_of(verdict)] = count;
  for (const auto& [name, count] : counts.states) states[name] = count;
  for (const lab::StrategyCount& each : counts.strategies)
    strategies.push_back({{"name", each.name}, {"schedules", each.schedules}, {"failures", each.failures}});
  json["wall_ns"] = counts.elapsed.count();
  json.update({{"schedules", counts.schedules},
               {"failures", counts.failures},
               {"schedules_per_second", counts.per_second()},
               {"verdicts", std::move(verdicts)},
               {"strategies", std::move(strategies)},
               {"states", std::move(states)},
               {"complete", report.complete},
               {"repeatable", report.failure ? OrderedJson(report.failure->is_repeatable) : OrderedJson(nullptr)},
               {"file", path.empty() ? OrderedJson(nullptr) : OrderedJson(path)}});
  return json;
}

}  // namespace heddle::cli
