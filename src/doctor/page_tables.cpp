// SPDX-License-Identifier: Apache-2.0
//
// The tables of tasks with their blocks, and of cells with what changed them.
#include <fmt/format.h>

#include <algorithm>

#include "doctor/page.hpp"
#include "snapshot/fields.hpp"

namespace heddle::doctor {

using snapshot::BlockState;
using snapshot::TaskState;

namespace {

const char* words_of(TaskState state) {
  switch (state) {
    case TaskState::unknown:
      return "not recorded";
    case TaskState::not_submitted:
      return "not submitted";
    case TaskState::submitted:
      return "behind its producers";
    case TaskState::ready:
      return "ready";
    case TaskState::running:
      return "running";
    case TaskState::waiting:
      return "waits to complete";
    case TaskState::complete:
      return "complete";
  }
  return "not recorded";
}
const char* look_of(TaskState state) {
  switch (state) {
    case TaskState::running:
      return "runs";
    case TaskState::waiting:
      return "waits";
    case TaskState::ready:
    case TaskState::submitted:
    case TaskState::not_submitted:
      return "held";
    default:
      return "idle";
  }
}

std::string wait_words(const Shown& shown, const snapshot::Wait& wait) {
  Party party = shown.situation.of_cell(wait.rank, wait.window, wait.cell);
  if (wait.kind == snapshot::WaitKind::flag) party = {};
  return shown.linked(shown.situation.condition(wait), {&party});
}

std::string block_lines(const Shown& shown, std::uint32_t task) {
  const auto [first, last] = shown.situation.blocks_of(task);
  std::string text;
  std::uint64_t left = 0;
  for (std::uint32_t at = first; at < last; ++at) {
    if (at - first >= shown.options.blocks) {
      left = last - at;
      break;
    }
    const std::uint32_t index = shown.situation.blocks()[at];
    const snapshot::Block& block = shown.all.blocks[index];
    const Party party = shown.situation.of_block(index);
    text += fmt::format("<div id=\"{}\">block {}", anchor_of(party.id), optional_number(block.block));
    if (block.part >= 0) text += fmt::format(" part {}", block.part);
    text += block.state == BlockState::dispatched ? " given to a core" : " " + std::string(word_of(block.state));
    if (block.core >= 0) {
      Party core;
      if (const std::uint32_t found = shown.situation.core(block.rank, block.core); found != Situation::none)
        core = shown.situation.of_core(found);
      else
        core.text = "core " + std::to_string(block.core);
      text += (block.state == BlockState::dispatched ? ", " : " on ") + shown.link(core, core.name);
    }
    if (block.off_core) text += ", off its core";
    if (block.wait) text += " until " + wait_words(shown, *block.wait);
    text += "</div>";
  }
  if (left != 0) text += fmt::format("<div class=\"left\">… and {} more blocks</div>", grouped(left));
  return text;
}

std::string producers(const Shown& shown, const snapshot::Task& task) {
  if (!task.producers) return "–";
  std::string text;
  std::size_t told = 0;
  for (const snapshot::TaskRef& each : *task.producers) {
    const std::uint32_t found = shown.situation.task(each.rank, each.task);
    const std::string number = each.rank == task.rank ? fmt::format("task {}", each.task)
                                                      : fmt::format("rank {} task {}", each.rank, each.task);
    if (told == 4) {
      text += fmt::format(" … and {} more", task.producers->size() - told);
      break;
    }
    text += told++ == 0 ? "" : ", ";
    if (found == Situation::none) {
      text += number;
      continue;
    }
    const Party party = shown.situation.of_task(found);
    text += shown.link(party, party.name.empty() ? number : party.name + " · " + number);
    if (shown.situation.is_over(shown.all.tasks[found])) text += " ✓";
  }
  return text;
}

std::string change_row(const Shown& shown, const snapshot::Cell& cell, const snapshot::Change& change) {
  Party party;
  const std::uint32_t task = shown.situation.task(change.rank, change.task);
  if (task != Situation::none) {
    party = shown.situation.of_task(task);
    if (change.round >= 0 && change.round != shown.situation.round_of(change.rank)) party.kind = Party::Kind::none;
  }
  party.text = (change.name.empty() ? "" : change.name + " · ") + "rank " + optional_number(change.rank) + " · task " +
               optional_number(change.task);
  if (change.block >= 0) party.text += " · block " + std::to_string(change.block);
  std::string value = std::string(word_of(change.kind));
  if (change.value) value += (change.op == "add" ? " +" : " = ") + std::to_string(*change.value);
  const std::string arrived = change.lost      ? badge("lost", "bad")
                              : change.arrived ? time_text(*change.arrived)
                              : change.kind == snapshot::ChangeKind::notify && cell.older >= 0
                                  ? badge("not arrived", "bad")
                                  : "–";
  return fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n", escaped(value, name_most),
                     change.kind == snapshot::ChangeKind::reset ? "the runtime" : shown.link(party),
                     optional_number(change.round), change.issued ? time_text(*change.issued) : "–", arrived);
}

std::string task_row(const Shown& shown, std::uint32_t index) {
  const snapshot::Task& task = shown.all.tasks[index];
  std::string blocks = block_lines(shown, index);
  for (const snapshot::Wait& wait : task.conditions)
    blocks += "<div>completes once " + wait_words(shown, wait) + "</div>";
  return fmt::format(
      "<tr id=\"{}\"><td>{}</td><td><b>{}</b> <small>task {}</small></td><td>{}</td><td "
      "class=\"wide\">{}</td><td>{}</td>"
      "<td class=\"source\">{}</td></tr>\n",
      anchor_of(shown.situation.of_task(index).id), task.rank, escaped(task.name, name_most), task.task,
      badge(words_of(task.state), look_of(task.state)), blocks, producers(shown, task),
      escaped(task.source.text(), name_most));
}

std::string flags(const Shown& shown) {
  std::string text;
  std::size_t told = 0;
  std::uint64_t left = 0;
  for (const snapshot::Flag& flag : shown.all.flags) {
    if (flag.count <= 0) continue;
    if (told == shown.options.rows) {
      ++left;
      continue;
    }
    if (told++ == 0)
      text +=
          "<h3>Flags between the halves of a mixed task</h3><div class=\"scroll\"><table><thead><tr><th>rank</th><th>"
          "cluster</th><th>flag</th><th>who waits for it</th><th>count</th></tr></thead><tbody>\n";
    text += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n", flag.rank, flag.cluster,
                        flag.flag, escaped(flag.side, name_most), flag.count);
  }
  return told == 0 ? text : text + "</tbody></table></div>\n" + left_out(left, "flags");
}

}  // namespace

