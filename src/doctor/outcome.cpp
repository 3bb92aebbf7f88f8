// SPDX-License-Identifier: Apache-2.0
#include "doctor/outcome.hpp"

#include <algorithm>
#include <heddle/error.hpp>

namespace heddle::doctor {

namespace {

// A checker's: it tells what came before the standstill, and does not contradict it.
bool is_finding(int code) { return code >= static_cast<int>(Code::race) && code < static_cast<int>(Code::no_progress); }
std::string name_of(int code) { return std::string(info(static_cast<Code>(code)).name); }

// The task of that name that has not ended, rather than one that has; none.
std::uint32_t find_task(const Situation& situation, const snapshot::Outcome& outcome) {
  std::uint32_t ended = Situation::none;
  const auto& tasks = situation.all().tasks;
  for (std::uint32_t i = 0; i < tasks.size(); ++i) {
    if (tasks[i].rank != outcome.rank || tasks[i].name != outcome.task) continue;
    if (!situation.is_over(tasks[i])) return i;
    if (ended == Situation::none) ended = i;
  }
  return ended;
}

Party culprit_of(const Situation& situation, const snapshot::Outcome& outcome) {
  Party culprit = situation.program(outcome.rank);
  if (outcome.task.empty()) return culprit;
  if (const std::uint32_t task = find_task(situation, outcome); task != Situation::none) {
    culprit = situation.of_task(task);
  } else {
    culprit.kind = Party::Kind::task;
    culprit.name = outcome.task;
    culprit.text = outcome.task + " (rank " + std::to_string(outcome.rank) + ")";
  }
  if (outcome.block >= 0) {
    culprit.kind = Party::Kind::block;
    culprit.block = outcome.block;
    culprit.text += " block " + std::to_string(outcome.block);
  }
  if (outcome.source.known()) culprit.source = outcome.source;
  return culprit;
}

}  // namespace

void take_outcome(const Situation& situation, Report& report) {
  const auto& told = situation.all().outcome;
  if (!told || (told->verdict.empty() && told->code < 0)) return;
  const snapshot::Outcome& outcome = *told;
  report.is_recorded = true;
  if (outcome.code >= 0) {
    report.code = outcome.code;
    report.code_name = name_of(outcome.code);
    if (report.concluded_code >= 0 && report.concluded_code != outcome.code && !is_finding(outcome.code))
      report.disagreement = "the snapshot alone says " + name_of(report.concluded_code) + ": " + report.sentence;
  }
  if (!outcome.verdict.empty())
    report.verdict = outcome.verdict;
  else if (report.concluded_code != outcome.code)
    report.verdict = "FAILED";
  if (!outcome.message.empty()) report.sentence = outcome.message;
  const bool knows_better = report.culprit.kind != Party::Kind::none && report.concluded_code == outcome.code;
  if (!knows_better && outcome.rank >= 0) report.culprit = culprit_of(situation, outcome);
  if (!report.chain.empty()) return;
  for (const std::string& sentence : outcome.chain) report.chain.push_back({{}, EdgeKind::signal, {}, sentence});
}

}  // namespace heddle::doctor
