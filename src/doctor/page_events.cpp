// SPDX-License-Identifier: Apache-2.0
//
// The last events of the tasks and cells that the page is about, as a table.
#include <fmt/format.h>

#include <algorithm>

#include "doctor/page.hpp"

namespace heddle::doctor {

using snapshot::Event;

namespace {

class Events {
 public:
  explicit Events(Shown& shown) : shown_(shown), all_(shown.all) {}

  std::string table() {
    std::vector<const Event*> rows;
    std::uint64_t left = 0;
    for (auto event = all_.events.rbegin(); event != all_.events.rend(); ++event) {
      const bool wanted =
          shown_.involved.empty() || (is_of_task(*event) && is_involved(*event)) || names_a_cell(*event);
      if (wanted && rows.size() < shown_.options.events)
        rows.push_back(&*event);
      else
        ++left;
    }
    std::reverse(rows.begin(), rows.end());
    std::string text =
        "<details><summary>The last events of these tasks and cells</summary><div class=\"scroll\"><table>"
        "<thead><tr><th>time</th><th>rank</th><th>what</th><th>who</th><th>details</th></tr></thead><tbody>\n";
    for (const Event* each : rows) text += row(*each);
    text += "</tbody></table></div>\n" + left_out(left, "events") + "</details>\n";
    return text;
  }

 private:
  bool is_involved(const Event& event) const { return shown_.involved.contains({event.rank, event.task}); }
  // Of an arrival, rank is where it arrives and the task is the sender's.
  static bool is_of_task(const Event& event) { return event.kind != "arrival" && event.task >= 0; }
  bool names_a_cell(const Event& event) const {
    return event.kind == "arrival" && !event.window.empty() &&
           shown_.has_anchor(shown_.situation.of_cell(event.rank, event.window, event.cell).id);
  }
  std::string row(const Event& event) {
    Party party;
    party.text = event.name;
    std::string id;
    if (const std::uint32_t task = shown_.situation.task(event.rank, event.task);
        is_of_task(event) && task != Situation::none) {
      party = shown_.situation.of_task(task);
      const std::string anchor = "e." + party.id;
      if (!shown_.has_anchor(anchor)) {
        shown_.add_anchor(anchor);
        id = " id=\"" + anchor_of(anchor) + "\"";
      }
    }
    std::string who = event.name;
    if (event.task >= 0) who += (who.empty() ? "task " : " · task ") + std::to_string(event.task);
    if (event.block >= 0 && event.kind != "submit") who += " · block " + std::to_string(event.block);
    return fmt::format("<tr{}><td>{}</td><td>{}</td><td>{}{}</td><td>{}</td><td>{}</td></tr>\n", id,
                       event.start ? time_text(*event.start) : "–", optional_number(event.rank),
                       escaped(event.kind, name_most), event.unfinished ? " " + badge("not ended", "bad") : "",
                       shown_.link(party, who), details(event));
  }
  std::string details(const Event& event) const {
    std::string text;
    const auto add = [&](const std::string& piece) { text += (text.empty() ? "" : ", ") + piece; };
    if (event.kind == "block" && event.start && event.end && !event.unfinished)
      add("for " + time_text(*event.end - std::min(*event.start, *event.end)));
    if (event.core >= 0 && event.kind == "block") {
      Party core;
      const std::uint32_t found = shown_.situation.core(event.rank, event.core);
      if (found != Situation::none) core = shown_.situation.of_core(found);
      core.text = core.name.empty() ? "core " + std::to_string(event.core) : core.name;
      add("on " + shown_.link(core));
    }
    if (!event.window.empty()) {
      const int rank = event.peer >= 0 ? event.peer : event.rank;
      Party cell = shown_.situation.of_cell(rank, event.window, event.cell);
      std::string words = event.window;
      if (event.cell >= 0) words += "[" + std::to_string(event.cell) + "]";
      if (rank != event.rank) words += " on rank " + std::to_string(rank);
      add(shown_.has_anchor(cell.id) ? shown_.link(cell, words) : escaped(words, name_most));
      if (event.value) add("value " + std::to_string(*event.value));
    } else if (event.kind == "put" && event.value) {
      add(std::to_string(*event.value) + " bytes to rank " + optional_number(event.peer));
    }
    return text;
  }

  Shown& shown_;
  const snapshot::Snapshot& all_;
};

}  // namespace

std::string event_table(Shown& shown) { return Events(shown).table(); }

}  // namespace heddle::doctor
