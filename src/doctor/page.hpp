// SPDX-License-Identifier: Apache-2.0
//
// What the parts of the HTML page share: text that is safe to stand in it, what of the snapshot it shows, and links to
// that. Every byte that comes from a snapshot passes through escaped() or anchor_of().
#pragma once

#include <cstdint>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doctor/report.hpp"
#include "doctor/situation.hpp"
#include "doctor/write.hpp"

namespace heddle::doctor {

inline constexpr std::size_t sentence_most = 2000;  // characters
inline constexpr std::size_t name_most = 120;

// For text and for attributes in double quotes. What is no UTF-8, steers a terminal or turns the direction of writing
// is replaced; what is longer ends with an ellipsis.
std::string escaped(std::string_view text, std::size_t most = sentence_most);
// The same id for the same party, of characters that need no escape in an attribute or an address.
std::string anchor_of(std::string_view id);
std::size_t width_of(std::string_view text);  // in characters
// "41.373 µs"
std::string time_text(std::uint64_t ns);
// "1,234"
std::string grouped(std::uint64_t count);
std::string optional_number(std::int64_t value);    // "–" for one that is not known
std::string sign_text(const std::string& compare);  // "≥"
// "has 7 · needs ≥ 8"
std::string value_text(const WaitReport& wait);
// Colours of ranks and of tasks: "k0" to "k7".
std::string colour_of(std::int64_t number);

// A list of which the page shows a part: indices of the snapshot's own list, and how many are not shown.
struct Part {
  std::vector<std::uint32_t> shown;
  std::uint64_t left = 0;
};

// What of a snapshot stands on the page.
class Shown {
 public:
  Shown(const Report& report, const snapshot::Snapshot& snapshot, const HtmlOptions& options);

  const Report& report;
  const snapshot::Snapshot& all;
  const HtmlOptions& options;
  const Situation situation;

  Part ranks, tasks, cores, cells, rings;
  std::set<std::pair<int, std::int64_t>> involved;  // tasks of the chain, of waits that are the cause, the culprit

  // A party's own row, or that of its task, its core or its rank; empty when the page has none.
  std::string target(const Party& party) const;
  // The text, as a link where there is a row for it.
  std::string link(const Party& party, std::string_view text = {}) const;
  // A sentence in which the parties' names are links.
  std::string linked(const std::string& sentence, std::initializer_list<const Party*> parties) const;
  void add_anchor(const std::string& id) { anchors_.insert(id); }
  bool has_anchor(const std::string& id) const { return anchors_.contains(id); }

 private:
  void choose_ranks();
  void choose_tasks();
  void choose_cores();
  void choose_cells();
  void choose_rings();
  std::vector<const Party*> parties() const;  // the most important first

  std::set<std::string> anchors_;
};

// Ends a list: how many are not on the page.
std::string left_out(std::uint64_t count, std::string_view what);
// A badge of a word.
std::string badge(std::string_view words, std::string_view kind);

// ---- the parts
std::string chain_graph(const Shown& shown);
// Those in the same state, a line each.
std::string class_list(const Shown& shown, Party::Kind of);
std::string rank_part(const Shown& shown);
std::string core_part(const Shown& shown);
std::string ring_part(const Shown& shown);
std::string task_part(const Shown& shown);
std::string cell_part(const Shown& shown);
// Registers what it can be linked to; to be made before the parts that link to it.
std::string timeline_part(Shown& shown);
std::string event_table(Shown& shown);

extern const char* const page_style;
extern const char* const page_script;
extern const char* const page_script_hash;  // as a Content-Security-Policy has it

}  // namespace heddle::doctor
