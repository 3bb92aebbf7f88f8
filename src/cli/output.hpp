// SPDX-License-Identifier: Apache-2.0
//
// Writing for people and for tools: colours, numbers, tables, JSON.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::cli {

bool is_terminal(int descriptor);
/// A terminal that shows colours, and a user who did not refuse them (NO_COLOR).
bool wants_colour(int descriptor);

std::string green(std::string_view text, bool colour);
std::string red(std::string_view text, bool colour);
std::string bold(std::string_view text, bool colour);

/// "12,345".
std::string grouped(std::uint64_t number);
/// "1.23 s", "45.6 ms", with three digits.
std::string duration_text(std::chrono::nanoseconds time);
/// Three digits of what is below a thousand.
std::string rate_text(double per_second);

/// Columns as wide as their widest cell. A column whose cells are all empty is left out.
class Table {
 public:
  enum class Align : std::uint8_t { left, right };
  void column(std::string title, Align align);
  void row(std::vector<std::string> cells);
  /// Lines end with a line feed. `paint` gets each cell of the last column, already padded.
  std::string text(std::string (*paint)(const std::string& cell, bool colour), bool colour) const;

 private:
  struct Column {
    std::string title;
    Align align;
  };
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// One object on the standard output, and a line feed. Bytes that are not UTF-8 are replaced.
void write_json(const nlohmann::ordered_json& object);

/// Whether everything written to the standard output has reached it; reports on the standard error when not.
bool finish_output();

}  // namespace heddle::cli
