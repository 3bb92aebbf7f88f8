// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/text.hpp"
#include "doctor/write.hpp"
#include "snapshot/fields.hpp"

namespace heddle::doctor {
namespace {

constexpr const char* bold = "\x1b[1m";
constexpr const char* red = "\x1b[1;31m";
constexpr const char* green = "\x1b[1;32m";
constexpr const char* plain = "\x1b[0m";

// Columns that UTF-8 takes, taking each character as one.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80; }));
}

// What a snapshot says may hold anything: nothing of it reaches the terminal as a command.
std::string clean(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return text;
}

class Text {
 public:
  Text(const Report& report, const snapshot::Snapshot& snapshot, const TextOptions& options)
      : report_(report), all_(snapshot), options_(options) {}

  std::string write() {
    first_lines();
    chain();
    waits();
    victims();
    classes();
    list("What is odd", report_.anomalies, [](const Anomaly& odd) { return odd.sentence; });
    hypotheses();
    missing();
    list("What to do", report_.advice, [](const std::string& sentence) { return sentence; });
    list("Notes", report_.notes, [](const std::string& sentence) { return sentence; });
    return std::move(text_);
  }

 private:
  std::string painted(const char* colour, const std::string& text) const {
    return options_.colour ? colour + text + plain : text;
  }

  // Words from `indent` on, the first line after `head`, which may be longer than a line.
  void paragraph(const std::string& head, std::size_t indent, std::string sentence) {
    text_ += head;
    std::size_t at = width_of(head);
    std::string_view left = sentence = clean(std::move(sentence));
    bool is_first = true;
    while (!left.empty()) {
      const std::size_t blank = std::min(left.find(' '), left.size());
      const std::string_view word = left.substr(0, blank);
      left.remove_prefix(std::min(blank + 1, left.size()));
      const std::size_t width = width_of(word);
      if (!is_first && at + 1 + width > options_.columns) {
        text_ += "\n" + std::string(indent, ' ');
        at = indent;
        is_first = true;
      }
      if (!is_first) text_ += " ";
      at += width + (is_first ? 0 : 1);
      text_ += word;
      is_first = false;
    }
    text_ += "\n";
  }
  void title(const std::string& words) { text_ += "\n" + painted(bold, words) + "\n"; }
  void more(std::size_t count, std::size_t indent) {
    if (count != 0) text_ += std::string(indent, ' ') + "… and " + std::to_string(count) + " more\n";
  }

  void first_lines() {
    const bool is_fine = report_.verdict == "PASSED" || report_.verdict == "NOTHING WAITS";
    std::string line = painted(is_fine ? green : red, clean(report_.verdict));
    if (report_.code > 0) line += "  " + clean(report_.code_name) + " (" + std::to_string(report_.code) + ")";
    text_ += line + "\n";
    paragraph("  ", 2, report_.sentence);
    if (report_.culprit.kind != Party::Kind::none) {
      std::string who = report_.culprit.text;
      if (report_.culprit.source.known()) who += ", " + report_.culprit.source.text();
      paragraph("culprit   ", 10, who);
    }
    if (const std::string run = run_text(); !run.empty()) paragraph("run       ", 10, run);
    if (!report_.disagreement.empty()) paragraph("but       ", 10, report_.disagreement);
  }
  std::string run_text() const {
    std::string text = all_.program;
    const auto add = [&](const std::string& piece) {
      if (!piece.empty()) text += (text.empty() ? "" : ", ") + piece;
    };
    add(all_.variant);
    add(all_.backend);
    if (all_.seed) add("seed " + std::to_string(*all_.seed));
    if (all_.taken != snapshot::Taken::unknown)
      add(all_.taken == snapshot::Taken::standstill ? "taken when nothing could happen any more"
          : all_.taken == snapshot::Taken::failure  ? "taken when it had failed"
                                                    : "taken while it ran");
    return text;
  }

  void chain() {
    if (report_.chain.empty()) return;
    title("The chain of waits");
    std::size_t number = 0;
    for (const Step& step : report_.chain) {
      ++number;
      const std::string head = (number < 10 ? "  " : " ") + std::to_string(number) + ". ";
      paragraph(head, 5, step.sentence);
    }
  }

  void waits() {
    if (report_.waits.empty()) return;
    title("Who waits, and who could have satisfied it");
    std::size_t lines = 0;
    for (const WaitReport& wait : report_.waits) {
      if (lines == options_.lines_of_a_list) break;
      ++lines;
      paragraph(wait.is_cause ? "  * " : "  - ", 4, wait.sentence);
      std::size_t told = 0;
      for (const Satisfier& each : wait.could) {
        if (told++ == 3) break;
        paragraph("      " + std::string(name_of(each.why)) + ": ", 8, each.sentence);
      }
      if (wait.could.size() > 3) more(wait.could.size() - 3, 6);
    }
    more(report_.waits.size() - lines, 2);
    const bool any = std::any_of(report_.waits.begin(), report_.waits.end(), [](const auto& w) { return w.is_cause; });
    if (any) text_ += "  (* part of the cause)\n";
  }

  void victims() {
    if (report_.victims.empty()) return;
    std::string names;
    std::size_t told = 0;
    for (const Party& each : report_.victims) {
      if (told == options_.lines_of_a_list) break;
      names += (told++ == 0 ? "" : ", ") + each.text;
    }
    if (told < report_.victims.size()) names += ", and " + std::to_string(report_.victims.size() - told) + " more";
    title("Victims");
    paragraph("  ", 2, base::counted(static_cast<std::int64_t>(report_.victims.size()), "task") + ": " + names);
  }

  void classes() {
    list("Who is in the same state", report_.classes,
         [](const StateClass& each) { return each.text + ": " + each.state; });
  }

  template <class Items, class Words>
  void list(const char* name, const Items& items, Words words) {
    if (items.empty()) return;
    title(name);
    std::size_t lines = 0;
    for (const auto& item : items) {
      if (lines == options_.lines_of_a_list) break;
      ++lines;
      paragraph("  - ", 4, words(item));
    }
    more(items.size() - lines, 2);
  }

  void hypotheses() {
    if (report_.hypotheses.empty() || report_.verdict == "NOTHING WAITS") return;
    title("What it could have been");
    for (const Hypothesis& each : report_.hypotheses) {
      std::string outcome = name_of(each.outcome);
      outcome.resize(10, ' ');
      paragraph("  " + outcome, 12, each.name + ": " + each.sentence);
    }
  }

  void missing() {
    if (report_.missing.empty()) return;
    title("What was not recorded");
    for (const Missing& each : report_.missing) {
      paragraph(each.decides ? "  ! " : "  - ", 4, each.what + ": " + each.sentence);
    }
    const bool any =
        std::any_of(report_.missing.begin(), report_.missing.end(), [](const auto& m) { return m.decides; });
    if (any) text_ += "  (! it would decide)\n";
  }

  const Report& report_;
  const snapshot::Snapshot& all_;
  const TextOptions& options_;
  std::string text_;
};

}  // namespace

std::string to_text(const Report& report, const snapshot::Snapshot& snapshot, const TextOptions& options) {
  return Text(report, snapshot, options).write();
}

}  // namespace heddle::doctor
