// SPDX-License-Identifier: Apache-2.0
//
// The page: the verdict first, then whom to blame and what to do, then everything that it rests on.
#include <fmt/format.h>

#include <algorithm>
#include <heddle/error.hpp>
#include <map>
#include <utility>

#include "base/text.hpp"
#include "doctor/page.hpp"
#include "snapshot/fields.hpp"

namespace heddle::doctor {
namespace {

// Long words that a new user needs, and no more.
constexpr const char* glossary =
    R"html(<section id="words"><details><summary><h2 style="display:inline">Words of this page</h2></summary>
<dl><dt>rank</dt><dd>one device with its own cores, and the program that submits tasks to it</dd>
<dt>task, block</dt><dd>a task is one submit of a kernel with its arguments; it runs as one or more blocks, each on its core</dd>
<dt>core, cluster</dt><dd>a cluster has a cube core and vector cores; a core runs one block at a time, and may have been given the next one</dd>
<dt>window, cell, notify</dt><dd>a window is memory that other ranks may write; a notify changes one of its cells, and a wait looks at a cell until its value is right</dd>
<dt>producer</dt><dd>a task that has to end before another one starts</dd>
<dt>ring</dt><dd>what a rank has for its live tasks: slots, heap bytes and edges; a full ring stops the program that submits</dd>
<dt>chain of waits</dt><dd>from a wait along what keeps it; it comes back to where it began, or ends with what is missing</dd>
<dt>culprit, victim</dt><dd>the culprit is where a change undoes the failure; victims only wait for the cause</dd>
<dt>proved</dt><dd>nothing could happen any more, and nothing that is left could satisfy the waits</dd></dl></details></section>
)html";

class Page {
 public:
  Page(const Report& report, const snapshot::Snapshot& snapshot, const HtmlOptions& options)
      : report_(report), all_(snapshot), shown_(report, snapshot, options) {}

  std::string write() {
    timeline_ = timeline_part(shown_);
    head();
    verdict();
    text_ += "<div class=\"pair\">\n";
    culprit();
    advice();
    text_ += "</div>\n";
    // When nothing decides, what is missing is the answer.
    const bool missing_first =
        std::any_of(report_.missing.begin(), report_.missing.end(), [](const Missing& each) { return each.decides; }) &&
        report_.code < 0;
    if (missing_first) missing();
    chain();
    waits();
    causes();
    section("ranks", "Ranks", "Those in the same state stand in one line.", rank_part(shown_));
    section("cores", "Cores", "Each square is a core; those of a cluster stand together.", core_part(shown_));
    section("rings", "Rings and queues", "What a rank has for its live tasks, and what is left of it.",
            ring_part(shown_));
    section("timeline", "Around the failure", "The cores and cells of the chain over time, from the flight recorder.",
            timeline_);
    section("tasks", "Tasks", "Those of the chain and of its waits.", task_part(shown_));
    section("cells", "Cells", "What was written into each cell that is waited for.", cell_part(shown_));
    if (!missing_first) missing();
    run();
    text_ += glossary;
    foot();
    return std::move(text_);
  }

 private:
  void head() {
    const std::string program = all_.program.empty() ? "a run" : all_.program;
    text_ += fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
        "script-src '{}'; img-src data:; base-uri 'none'; form-action 'none'\">\n"
        "<meta name=\"referrer\" content=\"no-referrer\">\n<link rel=\"icon\" href=\"data:,\">\n"
        "<title>{}: {}</title>\n<style>{}</style>\n</head>\n<body>\n",
        page_script_hash, escaped(report_.verdict, name_most), escaped(program, name_most), page_style);
    text_ += "<header class=\"top\"><span><b>" + escaped(program, name_most) + "</b>" +
             (all_.variant.empty() ? "" : ", " + escaped(all_.variant, name_most)) + "</span>";
    const auto add = [&](const std::string& name, const std::string& value) {
      if (!value.empty()) text_ += "<span>" + name + escaped(value, name_most) + "</span>";
    };
    add("on ", all_.backend);
    if (!all_.ranks.empty()) add("", base::counted(static_cast<std::int64_t>(all_.ranks.size()), "rank"));
    if (all_.seed) add("seed ", std::to_string(*all_.seed));
    text_ +=
        "<span>Heddle failure report</span></header>\n<nav aria-label=\"Parts of this page\"><div>"
        "<a href=\"#verdict\">Verdict</a>";
    if (!report_.chain.empty()) text_ += "<a href=\"#chain\">Chain</a>";
    if (!report_.waits.empty()) text_ += "<a href=\"#waits\">Waits</a>";
    if (tells_causes()) text_ += "<a href=\"#causes\">Causes looked for</a>";
    text_ +=
        "<a href=\"#ranks\">Ranks</a><a href=\"#cores\">Cores</a><a href=\"#rings\">Rings</a><a href=\"#timeline\">"
        "Timeline</a><a href=\"#tasks\">Tasks</a><a href=\"#cells\">Cells</a><a "
        "href=\"#run\">Run</a></div></nav>\n<main>\n";
  }

