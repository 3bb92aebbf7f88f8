// SPDX-License-Identifier: Apache-2.0
//
// A report for a terminal, for tools and for people. docs/snapshot.md describes the object, docs/report.md the page.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "doctor/report.hpp"

namespace heddle::doctor {

struct TextOptions {
  std::size_t columns = 80;
  bool colour = false;
  std::size_t lines_of_a_list = 12;  // of waits, victims, members; what is more is counted
};
std::string to_text(const Report& report, const snapshot::Snapshot& snapshot, const TextOptions& options = {});

nlohmann::ordered_json to_json(const Report& report);

// What a page shows of long lists; what is more is counted.
struct HtmlOptions {
  std::size_t rows = 120;      // of a table
  std::size_t blocks = 8;      // of a task
  std::size_t changes = 12;    // of a cell
  std::size_t squares = 4096;  // cores that are drawn
  std::size_t events = 80;     // in the table of what happened
  std::size_t bars = 400;      // in the picture of it
};
// One page that needs nothing else. The same report and snapshot give the same bytes.
std::string to_html(const Report& report, const snapshot::Snapshot& snapshot, const HtmlOptions& options = {});

}  // namespace heddle::doctor
