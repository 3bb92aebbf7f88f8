// SPDX-License-Identifier: Apache-2.0
#include "lab/rates.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace heddle::lab {
namespace {

// Newcombe's own examples of the score interval (Stat. Med. 17 (1998) 857, table I): 81 of 263, 15 of 148, 0 of 20,
// 1 of 29, at 95 %.
TEST(Rates, TheIntervalIsThatOfThePublishedExamples) {
  constexpr double z = 1.959964;
  const auto expect = [&](std::uint64_t hits, std::uint64_t runs, double low, double high) {
    const Interval found = wilson(hits, runs, z);
    EXPECT_NEAR(found.low, low, 5e-5) << hits << " of " << runs;
    EXPECT_NEAR(found.high, high, 5e-5) << hits << " of " << runs;
  };
  expect(81, 263, 0.2553, 0.3662);
  expect(15, 148, 0.0624, 0.1605);
  expect(0, 20, 0.0000, 0.1611);
  expect(1, 29, 0.0061, 0.1718);
}

TEST(Rates, PairsThatDifferOneWayOnlyAreAsLikelyAsThatManyCoins) {
  EXPECT_DOUBLE_EQ(chance_of_no_change({.both = 7, .neither = 9}), 1);
  EXPECT_NEAR(chance_of_no_change({.only_as_is = 10}), 2.0 / 1024, 1e-12);
  EXPECT_NEAR(chance_of_no_change({.only_changed = 10}), 2.0 / 1024, 1e-12);
  EXPECT_NEAR(chance_of_no_change({.only_as_is = 8, .only_changed = 2}), 2.0 * (1 + 10 + 45) / 1024, 1e-12);
  EXPECT_DOUBLE_EQ(chance_of_no_change({.only_as_is = 5, .only_changed = 5}), 1);
}

TEST(Rates, AFailureThatIsGoneIsInvolvedAndOneThatStaysIsExcluded) {
  EXPECT_EQ(judge({.only_as_is = 100}, 15).standing, Standing::involved);
  EXPECT_EQ(judge({.both = 100}, 15).standing, Standing::excluded);
  EXPECT_EQ(judge({.both = 90, .only_as_is = 3, .only_changed = 2, .neither = 5}, 15).standing, Standing::excluded);
  // Fails far more often.
  EXPECT_EQ(judge({.both = 20, .only_changed = 60, .neither = 20}, 15).standing, Standing::involved);
}

TEST(Rates, WithFewRunsNothingIsSaid) {
  EXPECT_EQ(judge({}, 1).standing, Standing::open);
  EXPECT_EQ(judge({.only_as_is = 3}, 1).standing, Standing::open);
  EXPECT_EQ(judge({.both = 2}, 1).standing, Standing::open);
  EXPECT_EQ(judge({.only_as_is = 3, .only_changed = 3, .neither = 94}, 1).standing, Standing::open);
}

TEST(Rates, WhoAsksMoreHasToSeeMore) {
  const Pairs pairs{.only_as_is = 7};
  EXPECT_EQ(judge(pairs, 1).standing, Standing::involved);
  EXPECT_EQ(judge(pairs, 20).standing, Standing::open);
  EXPECT_GT(judge(pairs, 1).confidence, judge(pairs, 20).confidence);
}

// What is said with 95 % confidence is wrong at most that often.
TEST(Rates, ConfidenceIsKept) {
  constexpr int trials = 2'000;
  std::mt19937_64 random(1);
  const auto wrong = [&](double as_is, double changed, Standing bad) {
    int count = 0;
    for (int trial = 0; trial < trials; ++trial) {
      Pairs pairs;
      for (int run = 0; run < 200; ++run) {
        const bool a = std::generate_canonical<double, 53>(random) < as_is;
        const bool b = std::generate_canonical<double, 53>(random) < changed;
        ++(a ? b ? pairs.both : pairs.only_as_is : b ? pairs.only_changed : pairs.neither);
      }
      count += judge(pairs, 1).standing == bad ? 1 : 0;
    }
    return count;
  };
  const int most = static_cast<int>(trials * 0.05 + 3 * std::sqrt(trials * 0.05 * 0.95));
  for (const double same : {0.03, 0.2, 0.5, 0.95}) EXPECT_LE(wrong(same, same, Standing::involved), most) << same;
  for (const double rate : {0.1, 0.4, 0.9}) EXPECT_LE(wrong(rate, rate * 0.49, Standing::excluded), most) << rate;
  for (const double rate : {0.1, 0.4}) EXPECT_LE(wrong(rate, rate * 2.05, Standing::excluded), most) << rate;
}

}  // namespace
}  // namespace heddle::lab