  void section(const char* id, const char* title, const char* about, const std::string& content) {
    text_ += fmt::format("<section id=\"{}\"><h2>{}</h2>\n", id, title);
    if (*about != '\0') text_ += fmt::format("<p class=\"soft\">{}</p>\n", about);
    text_ += content + "</section>\n";
  }

  void verdict() {
    const bool is_fine = report_.verdict == "PASSED" || report_.verdict == "NOTHING WAITS";
    const bool is_open = report_.verdict == "UNDECIDED";
    text_ += fmt::format("<div class=\"verdict {}\" id=\"verdict\"><h1>{}</h1>\n",
                         is_fine   ? "good"
                         : is_open ? "open"
                                   : "bad",
                         escaped(report_.verdict, name_most));
    if (report_.code > 0)
      text_ += fmt::format("<div><code>{}</code> <span class=\"soft\">code {}</span></div>\n",
                           escaped(report_.code_name, name_most), report_.code);
    text_ += "<p class=\"lead\">" + sentence_of(report_.sentence) + "</p>\n";
    const CodeInfo* known = nullptr;
    for (const CodeInfo& each : code_table())
      if (report_.code > 0 && static_cast<int>(each.code) == report_.code) known = &each;
    if (known != nullptr) text_ += "<p class=\"soft\">What this is: " + escaped(known->description) + "</p>\n";
    if (!report_.disagreement.empty())
      text_ += "<p>" + badge("but", "held") + " " + escaped(report_.disagreement) + "</p>\n";
    text_ += "</div>\n";
  }
  std::string sentence_of(const std::string& sentence) const { return shown_.linked(sentence, {&report_.culprit}); }

  void culprit() {
    text_ += "<section id=\"culprit\"><h2>Culprit</h2>\n";
    const Party& who = report_.culprit;
    if (who.kind == Party::Kind::none) {
      text_ += "<p class=\"none\">Not known from what was recorded.</p>\n";
    } else {
      text_ += "<p class=\"big\">" + shown_.link(who) + "</p>\n<dl>";
      if (who.source.known())
        text_ += "<dt>source</dt><dd><code>" + escaped(who.source.text(), name_most) + "</code></dd>";
      if (const std::uint32_t core = shown_.situation.core(who.rank, who.core); core != Situation::none) {
        const Party party = shown_.situation.of_core(core);
        text_ += "<dt>core</dt><dd>" + shown_.link(party) + "</dd>";
      }
      for (std::size_t i = 0; i < report_.chain.size(); ++i) {
        const Step& step = report_.chain[i];
        if (step.from.rank != who.rank || step.from.task != who.task || who.task < 0) continue;
        text_ += fmt::format("<dt><a href=\"#step-{0}\">step {0}</a></dt><dd>{1}</dd>", i + 1,
                             shown_.linked(step.sentence, {&step.from, &step.to}));
        break;
      }
      Party task = who;
      task.id = "e.r" + std::to_string(who.rank) + ".t" + std::to_string(who.task);
      if (shown_.has_anchor(task.id)) text_ += "<dt>what it did</dt><dd>" + shown_.link(task, "its events") + "</dd>";
      text_ += "</dl>\n";
    }
    if (!report_.victims.empty()) {
      text_ +=
          fmt::format("<h3>Victims</h3><p class=\"soft\">{} only for the cause, and would go on without it.</p><p>",
                      report_.victims.size() == 1 ? "One task waits" : grouped(report_.victims.size()) + " tasks wait");
      std::size_t told = 0;
      for (const Party& each : report_.victims) {
        if (told == victims_most) break;
        text_ += (told++ == 0 ? "" : ", ") + shown_.link(each);
      }
      text_ += "</p>\n" + left_out(report_.victims.size() - told, "victims");
    }
    text_ += "</section>\n";
  }

  void advice() {
    text_ += "<section id=\"advice\"><h2>What to do</h2>\n";
    constexpr std::string_view again = "to see it again: ";
    std::string items;
    for (const std::string& each : report_.advice)
      if (!each.starts_with(again)) items += "<li>" + escaped(each) + "</li>\n";
    text_ += items.empty() ? "<p class=\"none\">Nothing is known that would undo it.</p>\n"
                           : "<ul class=\"advice\">\n" + items + "</ul>\n";
    text_ += where();
    if (!all_.replay.empty())
      text_ += "<h3>To see it again</h3><div class=\"command\"><code>" + escaped(all_.replay) +
               "</code><button type=\"button\" data-copy hidden>copy</button></div>\n";
    text_ += "</section>\n";
  }

