// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <heddle/error.hpp>
#include <nlohmann/json.hpp>
#include <optional>

#include "doctor/draw_chain.hpp"
#include "doctor/page_reader.hpp"
#include "doctor/write.hpp"
#include "fuzz/targets.hpp"
#include "snapshot/json.hpp"

namespace heddle::fuzz {
namespace {

constexpr std::size_t page_bytes_most = std::size_t{4} << 20U;

std::optional<snapshot::Snapshot> parsed(std::string_view text) {
  try {
    return snapshot::parse(text);
  } catch (const Error& error) {
    require(error.code() == Code::invalid_argument, "a refusal with another code: " + error.message());
    check_refusal(error.message());
    return std::nullopt;
  }
}

void check_text(const std::string& text, bool is_painted) {
  const auto steers = [&](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\n' && !(is_painted && c == '\x1b')) || c == 0x7f;
  };
  require(std::none_of(text.begin(), text.end(), steers), "the text steers a terminal: " + text);
}

void check_page(const std::string& page) {
  require(page.size() <= page_bytes_most, "a page of " + std::to_string(page.size()) + " bytes");
  const std::string wrong = doctor::PageReader(page).read().wrong();
  require(wrong.empty(), "the page: " + wrong);
}

// What is read whole stays what it is when it is written and read again, and so does what is concluded from it.
void check_again(const snapshot::Snapshot& read, const std::string& report) {
  const std::string written = snapshot::to_json(read);
  const std::optional<snapshot::Snapshot> again = parsed(written);
  require(again.has_value(), "what was read cannot be written and read again");
  require(snapshot::to_json(*again) == written, "what was written and read again is another snapshot");
  require(doctor::to_json(doctor::diagnose(*again)).dump() == report, "the same snapshot is explained in another way");
}

bool is_cut_off(const snapshot::Snapshot& read) {
  return std::any_of(read.notes.begin(), read.notes.end(),
                     [](const std::string& note) { return note.starts_with("the file is cut off"); });
}

}  // namespace

void check_refusal(const std::string& message) {
  require(!message.empty() && message.size() < 2000, "a refusal of " + std::to_string(message.size()) + " bytes");
  require(message.find('\n') == std::string::npos, "a refusal of several lines: " + message);
}

void snapshot(std::string_view text) {
  const std::optional<snapshot::Snapshot> read = parsed(text);
  if (!read) return;
  const doctor::Report report = doctor::diagnose(*read);
  require(!report.verdict.empty(), "a report without a verdict");
  const std::string json = doctor::to_json(report).dump();  // throws for what is not UTF-8
  if (!is_cut_off(*read)) check_again(*read, json);
  check_text(doctor::to_text(report, *read), false);
  check_text(doctor::to_text(report, *read, {.columns = 1, .colour = true, .lines_of_a_list = 1}), true);
  check_page(doctor::to_html(report, *read));
  check_page(
      doctor::to_html(report, *read, {.rows = 1, .blocks = 1, .changes = 1, .squares = 1, .events = 1, .bars = 1}));
  (void)doctor::draw_chain(report);
}

}  // namespace heddle::fuzz
