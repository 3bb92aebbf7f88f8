// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace heddle::snapshot {

// Of what a file says, in a line that says what is wrong with it.
inline constexpr std::size_t message_bytes_most = 60;

// A long text up to a whole character, so that what is told of it stays within bounds.
inline std::string cut(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text;
  constexpr std::string_view more = "…";
  std::size_t end = most - more.size();
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80) --end;
  return text.substr(0, end).append(more);
}

}  // namespace heddle::snapshot
