// SPDX-License-Identifier: Apache-2.0
#include "cli/cases_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "cli/output.hpp"

namespace heddle::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::string count_of(std::uint64_t count, std::string_view noun) {
  return base::counted(static_cast<std::int64_t>(count), noun);
}

std::string painted_outcome(const std::string& cell, bool colour) {
  return cell.starts_with("as expected") ? green(cell, colour) : red(cell, colour);
}

std::string outcome_words(const CaseRun& run) {
  return run.interrupted ? "interrupted" : run.is_as_expected() ? "as expected" : "differs";
}

OrderedJson json_of(const CaseFile& about, const CaseRun* run) {
  OrderedJson json{{"name", about.name},
                   {"kind", about.kind},
                   {"summary", about.summary},
                   {"source", about.source},
                   {"in_the_wild", about.in_the_wild},
                   {"command", about.hunt_command()}};
  if (run == nullptr) return json;
  json["passed"] = run->is_as_expected();
  json["verdict"] = run->verdict.empty() ? OrderedJson(nullptr) : OrderedJson(run->verdict);
  json["sentence"] = run->verdict.empty() ? OrderedJson(nullptr) : OrderedJson(run->sentence);
  json["needed"] = run->needed;
  json["median"] = run->needed.empty() ? OrderedJson(nullptr) : OrderedJson(run->median());
  json["unharmed"] = run->passed;
  json["differs"] = run->differs;
  return json;
}

std::string section_of(const CaseRun& run, const CaseConfig& config) {
  const CaseFile& about = run.about;
  std::string text = fmt::format("## {}\n\n{}.\n\n![{}](../cases/{}/waits.svg)\n\n", about.name, about.summary,
                                 run.failure ? "who waits for whom" : "the verdict", about.name);
  text += fmt::format("- **{}**\n- reported: {}; seen there: {}\n", run.verdict, about.source, about.in_the_wild);
  if (about.is_faulty()) {
    text += fmt::format("- found here within {} (median of {}); {}, it passes {}\n", count_of(run.median(), "schedule"),
                        count_of(config.starts, "hunt"), about.kind == "fault" ? "without the fault" : "repaired",
                        count_of(run.passed, "schedule"));
  } else {
    text += fmt::format("- passes {} here\n", count_of(run.passed, "schedule"));
  }
  text += fmt::format("- `{}`\n", about.hunt_command());
  const std::string at = about.has_own_program ? "cases/" + about.name : "programs";
  text += fmt::format("- [program](../{}/{}.cpp), [report](../cases/{}/report.txt)\n\n", at, about.program, about.name);
  return text;
}

}  // namespace

std::string list_text(std::span<const CaseFile> cases) {
  Table table;
  table.column("case", Table::Align::left);
  table.column("kind", Table::Align::left);
  table.column("in the wild", Table::Align::left);
  table.column("summary", Table::Align::left);
  for (const CaseFile& each : cases) table.row({each.name, each.kind, each.in_the_wild, each.summary});
  return table.text([](const std::string& cell, bool) { return cell; }, false);
}

std::string cases_text(std::span<const CaseRun> runs, bool colour) {
  Table table;
  table.column("case", Table::Align::left);
  table.column("kind", Table::Align::left);
  table.column("in the wild", Table::Align::left);
  table.column("schedules", Table::Align::right);
  table.column("unharmed", Table::Align::right);
  table.column("verdict", Table::Align::left);
  table.column("", Table::Align::left);
  for (const CaseRun& run : runs)
    table.row({run.about.name, run.about.kind, run.about.in_the_wild, run.needed.empty() ? "" : grouped(run.median()),
               grouped(run.passed), run.verdict, outcome_words(run)});
  std::string text = table.text(painted_outcome, colour);
  for (const CaseRun& run : runs)
    for (const std::string& each : run.differs) text += fmt::format("{}: {}\n", run.about.name, each);
  return text;
}

OrderedJson cases_json(std::span<const CaseFile> cases, std::span<const CaseRun> runs, const CaseConfig& config,
                       const std::vector<std::string>& written) {
  OrderedJson list = OrderedJson::array();
  bool passed = true;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    list.push_back(json_of(cases[i], i < runs.size() ? &runs[i] : nullptr));
    passed = passed && (i >= runs.size() || runs[i].is_as_expected());
  }
  const bool has_run = !runs.empty();
  return {{"passed", has_run ? OrderedJson(passed && runs.size() == cases.size()) : OrderedJson(nullptr)},
          {"seed", has_run ? OrderedJson(config.seed) : OrderedJson(nullptr)},
          {"starts", has_run ? OrderedJson(config.starts) : OrderedJson(nullptr)},
          {"cases", std::move(list)},
          {"written", written}};
}

std::string gallery_markdown(std::span<const CaseRun> runs, const CaseConfig& config) {
  std::string text = fmt::format(
      "# Pictures of the gallery\n\n"
      "Who waits for whom in each case of [the hang gallery](cases.md), which tells what happens in it and why. A box "
      "is\n"
      "somebody who waits or is waited for, an arrow says for what; where no wait is to blame, it leads from the "
      "culprit to\n"
      "the verdict. Everything here is written by `scripts/update-gallery`: hunts from {} fixed seeds for each fault, "
      "from\n"
      "{} on. `heddle cases` runs the same from a seed that nobody has tried.\n\n",
      config.starts, config.seed);
  for (const char* kind : {"program", "fault", "runtime", "control"})
    for (const CaseRun& run : runs)
      if (run.about.kind == kind) text += section_of(run, config);
  text.pop_back();
  return text;
}

}  // namespace heddle::cli
