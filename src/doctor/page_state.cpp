// SPDX-License-Identifier: Apache-2.0
//
// The state of what runs the tasks: ranks, cores, queues, rings and scopes.
#include <fmt/format.h>

#include <map>

#include "doctor/page.hpp"
#include "doctor/why.hpp"
#include "snapshot/fields.hpp"

namespace heddle::doctor {

using snapshot::CoreState;

namespace {

std::string spaced(std::string_view word) {
  std::string text(word);
  for (char& c : text)
    if (c == '_') c = ' ';
  return text;
}

bool runs_what_waits(const Shown& shown, const snapshot::Core& core) {
  if (!core.running) return false;
  const std::uint32_t block =
      shown.situation.block(core.rank, core.running->task, core.running->block, core.running->part);
  return block != Situation::none && shown.all.blocks[block].state == snapshot::BlockState::waiting;
}

// The class of a core's square and of its badge.
const char* look_of(const Shown& shown, const snapshot::Core& core) {
  switch (core.state) {
    case CoreState::idle:
      return "idle";
    case CoreState::running:
      return runs_what_waits(shown, core) ? "waits" : "runs";
    case CoreState::gated:
    case CoreState::dispatched:
    case CoreState::finish_withheld:
      return "held";
    case CoreState::dead:
      return "dead";
    case CoreState::unknown:
      break;
  }
  return "unknown";
}

std::string assignment(const Shown& shown, int rank, const std::optional<snapshot::Assignment>& given) {
  if (!given) return "<td></td>";
  const std::uint32_t task = shown.situation.task(rank, given->task);
  Party party;
  if (task != Situation::none) {
    party = shown.situation.of_task(task);
  } else {
    party.text = "task " + std::to_string(given->task);
  }
  std::string words = party.name.empty() ? party.text : party.name + " · task " + std::to_string(given->task);
  if (given->block >= 0) words += " · block " + std::to_string(given->block);
  return "<td>" + shown.link(party, words) +
         (given->token < 0 ? "" : fmt::format(" <small>token {}</small>", given->token)) + "</td>";
}

// A square for each core of a rank, those of a cluster together.
std::string squares_of(const Shown& shown, int rank, const std::vector<std::uint32_t>& list) {
  const auto& cores = shown.all.cores;
  std::string text =
      fmt::format("<div class=\"grid-rank\"><span class=\"grid-name\">rank {}</span><span class=\"grid-cores\">", rank);
  std::int64_t cluster = INT64_MIN;
  for (const std::uint32_t i : list) {
    if (cores[i].cluster != cluster)
      text += cluster == INT64_MIN ? "<span class=\"cluster\">" : "</span><span class=\"cluster\">";
    cluster = cores[i].cluster;
    const Party party = shown.situation.of_core(i);
    const char* const look = look_of(shown, cores[i]);
    if (shown.has_anchor(party.id))
      text += fmt::format("<a class=\"core {}\" href=\"#{}\" title=\"{}\"></a>", look, anchor_of(party.id),
                          escaped(party.text + ": " + spaced(word_of(cores[i].state)), name_most));
    else
      text += fmt::format("<i class=\"core {}\"></i>", look);  // idle: it has no row
  }
  return text + "</span></span></div>\n";
}

// The ranks that have a core to look at, then the others.
std::string squares(const Shown& shown) {
  std::map<int, std::vector<std::uint32_t>> by_rank;
  std::set<int> busy;
  for (std::uint32_t i = 0; i < shown.all.cores.size(); ++i) by_rank[shown.all.cores[i].rank].push_back(i);
  for (const auto& [rank, task] : shown.involved) busy.insert(rank);
  for (const std::uint32_t i : shown.cores.shown) busy.insert(shown.all.cores[i].rank);
  std::size_t room = shown.options.squares;
  std::string first, others;
  std::uint64_t left = 0, idle = 0;
  for (const bool wanted : {true, false}) {
    for (const auto& [rank, list] : by_rank) {
      if (busy.contains(rank) != wanted) continue;
      if (list.size() > room) {
        ++left;
        continue;
      }
      room -= list.size();
      (wanted ? first : others) += squares_of(shown, rank, list);
      idle += wanted ? 0 : 1;
    }
  }
  std::string text = "<div class=\"grid\">\n" + first + "</div>\n";
  if (idle != 0)
    text += fmt::format("<details><summary>{} more {}, all idle</summary><div class=\"grid\">\n", idle,
                        idle == 1 ? "rank" : "ranks") +
            others + "</div></details>\n";
  return text + left_out(left, "ranks, whose cores are not drawn");
}

std::string source_cell(const snapshot::Source& source) {
  return "<td class=\"source\">" + escaped(source.text(), name_most) + "</td>";
}

}  // namespace

std::string class_list(const Shown& shown, Party::Kind of) {
  std::string text;
  std::uint64_t told = 0, left = 0;
  for (const StateClass& each : shown.report.classes) {
    if (each.of != of) continue;
    if (told == shown.options.rows) {
      ++left;
      continue;
    }
    ++told;
    text += fmt::format("<li><b>{}</b> {}</li>\n", escaped(each.text, 400), escaped(each.state, 400));
  }
  return told == 0 ? "" : "<ul class=\"classes\">\n" + text + "</ul>\n" + left_out(left, "classes");
}

std::string rank_part(const Shown& shown) {
  std::string text = class_list(shown, Party::Kind::program);
  if (shown.ranks.shown.empty()) return text + "<p class=\"none\">No ranks were recorded.</p>\n";
  text +=
      "<details><summary>Each rank</summary><div "
      "class=\"scroll\"><table><thead><tr><th>rank</th><th>state</th><th>round"
      "</th><th>its program</th></tr></thead><tbody>\n";
  for (const std::uint32_t i : shown.ranks.shown) {
    const snapshot::Rank& rank = shown.all.ranks[i];
    std::string waits;
    switch (rank.waits_for) {
      case snapshot::ProgramWait::end:
        waits = "has submitted its tasks, and waits for their end";
        break;
      case snapshot::ProgramWait::nothing:
        waits = "waits for nothing";
        break;
      case snapshot::ProgramWait::unknown:
        waits = "–";
        break;
      default:
        waits = program_wait(rank);
    }
    text += fmt::format("<tr id=\"r{0}\"><td>{0}</td><td>{1}</td><td>{2}</td><td>{3}</td></tr>\n", rank.rank,
                        badge(word_of(rank.state), rank.state == snapshot::RankState::running ? "runs"
                                                   : rank.state == snapshot::RankState::ended ? "idle"
                                                                                              : "dead"),
                        optional_number(rank.round), escaped(waits));
  }
  return text + "</tbody></table></div>" + left_out(shown.ranks.left, "ranks") + "</details>\n";
}

std::string core_part(const Shown& shown) {
  if (shown.all.cores.empty()) return "<p class=\"none\">The cores' states were not recorded.</p>\n";
  std::string text =
      "<p class=\"legend\"><i class=\"core idle\"></i> idle <i class=\"core runs\"></i> runs <i class=\"core "
      "waits\"></i> held by a block that waits <i class=\"core held\"></i> given work that has not begun <i "
      "class=\"core dead\"></i> does nothing any more</p>\n" +
      squares(shown) + class_list(shown, Party::Kind::core);
  if (shown.cores.shown.empty()) return text + "<p class=\"none\">Every core is idle.</p>\n";
  text +=
      "<div class=\"scroll\"><table><thead><tr><th>rank</th><th>core</th><th>state</th><th>runs</th><th>next, already "
      "given to it</th><th title=\"the last token that the core told its "
      "scheduler\">status</th><th>odd</th></tr></thead><tbody>\n";
  for (const std::uint32_t i : shown.cores.shown) {
    const snapshot::Core& core = shown.all.cores[i];
    std::string state = spaced(word_of(core.state));
    if (runs_what_waits(shown, core)) state = "runs a wait";
    text +=
        fmt::format("<tr id=\"{}\"><td>{}</td><td>{}</td><td>{}</td>", anchor_of(shown.situation.of_core(i).id),
                    core.rank, escaped(core.name.empty() ? "core " + std::to_string(core.core) : core.name, name_most),
                    badge(state, look_of(shown, core)));
    text += assignment(shown, core.rank, core.running) + assignment(shown, core.rank, core.pending);
    text += fmt::format("<td>{}</td><td>{}</td></tr>\n", optional_number(core.status),
                        core.anomalies > 0 ? std::to_string(core.anomalies) : "");
  }
  return text + "</tbody></table></div>\n" + left_out(shown.cores.left, "cores that are not idle");
}

std::string ring_part(const Shown& shown) {
  const auto& all = shown.all;
  if (all.rings.empty()) return "<p class=\"none\">The rings were not recorded.</p>\n";
  std::string text;
  if (shown.rings.shown.empty()) {
    text += "<p class=\"none\">Nothing is held in any ring.</p>\n";
  } else {
    text +=
        "<div class=\"scroll\"><table><thead><tr><th>rank</th><th>ring</th><th>tasks</th><th>heap bytes</th><th>edges"
        "</th><th>oldest task</th><th>held by the scope at</th></tr></thead><tbody>\n";
    const auto amount = [](const snapshot::Amount& of) {
      if (of.size <= 0 || of.held < 0) return std::string("<td>–</td>");
      const auto part = static_cast<int>(std::min<std::int64_t>(100, of.held / (of.size / 100 + 1)));
      return fmt::format("<td><span class=\"bar\"><span style=\"width:{}%\"></span></span> {} of {}</td>", part,
                         grouped(static_cast<std::uint64_t>(of.held)), grouped(static_cast<std::uint64_t>(of.size)));
    };
    for (const std::uint32_t i : shown.rings.shown) {
      const snapshot::Ring& ring = all.rings[i];
      const std::uint32_t task = shown.situation.task(ring.rank, ring.oldest);
      text += fmt::format("<tr id=\"{}\"><td>{}</td><td>{}</td>",
                          anchor_of(shown.situation.of_ring(ring.rank, ring.ring).id), ring.rank, ring.ring);
      text += amount(ring.tasks) + amount(ring.heap_bytes) + amount(ring.edges);
      text += "<td>" +
              (task == Situation::none ? optional_number(ring.oldest)
                                       : shown.link(shown.situation.of_task(task),
                                                    all.tasks[task].name + " · task " + std::to_string(ring.oldest))) +
              "</td>" + source_cell(ring.holder) + "</tr>\n";
    }
    text += "</tbody></table></div>\n" + left_out(shown.rings.left, "rings with something in them");
  }
  std::size_t told = 0;
  std::uint64_t queues_left = 0;
  for (const snapshot::Queue& queue : all.queues) {
    if (queue.entries.empty()) continue;
    if (told == shown.options.rows) {
      ++queues_left;
      continue;
    }
    if (told++ == 0) text += "<h3>Queues: ready tasks without a core</h3>\n<ul>\n";
    text += fmt::format("<li>rank {}, {}: ", queue.rank, escaped(queue.name, name_most));
    std::size_t entries = 0;
    for (const snapshot::Queued& each : queue.entries) {
      if (entries++ == shown.options.blocks) break;
      const std::uint32_t task = shown.situation.task(queue.rank, each.task);
      text += (entries == 1 ? "" : ", ") + (task == Situation::none ? "task " + std::to_string(each.task)
                                                                    : shown.link(shown.situation.of_task(task)));
    }
    if (entries > shown.options.blocks)
      text += fmt::format(" … and {} more", queue.entries.size() - shown.options.blocks);
    text += "</li>\n";
  }
  if (told != 0) text += "</ul>\n" + left_out(queues_left, "queues");
  return text;
}

}  // namespace heddle::doctor
