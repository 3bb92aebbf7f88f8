// SPDX-License-Identifier: Apache-2.0
#include "base/text.hpp"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <vector>

namespace heddle::base {
namespace {

// Single-character edits that make one of the other, letters of both cases taken as equal.
std::size_t edit_distance(std::string_view left, std::string_view right) {
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  std::vector<std::size_t> row(right.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < left.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < right.size(); ++j) {
      const std::size_t replaced = diagonal + (lower(left[i]) == lower(right[j]) ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates) {
  constexpr std::size_t longest_compared = 64;
  if (name.empty() || name.size() > longest_compared) return {};
  std::string_view best;
  std::size_t least = name.size() / 3 + 1;  // so many edits still look like a slip
  for (const std::string_view candidate : candidates) {
    if (candidate.size() > longest_compared) continue;
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < std::max(name.size(), candidate.size()) &&
        (distance < least || (distance == least && best.empty()))) {
      best = candidate;
      least = distance;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view name, std::span<const std::string_view> candidates) {
  const std::string_view best = nearest_name(name, candidates);
  return best.empty() ? std::string() : " (did you mean " + quoted(best) + "?)";
}

std::string join(std::span<const std::string_view> items) {
  std::string text;
  for (const std::string_view item : items) {
    if (!text.empty()) text += ", ";
    text += item;
  }
  return text;
}

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) result += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  result += '"';
  return result;
}

std::string shape_text(const std::int64_t* shape, int rank) {
  std::string text = "[";
  for (int d = 0; d < rank; ++d) {
    if (d > 0) text += ", ";
    text += std::to_string(shape[d]);
  }
  return text + "]";
}

const char* sign_of(Compare compare) {
  switch (compare) {
    case Compare::eq:
      return "==";
    case Compare::ne:
      return "!=";
    case Compare::gt:
      return ">";
    case Compare::ge:
      return ">=";
    case Compare::lt:
      return "<";
    case Compare::le:
      return "<=";
  }
  return "?";
}

std::string counted(std::int64_t count, std::string_view noun) {
  std::string text = std::to_string(count) + " ";
  text += noun;
  if (count != 1) text += "s";
  return text;
}

}  // namespace heddle::base