  // The sources of tasks that the advice names.
  std::string where() const {
    std::vector<const Party*> named;
    const auto add = [&](const Party& party) {
      if (party.name.empty() || !party.source.known() || named.size() == sources_most) return;
      if (std::any_of(named.begin(), named.end(), [&](const Party* each) { return each->name == party.name; })) return;
      for (const std::string& each : report_.advice)
        if (each.find(party.name) != std::string::npos) return named.push_back(&party);
    };
    add(report_.culprit);
    for (const Step& step : report_.chain) {
      add(step.from);
      add(step.to);
    }
    if (named.empty()) return {};
    std::string text = "<h3>Where that is</h3><dl>";
    for (const Party* each : named)
      text += "<dt>" + shown_.link(*each, each->name) + "</dt><dd><code>" + escaped(each->source.text(), name_most) +
              "</code></dd>";
    return text + "</dl>\n";
  }

  void chain() {
    if (report_.chain.empty()) return;
    std::string content =
        "<div class=\"chain\"><div class=\"scroll\">\n" + chain_graph(shown_) + "</div><ol class=\"steps\">\n";
    for (std::size_t i = 0; i < report_.chain.size(); ++i) {
      const Step& step = report_.chain[i];
      const bool is_last = i + 1 == report_.chain.size();
      content += fmt::format("<li id=\"step-{}\"{}>{}</li>\n", i + 1, is_last ? " class=\"last\"" : "",
                             shown_.linked(step.sentence, {&step.from, &step.to}));
    }
    content += "</ol></div>\n";
    section("chain", "The chain of waits",
            report_.chain_closes ? "Each waits for the next one, and the last for the first: none can ever go on."
                                 : "Each waits for the next one; the last says what is missing.",
            content);
  }

  void waits() {
    if (report_.waits.empty()) return;
    std::string content;
    std::size_t told = 0;
    bool is_first = true;
    const bool any_cause =
        std::any_of(report_.waits.begin(), report_.waits.end(), [](const WaitReport& wait) { return wait.is_cause; });
    for (const WaitReport& wait : report_.waits) {
      if (told++ == shown_.options.rows) break;
      content +=
          "<div class=\"wait\"><p>" +
          (wait.is_cause ? badge("cause", "bad") + " " : badge(any_cause ? "waits for the cause" : "waits", "") + " ") +
          shown_.linked(wait.sentence, {&wait.who, &wait.what}) + "</p>\n";
      if (!wait.could.empty()) content += could(wait, std::exchange(is_first, false));
      content += "</div>\n";
    }
    section("waits", "Who waits, and who could have satisfied it", "",
            content + left_out(report_.waits.size() - std::min(report_.waits.size(), shown_.options.rows), "waits"));
  }
  std::string could(const WaitReport& wait, bool is_open) const {
    std::string text = fmt::format("<details{}><summary>who could have satisfied it: ", is_open ? " open" : "");
    std::map<Why, std::size_t> counts;
    for (const Satisfier& each : wait.could) ++counts[each.why];
    for (const auto& [why, count] : counts)
      text += badge(fmt::format("{} {}", grouped(count), name_of(why)), look_of(why)) + " ";
    text += "</summary><ul>\n";
    std::size_t told = 0;
    for (const Satisfier& each : wait.could) {
      if (told++ == satisfiers_shown) break;
      text += "<li>" + badge(name_of(each.why), look_of(each.why)) + " " + shown_.linked(each.sentence, {&each.who}) +
              "</li>\n";
    }
    text += "</ul>" + left_out(wait.could.size() - std::min(wait.could.size(), satisfiers_shown), "of these");
    return text + "</details>\n";
  }
  static const char* look_of(Why why) {
    switch (why) {
      case Why::can_still:
        return "good";
      case Why::unknown:
        return "";
      case Why::queued_behind:
      case Why::waits_itself:
        return "held";
      default:
        return "bad";
    }
  }

