// SPDX-License-Identifier: Apache-2.0
//
// Pieces that error messages are built from.
#pragma once

#include <cstdint>
#include <heddle/types.hpp>
#include <span>
#include <string>
#include <string_view>

namespace heddle::base {

// The candidate that `name` is most likely a misspelling of; empty when none is close.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates);

// ` (did you mean "padded"?)`, or nothing.
std::string did_you_mean(std::string_view name, std::span<const std::string_view> candidates);

// "a, b, c".
std::string join(std::span<const std::string_view> items);

// In double quotes; control characters as '?', so that a message stays one line.
std::string quoted(std::string_view text);

// "[2, 3]".
std::string shape_text(const std::int64_t* shape, int rank);

// ">=" and its like.
const char* sign_of(Compare compare);

// "1 dimension", "2 dimensions".
std::string counted(std::int64_t count, std::string_view noun);

}  // namespace heddle::base
