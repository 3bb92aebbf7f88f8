// SPDX-License-Identifier: Apache-2.0
#include "cli/output.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "cli/failure.hpp"
#include "cli/names.hpp"
#include "cli/progress.hpp"
#include "cli/run_plan.hpp"

namespace heddle::cli {
namespace {

using namespace std::chrono_literals;

std::string unpainted(const std::string& cell, bool) { return cell; }

TEST(Output, NumbersAreGroupedByThousands) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(1234567), "1,234,567");
}

TEST(Output, TimesHaveTheUnitThatSuits) {
  EXPECT_EQ(duration_text(999ns), "999 ns");
  EXPECT_EQ(duration_text(1500ns), "1.5 us");
  EXPECT_EQ(duration_text(2ms), "2 ms");
  EXPECT_EQ(duration_text(12345ms), "12.3 s");
  EXPECT_EQ(duration_text(3h), "10,800 s");
}

TEST(Output, RatesHaveThreeDigits) {
  EXPECT_EQ(rate_text(0.12345), "0.123");
  EXPECT_EQ(rate_text(12.345), "12.3");
  EXPECT_EQ(rate_text(12345.6), "12,346");
}

TEST(Output, TableAlignsAndLeavesEmptyColumnsOut) {
  Table table;
  table.column("name", Table::Align::left);
  table.column("variant", Table::Align::left);
  table.column("count", Table::Align::right);
  table.column("result", Table::Align::left);
  table.row({"a", "", "1", "PASSED"});
  table.row({"longer", "", "1,000", "FAILED"});
  EXPECT_EQ(table.text(unpainted, false),
            "name    count  result\n"
            "a           1  PASSED\n"
            "longer  1,000  FAILED\n");
}

TEST(Output, ErrorInOneLineHasNoLineBreaksAndOnlyAHintOfItsOwn) {
  EXPECT_EQ(one_line(Error(Code::user_error, "one\n  two\n")), "one two");
  EXPECT_EQ(one_line(Error(Code::user_error, "full").with_hint("Make room.")), "full; make room");
}

TEST(Names, NearOneIsProposedElseAllAreListed) {
  EXPECT_EQ(advise("stensil", {"stencil", "vector_add"}, "none"), "did you mean \"stencil\"?");
  EXPECT_EQ(advise("qqqqqqqqqq", {"stencil", "vector_add"}, "none"), "there are: stencil, vector_add");
  EXPECT_EQ(advise("stencil", {}, "none"), "none");
}

TEST(Progress, LineSaysHowFarHowFastAndHowLong) {
  EXPECT_EQ(Progress::line("stencil", 0, 100, 0ns), "stencil  0/100 rounds");
  EXPECT_EQ(Progress::line("stencil", 25, 100, 5s), "stencil  25/100 rounds  5 rounds/s  15 s left");
  EXPECT_EQ(Progress::line("stencil", 1, 1000, 10s), "stencil  1/1000 rounds  0.1 rounds/s  2 h 46 min left");
}

TEST(Numbers, AreWholeAndWithinTheirRange) {
  EXPECT_EQ(parse_number("--ranks", "16", 1, 1024), 16);
  for (const char* text : {"", "0", "1025", "-1", "1x", " 1", "1.5", "99999999999999999999"}) {
    EXPECT_THROW(parse_number("--ranks", text, 1, 1024), UsageError) << text;
  }
}

}  // namespace
}  // namespace heddle::cli
