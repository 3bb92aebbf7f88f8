// SPDX-License-Identifier: Apache-2.0
//
// Pieces of a failure file's text: values that stay in their line, and the checksum.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace heddle::lab {

// Control characters and backslashes as \n, \\ and \x1f.
std::string escaped(std::string_view text);
// A name or value that is not right, as a message has it: in quotes, in one line, and no more of it than one can read.
std::string shown(std::string_view text);
// nullopt: no such escape.
std::optional<std::string> unescaped(std::string_view text);

// What a file of the laboratory's holds in a 32-bit word, and what is said of a line that is wrong: invalid_argument.
inline constexpr std::uint64_t word_most = std::numeric_limits<std::uint32_t>::max();
[[noreturn]] void refuse(std::uint64_t line, const std::string& why);

// FNV-1a over the bytes; of a text in pieces, each piece is given the checksum of those before it.
inline constexpr std::uint64_t checksum_of_nothing = 0xcbf29ce484222325U;
std::uint64_t checksum(std::string_view text, std::uint64_t before = checksum_of_nothing) noexcept;

}  // namespace heddle::lab
