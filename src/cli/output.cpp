// SPDX-License-Identifier: Apache-2.0
#include "cli/output.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

namespace heddle::cli {
namespace {

std::string painted(std::string_view text, const char* attribute, bool colour) {
  return colour ? fmt::format("\x1b[{}m{}\x1b[0m", attribute, text) : std::string(text);
}

/// What a terminal shows of it: continuation bytes of UTF-8 take no room.
std::size_t shown_width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

std::string padded(std::string_view text, std::size_t width, Table::Align align) {
  const std::size_t shown = shown_width(text);
  const std::string room(width > shown ? width - shown : 0, ' ');
  return align == Table::Align::left ? std::string(text) + room : room + std::string(text);
}

}  // namespace

bool is_terminal(int descriptor) { return ::isatty(descriptor) == 1; }

bool wants_colour(int descriptor) {
  const char* refused = std::getenv("NO_COLOR");
  if (refused != nullptr && *refused != '\0') return false;
  const char* terminal = std::getenv("TERM");
  return is_terminal(descriptor) && terminal != nullptr && std::strcmp(terminal, "dumb") != 0;
}

std::string green(std::string_view text, bool colour) { return painted(text, "1;32", colour); }
std::string red(std::string_view text, bool colour) { return painted(text, "1;31", colour); }
std::string bold(std::string_view text, bool colour) { return painted(text, "1", colour); }

std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string duration_text(std::chrono::nanoseconds time) {
  const double nanoseconds = static_cast<double>(time.count());
  if (nanoseconds < 1e3) return fmt::format("{:.0f} ns", nanoseconds);
  if (nanoseconds < 1e6) return fmt::format("{:.3g} us", nanoseconds / 1e3);
  if (nanoseconds < 1e9) return fmt::format("{:.3g} ms", nanoseconds / 1e6);
  if (nanoseconds < 100e9) return fmt::format("{:.3g} s", nanoseconds / 1e9);
  return fmt::format("{} s", grouped(static_cast<std::uint64_t>(nanoseconds / 1e9)));
}

std::string rate_text(double per_second) {
  if (per_second < 999.5) return fmt::format("{:.3g}", per_second);
  return grouped(static_cast<std::uint64_t>(std::llround(per_second)));
}

void Table::column(std::string title, Align align) { columns_.push_back({std::move(title), align}); }

void Table::row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

std::string Table::text(std::string (*paint)(const std::string& cell, bool colour), bool colour) const {
  std::vector<std::size_t> widths(columns_.size(), 0);
  for (const auto& cells : rows_) {
    for (std::size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], shown_width(cells[i]));
  }
  std::string result;
  const auto add_line = [&](auto cell_of) {
    std::string line;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (widths[i] == 0) continue;
      const std::size_t width = std::max(widths[i], shown_width(columns_[i].title));
      if (!line.empty()) line += "  ";
      line += cell_of(i, width);
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    result += line + '\n';
  };
  add_line([&](std::size_t i, std::size_t width) { return padded(columns_[i].title, width, columns_[i].align); });
  for (const auto& cells : rows_) {
    add_line([&](std::size_t i, std::size_t width) {
      const bool is_last = i + 1 == columns_.size();
      return is_last ? paint(cells[i], colour) : padded(cells[i], width, columns_[i].align);
    });
  }
  return result;
}

void write_json(const nlohmann::ordered_json& object) {
  const std::string text = object.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fputc('\n', stdout);
}

bool finish_output() {
  errno = 0;
  const bool reached = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (!reached) {
    fmt::print(stderr, "heddle: cannot write to the standard output: {}\n", std::strerror(errno != 0 ? errno : EIO));
  }
  return reached;
}

}  // namespace heddle::cli
