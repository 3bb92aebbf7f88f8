// SPDX-License-Identifier: Apache-2.0
#include "lab/rates.hpp"

#include <algorithm>
#include <cmath>

namespace heddle::lab {
namespace {

constexpr double z_most = 8;

double rate(std::uint64_t hits, std::uint64_t runs) { return static_cast<double>(hits) / static_cast<double>(runs); }

// The lower bound of a - weight * b.
double least_difference(std::uint64_t a, std::uint64_t b, std::uint64_t runs, double weight, double z) {
  const double difference = rate(a, runs) - weight * rate(b, runs);
  const double down = rate(a, runs) - wilson(a, runs, z).low;
  const double up = weight * (wilson(b, runs, z).high - rate(b, runs));
  return difference - std::sqrt(down * down + up * up);
}

bool is_similar(const Pairs& pairs, double z) {
  return least_difference(pairs.changed(), pairs.as_is(), pairs.count(), 0.5, z) >= 0 &&
         2 * least_difference(pairs.as_is(), pairs.changed(), pairs.count(), 0.5, z) >= 0;
}

bool is_beyond(const Pairs& pairs) {
  return pairs.changed() * 2 < pairs.as_is() || pairs.changed() > pairs.as_is() * 2;
}

double corrected(double confidence, std::uint64_t questions) {
  const double chance = (1 - confidence) * static_cast<double>(std::max<std::uint64_t>(questions, 1));
  return std::clamp(1 - chance, 0.0, most_confidence);
}

}  // namespace

const char* name_of(Standing standing) noexcept {
  switch (standing) {
    case Standing::excluded:
      return "excluded";
    case Standing::involved:
      return "involved";
    case Standing::open:
      break;
  }
  return "open";
}

Interval wilson(std::uint64_t hits, std::uint64_t runs, double z) {
  if (runs == 0) return {};
  const double n = static_cast<double>(runs), p = rate(hits, runs), z2 = z * z;
  const double middle = (p + z2 / (2 * n)) / (1 + z2 / n);
  const double half = z / (1 + z2 / n) * std::sqrt(p * (1 - p) / n + z2 / (4 * n * n));
  // Rounding may leave what is seen outside.
  return {std::clamp(middle - half, 0.0, p), std::clamp(middle + half, p, 1.0)};
}

double chance_of_no_change(const Pairs& pairs) {
  const std::uint64_t differ = pairs.only_as_is + pairs.only_changed;
  if (differ == 0) return 1;
  const double n = static_cast<double>(differ);
  double tail = 0;
  for (std::uint64_t k = 0; k <= std::min(pairs.only_as_is, pairs.only_changed); ++k) {
    const auto i = static_cast<double>(k);
    tail += std::exp(std::lgamma(n + 1) - std::lgamma(i + 1) - std::lgamma(n - i + 1) - n * std::log(2.0));
  }
  return std::min(1.0, 2 * tail);
}

double confidence_of_similar(const Pairs& pairs) {
  if (pairs.count() == 0 || pairs.as_is() == 0 || !is_similar(pairs, 0)) return 0;
  double holds = 0, fails = z_most;
  if (is_similar(pairs, fails)) holds = fails;
  while (fails - holds > 1e-6) {
    const double middle = (holds + fails) / 2;
    (is_similar(pairs, middle) ? holds : fails) = middle;
  }
  return 0.5 * std::erfc(-holds / std::sqrt(2.0));
}

Judgement judge(const Pairs& pairs, std::uint64_t questions) {
  if (pairs.count() == 0) return {};
  Judgement judgement;
  if (is_beyond(pairs)) {
    judgement.confidence = corrected(1 - chance_of_no_change(pairs), questions);
    if (judgement.confidence >= enough_confidence) judgement.standing = Standing::involved;
  } else {
    judgement.confidence = corrected(confidence_of_similar(pairs), questions);
    if (judgement.confidence >= enough_confidence) judgement.standing = Standing::excluded;
  }
  return judgement;
}

}  // namespace heddle::lab
