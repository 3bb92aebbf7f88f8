// SPDX-License-Identifier: Apache-2.0
#include "cli/ladder_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/text.hpp"
#include "cli/failure.hpp"
#include "cli/output.hpp"

namespace heddle::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

/// Rounded down: "99.9%" is not said of 99.89.
std::string percent(double share) { return fmt::format("{:.1f}%", std::floor(share * 1000) / 10); }

std::string of(std::uint64_t count, std::uint64_t all) { return fmt::format("{} of {}", grouped(count), grouped(all)); }

std::string painted_standing(const std::string& cell, bool colour) {
  if (cell.starts_with("involved")) return red(cell, colour);
  return cell.starts_with("excluded") ? green(cell, colour) : cell;
}

std::string standing_of(const lab::RungReport& rung) {
  std::string text = lab::name_of(rung.judgement.standing);
  if (rung.judgement.standing != lab::Standing::open) text += ", " + percent(rung.judgement.confidence);
  if (rung.is_gone()) text += ", gone";
  return text;
}

std::string table_of(const lab::LadderReport& report, bool colour) {
  Table table;
  table.column("changed", Table::Align::left);
  table.column("layer", Table::Align::left);
  table.column("fails so", Table::Align::right);
  table.column("otherwise", Table::Align::right);
  table.column("verdict", Table::Align::left);
  for (const lab::RungReport& rung : report.rungs) {
    if (!rung.was_tried()) continue;
    table.row({rung.rung.name, rung.rung.layer, of(rung.failures, rung.schedules),
               rung.others == 0 ? "" : grouped(rung.others), standing_of(rung)});
  }
  return table.text(painted_standing, colour);
}

std::string not_tried(const lab::LadderReport& report) {
  std::vector<std::string> texts;
  for (const lab::RungReport& rung : report.rungs)
    if (!rung.was_tried()) texts.push_back(fmt::format("{} ({})", rung.rung.name, one_line(rung.rung.why_not)));
  return texts.empty() ? std::string() : fmt::format("not tried: {}\n", fmt::join(texts, ", "));
}

OrderedJson json_of(const lab::RungReport& rung) {
  const bool was_tried = rung.was_tried();
  return {{"name", rung.rung.name},
          {"layer", rung.rung.layer},
          {"standing", was_tried ? lab::name_of(rung.judgement.standing) : "not tried"},
          {"confidence", was_tried ? OrderedJson(rung.judgement.confidence) : OrderedJson(nullptr)},
          {"gone", was_tried ? OrderedJson(rung.is_gone()) : OrderedJson(nullptr)},
          {"schedules", rung.schedules},
          {"failures", rung.failures},
          {"other_failures", rung.others},
          {"pairs",
           {{"both", rung.pairs.both},
            {"only_as_is", rung.pairs.only_as_is},
            {"only_changed", rung.pairs.only_changed},
            {"neither", rung.pairs.neither}}},
          {"why_not", was_tried ? OrderedJson(nullptr) : OrderedJson(one_line(rung.rung.why_not))}};
}

}  // namespace

std::string ladder_text(const RunPlan& plan, const lab::LadderConfig& config, const lab::LadderReport& report,
                        bool colour) {
  const std::string where =
      fmt::format("{} on {}, {}, {}", plan.variant.empty() ? plan.name : plan.name + " " + plan.variant, plan.backend,
                  base::counted(plan.device.ranks, "rank"), base::counted(plan.rounds, "round"));
  const std::string schedules = base::counted(static_cast<std::int64_t>(report.schedules), "schedule");
  if (!report.failure)
    return fmt::format("{}: {} in {}: {}\n", where, report.interrupted ? "interrupted" : "no failure", schedules,
                       report.conclusion());
  const lab::LadderFailure& failure = *report.failure;
  std::string text = fmt::format("{}: {}: {}\n", where, red(lab::name_of(failure.verdict), colour), failure.sentence);
  text += fmt::format("as it is {} schedules fail so (from seed {}; the first: strategy {}, seed {})",
                      of(report.failures, report.schedules), config.hunt.seed, failure.strategy, failure.seed);
  if (report.others != 0) text += fmt::format(", {} fail otherwise", grouped(report.others));
  text += fmt::format("\n\n{}\n{}{}\n", table_of(report, colour), not_tried(report), report.conclusion());
  return text;
}

OrderedJson ladder_json(const RunPlan& plan, const lab::LadderConfig& config, const lab::LadderReport& report) {
  OrderedJson rungs = OrderedJson::array();
  for (const lab::RungReport& rung : report.rungs) rungs.push_back(json_of(rung));
  OrderedJson json{
      {"passed", !report.failure && !report.interrupted},
      {"verdict", report.failure ? lab::name_of(report.failure->verdict) : lab::name_of(lab::Verdict::passed)},
      {"code", report.failure ? report.failure->code : 0},
      {"name", report.failure ? report.failure->code_name : "ok"},
      {"sentence", report.failure ? OrderedJson(report.failure->sentence) : OrderedJson(nullptr)},
      {"strategy", report.failure ? OrderedJson(report.failure->strategy) : OrderedJson(nullptr)},
      {"seed", report.failure ? report.failure->seed : config.hunt.seed},
      {"program", plan.name},
      {"variant", plan.variant.empty() ? OrderedJson(nullptr) : OrderedJson(plan.variant)},
      {"backend", plan.backend},
      {"ranks", plan.device.ranks},
      {"rounds", plan.rounds},
      {"schedules", report.schedules},
      {"failures", report.failures},
      {"other_failures", report.others},
      {"compared", report.compared},
      {"runs", report.runs},
      {"interrupted", report.interrupted},
      {"rungs", std::move(rungs)},
      {"conclusion", report.conclusion()}};
  if (!report.failure && report.interrupted) json["verdict"] = "INTERRUPTED";
  return json;
}

}  // namespace heddle::cli
