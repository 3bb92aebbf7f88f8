// SPDX-License-Identifier: Apache-2.0
#include "lab/failure_text.hpp"

#include <fmt/format.h>

#include <charconv>
#include <heddle/error.hpp>
#include <system_error>

#include "base/text.hpp"

namespace heddle::lab {

void refuse(std::uint64_t line, const std::string& why) {
  detail::throw_invalid(fmt::format("line {}: {}", line, why));
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if (letter == '\\') {
      result += "\\\\";
    } else if (letter == '\n') {
      result += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      result += fmt::format("\\x{:02x}", byte);
    } else {
      result += letter;
    }
  }
  return result;
}

std::string shown(std::string_view text) {
  constexpr std::size_t most = 80;
  return text.size() <= most ? base::quoted(text) : base::quoted(std::string(text.substr(0, most)) + "…");
}

std::optional<std::string> unescaped(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const char letter = text.front();
    text.remove_prefix(1);
    if (static_cast<unsigned char>(letter) < 0x20) return std::nullopt;
    if (letter != '\\') {
      result += letter;
    } else if (text.starts_with("\\") || text.starts_with("n")) {
      result += text.front() == 'n' ? '\n' : '\\';
      text.remove_prefix(1);
    } else if (text.starts_with("x") && text.size() >= 3) {
      unsigned byte = 0;
      const auto [end, problem] = std::from_chars(text.data() + 1, text.data() + 3, byte, 16);
      if (problem != std::errc() || end != text.data() + 3) return std::nullopt;
      result += static_cast<char>(byte);
      text.remove_prefix(3);
    } else {
      return std::nullopt;
    }
  }
  return result;
}

std::uint64_t checksum(std::string_view text, std::uint64_t before) noexcept {
  for (const char letter : text) before = (before ^ static_cast<unsigned char>(letter)) * 0x100000001b3U;
  return before;
}

}  // namespace heddle::lab
