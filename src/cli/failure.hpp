// SPDX-License-Identifier: Apache-2.0
//
// How the command ends: 0 passed, 1 the program failed, 2 what was asked for cannot be done.
#pragma once

#include <heddle/error.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

namespace heddle::cli {

inline constexpr int exit_passed = 0;
inline constexpr int exit_failed = 1;
inline constexpr int exit_usage = 2;

/// What was asked for cannot be done. The message says in one line what is wrong and what to do.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The same text without line breaks or other control characters.
std::string one_line(std::string_view text);

/// Message and hint of an error, for the places that have one line.
std::string one_line(const Error& error);

/// Prints "heddle: MESSAGE" on the standard error and, when `as_json`, one object on the standard output.
void report_usage(std::string_view message, bool as_json);

/// Whether the option stands among the arguments, for errors found before they are understood.
bool has_flag(int argc, const char* const* argv, std::string_view flag);

}  // namespace heddle::cli
