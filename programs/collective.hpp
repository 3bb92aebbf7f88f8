// SPDX-License-Identifier: Apache-2.0
//
// What the collectives share: two parameters, and test data. Their windows persist from round to round. A flag is set
// to the number of the round by the one rank that writes it, so that it never has to be cleared, and what an earlier
// round left behind is never taken for news.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels.hpp"
#include "pattern.hpp"

namespace heddle::programs {

struct Collective {
  std::int64_t count = 65536;
  std::string type = "fp32";

  void parameters(ParameterList& list) {
    list.add("count", count, "elements of a rank's contribution", 1, 1 << 26);
    list.add("type", type, "type of an element", {"fp32", "bf16"});
  }
  static Defaults defaults() { return {.ranks = 4, .rounds = 10}; }
  static std::vector<Variant> matrix() { return {{"fp32", {{"type", "fp32"}}}, {"bf16", {{"type", "bf16"}}}}; }

  /// Calls body.operator()<T>() with the element type.
  template <class Body>
  void with_type(const Body& body) const {
    if (type == "bf16")
      body.template operator()<bf16>();
    else
      body.template operator()<float>();
  }

  template <class T>
  std::uint64_t bytes(std::int64_t elements) const {
    return static_cast<std::uint64_t>(elements) * sizeof(T);
  }
  /// A flag for each of `count` senders or steps.
  static void plan_flags(Plan& plan, const char* name, int flags) {
    plan.window(name, static_cast<std::uint64_t>(std::max(flags, 1)) * sizeof(std::int64_t));
  }
  static Signals<std::int64_t> flags(Orchestrator& graph, const char* name) {
    return graph.window(name).signals<std::int64_t>();
  }
};

/// The value of a flag in this round, the same on all ranks. A fresh window holds 0.
inline std::int64_t now(const Block& block) { return block.round() + 1; }

/// Element i of what `rank` contributes.
inline std::int64_t contribution(const HostIo& io, int rank, std::int64_t i, int values = 127) {
  return (i % pattern_period + rank * 7 + io.round() * 13) % values;
}
/// The same as a sequence that starts with element `first`.
template <class T>
Period<T> contributed(const HostIo& io, int rank, std::int64_t first = 0) {
  return make_period<T>([&](std::int64_t i) { return contribution(io, rank, first + i); });
}

/// Contributions to a sum are integers that keep every partial sum exact: a bf16 holds integers up to 256.
template <class T>
int summand_values(int ranks) {
  return std::is_same_v<T, bf16> ? std::min(127, 256 / ranks) : 127;
}
template <class T>
void check_summands(int ranks) {
  if (summand_values<T>(ranks) < 2)
    detail::throw_invalid("type: sums of bf16 are checked exactly for up to 128 ranks, not " + std::to_string(ranks) +
                          "; use fp32");
}
template <class T>
Period<T> summand(const HostIo& io, int rank) {
  return make_period<T>([&](std::int64_t i) { return contribution(io, rank, i, summand_values<T>(io.ranks())); });
}
/// The sum over all ranks, from element `first` on.
template <class T>
Period<T> total(const HostIo& io, std::int64_t first = 0) {
  return make_period<T>([&](std::int64_t i) {
    std::int64_t sum = 0;
    for (int rank = 0; rank < io.ranks(); ++rank)
      sum += contribution(io, rank, first + i, summand_values<T>(io.ranks()));
    return sum;
  });
}

/// A kernel that sums equally long rows, laid end to end: each block its share of the columns.
template <class T>
void sum_rows(Block& block, View<const T> rows, View<T> sum) {
  if (!block.values()) return;
  const auto [first, size] = share(block, sum.size());
  const View<T> mine = sum.rows(first, size);
  copy(rows.rows(first, size), mine);
  for (std::int64_t row = sum.size(); row < rows.size(); row += sum.size()) add_to(mine, rows.rows(row + first, size));
}

}  // namespace heddle::programs
