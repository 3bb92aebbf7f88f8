// SPDX-License-Identifier: Apache-2.0
//
// Wrong use of the command: each a line that says what to do, exit code 2, and nothing on the standard output.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/child.hpp"

namespace heddle::test {

struct BadInput {
  std::string title;
  std::vector<std::string> arguments;
  std::vector<std::string> says;  ///< pieces of the line
};

inline void PrintTo(const BadInput& input, std::ostream* out) { *out << input.title; }

inline void expect_refused_in_one_line(const BadInput& input) {
  const Outcome outcome = run_command(input.arguments);
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, testing::StartsWith("heddle: "));
  EXPECT_TRUE(is_one_line(outcome.err)) << outcome.err;
  for (const std::string& text : input.says) EXPECT_THAT(outcome.err, testing::HasSubstr(text));
}

}  // namespace heddle::test