std::string task_part(const Shown& shown) {
  if (shown.all.tasks.empty()) return "<p class=\"none\">No tasks were recorded.</p>\n";
  if (shown.tasks.shown.empty())
    return fmt::format("<p class=\"none\">All {} tasks are complete.</p>\n", grouped(shown.tasks.left));
  constexpr const char* head =
      "<div class=\"scroll\"><table><thead><tr><th>rank</th><th>task</th><th>state</th><th>blocks that have not "
      "ended</th>"
      "<th>starts after</th><th>source</th></tr></thead><tbody>\n";
  constexpr const char* foot = "</tbody></table></div>\n";
  std::string chosen, others;
  std::uint64_t count = 0;
  for (const std::uint32_t i : shown.tasks.shown) {
    const snapshot::Task& task = shown.all.tasks[i];
    const bool is_involved = shown.involved.contains({task.rank, task.task});
    (is_involved ? chosen : others) += task_row(shown, i);
    count += is_involved ? 0 : 1;
  }
  std::string text = chosen.empty() ? "" : head + chosen + foot;
  if (count != 0)
    text += fmt::format("<details><summary>{} more that have to do with it, or have not ended</summary>", count) +
            head + others + foot + "</details>\n";
  return text + left_out(shown.tasks.left, "tasks");
}

std::string cell_part(const Shown& shown) {
  const auto& cells = shown.all.cells;
  std::string text;
  if (shown.cells.shown.empty())
    text += cells.empty() ? "<p class=\"none\">No cells were recorded.</p>\n"
                          : "<p class=\"none\">No cell is part of this.</p>\n";
  std::size_t opened = 0;
  for (const std::uint32_t i : shown.cells.shown) {
    const snapshot::Cell& cell = cells[i];
    const Party party = shown.situation.of_cell(cell.rank, cell.window, cell.cell);
    std::string value = cell.value ? fmt::format("is {}", *cell.value) : "value not recorded";
    for (const WaitReport& wait : shown.report.waits) {
      if (wait.what.id != party.id || !wait.needs) continue;
      value += " · waited for: " + sign_text(wait.compare) + " " + std::to_string(*wait.needs);
      break;
    }
    text += fmt::format(
        "<details class=\"cell\" id=\"{}\"{}><summary><b>{}[{}]</b> on rank {} <span class=\"value\">{}</span>"
        "</summary>\n",
        anchor_of(party.id), opened++ < 3 ? " open" : "", escaped(cell.window, name_most), cell.cell, cell.rank,
        escaped(value));
    const std::size_t skipped =
        cell.history.size() > shown.options.changes ? cell.history.size() - shown.options.changes : 0;
    if (cell.history.empty()) {
      text += cell.older < 0    ? "<p class=\"none\">What changed it was not recorded.</p>\n"
              : cell.older == 0 ? "<p class=\"none\">Nothing has changed it.</p>\n"
                                : "";
    } else {
      text +=
          "<div class=\"scroll\"><table><thead><tr><th>what</th><th>who</th><th>round</th><th>sent</th><th>arrived</th>"
          "</tr></thead><tbody>\n";
      for (std::size_t at = skipped; at < cell.history.size(); ++at) text += change_row(shown, cell, cell.history[at]);
      text += "</tbody></table></div>\n";
    }
    const std::uint64_t before = skipped + static_cast<std::uint64_t>(std::max<std::int64_t>(0, cell.older));
    text += left_out(before, "changes before these") + "</details>\n";
  }
  return text + left_out(shown.cells.left, "cells, which no wait names") + flags(shown);
}

}  // namespace heddle::doctor