  bool tells_causes() const { return !report_.hypotheses.empty() && report_.verdict != "NOTHING WAITS"; }
  void causes() {
    if (tells_causes()) {
      std::string rows;
      for (const auto outcome :
           {Hypothesis::Outcome::confirmed, Hypothesis::Outcome::open, Hypothesis::Outcome::excluded})
        for (const Hypothesis& each : report_.hypotheses)
          if (each.outcome == outcome)
            rows += "<tr><td>" + badge(name_of(each.outcome), name_of(each.outcome)) + "</td><td><b>" +
                    escaped(each.name) + "</b></td><td>" + escaped(each.sentence) + "</td></tr>\n";
      section("causes", "What it could have been",
              "Every cause that the snapshot was looked at for, and what decided it.",
              "<div class=\"scroll\"><table class=\"stack\"><thead><tr><th>outcome</th><th>cause</th><th>decided "
              "by</th></tr></thead><tbody>\n" +
                  rows + "</tbody></table></div>\n");
    }
    if (report_.anomalies.empty()) return;
    std::string items = "<ul>\n";
    std::size_t told = 0;
    for (const Anomaly& odd : report_.anomalies) {
      if (told++ == shown_.options.rows) break;
      items += "<li>" + shown_.linked(odd.sentence, {&odd.where}) + "</li>\n";
    }
    section(
        "odd", "What is odd", "",
        items + "</ul>\n" +
            left_out(report_.anomalies.size() - std::min(report_.anomalies.size(), shown_.options.rows), "of these"));
  }

  void missing() {
    if (report_.missing.empty()) return;
    std::string rows;
    for (const Missing& each : report_.missing)
      rows += "<tr><td><code>" + escaped(each.what, name_most) + "</code></td><td>" +
              (each.decides ? badge("would decide", "held") + " " : "") + escaped(each.sentence) + "</td></tr>\n";
    section("missing", "What was not recorded", "With these the answer could be another one, or a surer one.",
            "<div class=\"scroll\"><table class=\"stack\"><thead><tr><th>what</th><th>what it "
            "tells</th></tr></thead><tbody>\n" +
                rows + "</tbody></table></div>\n");
  }

  void run() {
    std::string content = "<dl>";
    const auto add = [&](const char* name, const std::string& value) {
      if (!value.empty()) content += fmt::format("<dt>{}</dt><dd>{}</dd>", name, escaped(value));
    };
    add("program", all_.program);
    add("variant", all_.variant);
    std::string settings;
    for (const snapshot::Setting& each : all_.settings)
      settings += (settings.empty() ? "" : ", ") + each.name + "=" + each.value;
    add("settings", settings);
    add("backend", all_.backend);
    add("fidelity", all_.fidelity);
    add("strategy", all_.strategy);
    if (all_.seed) add("seed", std::to_string(*all_.seed));
    if (all_.trace_hash) add("trace hash", fmt::format("{:016x}", *all_.trace_hash));
    add("taken", all_.taken == snapshot::Taken::standstill ? "when nothing could happen any more"
                 : all_.taken == snapshot::Taken::failure  ? "when it had failed"
                 : all_.taken == snapshot::Taken::request  ? "while it ran"
                                                           : "when is not known");
    if (all_.time) add("at", time_text(*all_.time));
    for (const snapshot::Fault& each : all_.faults)
      add("put in on purpose", each.name + (each.where.empty() ? "" : ", " + each.where));
    add("looked at", fmt::format("{} tasks, {} cores, {} cells; a graph of waits of {} nodes and {} edges",
                                 grouped(all_.tasks.size()), grouped(all_.cores.size()), grouped(all_.cells.size()),
                                 grouped(report_.nodes), grouped(report_.edges)));
    content += "</dl>\n";
    if (!report_.notes.empty()) {
      content += "<h3>Notes</h3><ul>\n";
      std::size_t told = 0;
      for (const std::string& each : report_.notes) {
        if (told++ == shown_.options.rows) break;
        content += "<li>" + escaped(each) + "</li>\n";
      }
      content +=
          "</ul>\n" + left_out(report_.notes.size() - std::min(report_.notes.size(), shown_.options.rows), "notes");
    }
    section("run", "The run", "", content);
  }

  void foot() {
    text_ += fmt::format("</main>\n<footer>{}</footer>\n<script>{}</script>\n</body>\n</html>\n",
                         report_.is_recorded
                             ? "Verdict and code are the runtime's own; the rest is concluded from its snapshot."
                             : "Concluded from the snapshot alone.",
                         page_script);
  }

  static constexpr std::size_t victims_most = 24, satisfiers_shown = 8, sources_most = 6;

  const Report& report_;
  const snapshot::Snapshot& all_;
  Shown shown_;
  std::string timeline_, text_;
};

}  // namespace

std::string to_html(const Report& report, const snapshot::Snapshot& snapshot, const HtmlOptions& options) {
  return Page(report, snapshot, options).write();
}

}  // namespace heddle::doctor
