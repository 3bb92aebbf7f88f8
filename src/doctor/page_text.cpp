// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "doctor/page.hpp"

namespace heddle::doctor {
namespace {

constexpr std::string_view replaced = "\xef\xbf\xbd";

// The length of the character that begins there, if it is a whole one and may be shown; else 0.
std::size_t length_of(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned char first = byte(0);
  const std::size_t length = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
  if (length == 0 || first > 0xf4 || length > text.size()) return 0;
  if (length == 1) return first < 0x20 || first == 0x7f ? 0 : 1;
  std::uint32_t code = first & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return 0;
    code = code << 6U | (byte(i) & 0x3fU);
  }
  if (code < (length == 4 ? 0x10000U : length == 3 ? 0x800U : 0x80U) || code > 0x10ffff) return 0;
  const bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
  const bool is_control = code < 0xa0 || (code & 0xfffeU) == 0xfffe || (code >= 0xfdd0 && code <= 0xfdef);
  const bool turns = (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) || code == 0x200e ||
                     code == 0x200f || code == 0x61c || code == 0x2028 || code == 0x2029;
  return is_surrogate || is_control || turns ? 0 : length;
}

}  // namespace

std::string escaped(std::string_view text, std::size_t most) {
  std::string safe;
  safe.reserve(text.size() + text.size() / 8);
  for (std::size_t count = 0; !text.empty(); ++count) {
    if (count == most) return safe + "…";
    const std::size_t length = length_of(text);
    const char c = text.front();
    if (length != 1) {
      safe += length == 0 ? (c == '\n' || c == '\t' ? " " : replaced) : text.substr(0, length);
    } else if (c == '&') {
      safe += "&amp;";
    } else if (c == '<') {
      safe += "&lt;";
    } else if (c == '>') {
      safe += "&gt;";
    } else if (c == '"') {
      safe += "&quot;";
    } else if (c == '\'') {
      safe += "&#39;";
    } else {
      safe += c;
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return safe;
}

std::string anchor_of(std::string_view id) {
  constexpr std::size_t most = 96;
  std::string anchor;
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : id) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    if (anchor.size() >= most) continue;
    const bool is_plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
    anchor += is_plain ? std::string(1, c) : fmt::format(":{:02x}", static_cast<unsigned char>(c));
  }
  return id.size() > most ? fmt::format("{}:{:016x}", anchor, hash) : anchor;
}

std::size_t width_of(std::string_view text) {
  std::size_t width = 0;
  for (const char c : text) width += (static_cast<unsigned char>(c) & 0xc0U) != 0x80 ? 1 : 0;
  return width;
}

std::string time_text(std::uint64_t ns) {
  const auto in = [&](std::uint64_t unit, const char* name) {
    return fmt::format("{}.{:03} {}", ns / unit, ns % unit / (unit / 1000), name);
  };
  return ns < 1'000'000 ? in(1'000, "µs") : ns < 1'000'000'000 ? in(1'000'000, "ms") : in(1'000'000'000, "s");
}

std::string grouped(std::uint64_t count) {
  std::string text = std::to_string(count);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

std::string optional_number(std::int64_t value) { return value < 0 ? "–" : std::to_string(value); }

std::string sign_text(const std::string& compare) {
  return compare == ">=" ? "≥" : compare == "<=" ? "≤" : compare == "!=" ? "≠" : compare == "==" ? "=" : compare;
}

std::string value_text(const WaitReport& wait) {
  std::string text;
  if (wait.has) text += "has " + std::to_string(*wait.has);
  if (wait.needs)
    text += (text.empty() ? "needs " : " · needs ") + (wait.compare.empty() ? "" : sign_text(wait.compare) + " ") +
            std::to_string(*wait.needs);
  return text;
}

std::string colour_of(std::int64_t number) { return "k" + std::to_string(number < 0 ? 0 : number % 8); }

std::string left_out(std::uint64_t count, std::string_view what) {
  return count == 0 ? ""
                    : fmt::format("<p class=\"left\">… and {} more {}, not on this page</p>\n", grouped(count), what);
}

std::string badge(std::string_view words, std::string_view kind) {
  return fmt::format("<span class=\"badge {}\">{}</span>", kind, escaped(words, name_most));
}

}  // namespace heddle::doctor
