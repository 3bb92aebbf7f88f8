// SPDX-License-Identifier: Apache-2.0
//
// For tests: a page as a browser takes it apart, as far as ours need it. What is not strictly written is an error.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heddle::doctor {

struct ReadPage {
  std::string error;              // the first one, with what stands there; empty: none
  std::vector<std::string> tags;  // "td class", "/td": with the names of their attributes
  std::set<std::string> ids;
  std::vector<std::string> links;   // what href has after its #
  std::vector<std::string> others;  // any other address, and attributes that run code
  std::string text;                 // what is read; entities as they are

  // The first thing that keeps it from being well formed and closed in itself; empty: nothing does.
  std::string wrong() const {
    if (!error.empty()) return error;
    if (!others.empty()) return "something from outside, or code: " + others.front();
    for (const std::string& link : links)
      if (!ids.contains(link)) return "a link to nothing: " + link;
    return {};
  }
};

class PageReader {
 public:
  explicit PageReader(std::string_view page) : left_(page) {}

  ReadPage read() {
    constexpr std::string_view doctype = "<!DOCTYPE html>\n";
    if (!left_.starts_with(doctype)) return fail("no doctype");
    left_.remove_prefix(doctype.size());
    while (!left_.empty() && page_.error.empty()) {
      const std::size_t open = std::min(left_.find('<'), left_.size());
      text(left_.substr(0, open));
      left_.remove_prefix(open);
      if (!left_.empty()) tag();
    }
    if (page_.error.empty() && !open_.empty()) return fail("<" + open_.back() + "> is never closed");
    return page_;
  }

 private:
  ReadPage fail(const std::string& what) {
    if (page_.error.empty()) page_.error = what + ", at: " + std::string(left_.substr(0, 120));
    return page_;
  }
  void text(std::string_view piece) {
    page_.text += piece;
    if (piece.find('>') != std::string_view::npos) fail("a > in text: " + std::string(piece.substr(0, 80)));
    for (std::size_t at = piece.find('&'); at != std::string_view::npos; at = piece.find('&', at + 1)) {
      const std::string_view rest = piece.substr(at);
      bool known = false;
      for (const std::string_view each : {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"})
        known = known || rest.starts_with(each);
      if (!known) fail("a bare & in text: " + std::string(rest.substr(0, 40)));
    }
  }
  static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
  }
  std::string word() {
    std::size_t length = 0;
    while (length < left_.size() && is_letter(left_[length])) ++length;
    std::string made(left_.substr(0, length));
    left_.remove_prefix(length);
    return made;
  }
  void tag() {
    left_.remove_prefix(1);
    const bool closes = left_.starts_with('/');
    if (closes) left_.remove_prefix(1);
    const std::string name = word();
    if (name.empty()) return void(fail("a tag without a name"));
    std::string shape = (closes ? "/" : "") + name;
    while (left_.starts_with(' ')) {
      left_.remove_prefix(1);
      attribute(shape);
    }
    const bool alone = left_.starts_with('/');
    if (alone) left_.remove_prefix(1);
    if (!left_.starts_with('>')) return void(fail("<" + name + "> does not end"));
    left_.remove_prefix(1);
    page_.tags.push_back(shape);
    if (closes) {
      if (open_.empty() || open_.back() != name) return void(fail("</" + name + "> closes nothing"));
      open_.pop_back();
    } else if (!alone && name != "meta" && name != "link") {
      open_.push_back(name);
      if (name == "script" || name == "style") raw(name);
    }
  }
  void attribute(std::string& shape) {
    const std::string name = word();
    if (name.empty()) return void(fail("an attribute without a name"));
    shape += " " + name;
    if (!left_.starts_with('=')) return;
    if (!left_.starts_with("=\"")) return void(fail("an attribute without quotes"));
    left_.remove_prefix(2);
    const std::size_t end = left_.find('"');
    if (end == std::string_view::npos) return void(fail("an attribute without an end"));
    const std::string value(left_.substr(0, end));
    left_.remove_prefix(end + 1);
    if (value.find_first_of("<>\n") != std::string::npos) fail("an attribute with < in it: " + value);
    if (name == "id" && !page_.ids.insert(value).second) fail("the id " + value + " stands there twice");
    if (name.starts_with("on")) page_.others.push_back(name + "=" + value);
    if (name == "href" && value.starts_with('#'))
      page_.links.push_back(value.substr(1));
    else if ((name == "href" && value != "data:,") || name == "src" || name == "srcdoc" || name == "action")
      page_.others.push_back(name + "=" + value);
  }
  // Up to its end, and nothing in between counts.
  void raw(const std::string& name) {
    const std::size_t end = left_.find("</" + name);
    if (end == std::string_view::npos) return void(fail("<" + name + "> is never closed"));
    left_.remove_prefix(end);
  }

  std::string_view left_;
  std::vector<std::string> open_;
  ReadPage page_;
};

}  // namespace heddle::doctor
