// SPDX-License-Identifier: Apache-2.0
//
// Whether something changes how often a program fails: the same schedules were run without and with it.
#pragma once

#include <cstdint>

namespace heddle::lab {

// Schedules that were run twice, as they are and with one thing changed.
struct Pairs {
  std::uint64_t both = 0;        // fail either way
  std::uint64_t only_as_is = 0;  // fail as they are
  std::uint64_t only_changed = 0;
  std::uint64_t neither = 0;

  std::uint64_t count() const { return both + only_as_is + only_changed + neither; }
  std::uint64_t as_is() const { return both + only_as_is; }
  std::uint64_t changed() const { return both + only_changed; }
};

struct Interval {
  double low = 0, high = 1;
};
// Of the rate of which `hits` of `runs` were seen; `z`: the normal quantile of its confidence. Wilson, "Probable
// inference, the law of succession, and statistical inference", J. Am. Stat. Assoc. 22 (1927) 209.
Interval wilson(std::uint64_t hits, std::uint64_t runs, double z);

// How likely pairs are at least as uneven as these when the change changes nothing: of those that differ, each kind is
// as likely. McNemar, "Note on the sampling error of the difference between correlated proportions", Psychometrika 12
// (1947) 153, with the binomial distribution itself.
double chance_of_no_change(const Pairs& pairs);

// With what confidence the rate with the change is at least half, and at most twice, of the rate without. Both bounds
// are of a weighted difference of two rates, from their Wilson intervals: Newcombe, "Interval estimation for the
// difference between independent proportions", Stat. Med. 17 (1998) 873, method 10.
double confidence_of_similar(const Pairs& pairs);

enum class Standing : std::uint8_t {
  excluded,  // the rate stays within half and twice of what it was
  involved,  // it does not
  open,      // there are too few runs to tell
};
const char* name_of(Standing standing) noexcept;

struct Judgement {
  Standing standing = Standing::open;
  double confidence = 0;  // of what is said; open: of the likelier one. Never more than `most_confidence`
};
inline constexpr double enough_confidence = 0.95;
inline constexpr double most_confidence = 0.9999;

// `questions`: how many changes are judged in all. With more of them each has to show more (Bonferroni).
Judgement judge(const Pairs& pairs, std::uint64_t questions);

}  // namespace heddle::lab
