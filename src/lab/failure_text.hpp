// SPDX-License-Identifier: Apache-2.0
//
// Pieces of a failure file's text: values that stay in their line, and the checksum.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace heddle::lab {

// Control characters and backslashes as \n, \\ and \x1f.
std::string escaped(std::string_view text);
// nullopt: no such escape.
std::optional<std::string> unescaped(std::string_view text);

// FNV-1a over the bytes.
std::uint64_t checksum(std::string_view text) noexcept;

}  // namespace heddle::lab
