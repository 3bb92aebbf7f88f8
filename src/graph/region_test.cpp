// SPDX-License-Identifier: Apache-2.0
#include "graph/region.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

#include "graph/region_test_views.hpp"

namespace heddle::graph {
namespace {

using test::Bytes;
using test::bytes_of;
using test::dense;
using test::describe;
using test::environment_or;
using test::Random;
using test::random_view;
using test::ViewCase;

bool shared(const Region& a, const Region& b) {
  OverlapStatistics statistics;
  const bool forth = overlaps(a, b, statistics);
  EXPECT_EQ(forth, overlaps(b, a, statistics));
  EXPECT_EQ(statistics.conservative, 0U);
  return forth;
}

// Views come from a pool of ready-marked ones; a pool of n gives n * n distinct pairs, and it is renewed often.
TEST(Region, EveryPairOfViewsMeetsExactlyWhenItSharesAByte) {
  const std::uint64_t seed = environment_or("HEDDLE_SEED", 20'240'607);
  const std::uint64_t pairs = environment_or("HEDDLE_PAIRS", 6'000'000);
  std::printf("HEDDLE_SEED=%llu HEDDLE_PAIRS=%llu\n", static_cast<unsigned long long>(seed),
              static_cast<unsigned long long>(pairs));
  Random random(seed);
  struct Ready {
    ViewCase view;
    Region region;
    Bytes bytes;
  };
  std::vector<Ready> pool(512);
  OverlapStatistics statistics;
  std::uint64_t meeting = 0, missing = 0, containing = 0, contained_and_said_so = 0;
  for (std::uint64_t pair = 0; pair < pairs; ++pair) {
    if (pair % (pool.size() * 16) == 0)
      for (auto& ready : pool) {
        ready.view = random_view(random);
        ready.region = ready.view.region();
        ready.bytes = bytes_of(ready.view);
      }
    const Ready& a = pool[random.below(pool.size())];
    const Ready& b = pool[random.below(pool.size())];
    const bool meet = (a.bytes & b.bytes).any();
    const bool contain = (b.bytes & ~a.bytes).none();
    ASSERT_EQ(overlaps(a.region, b.region, statistics), meet) << describe(a.view) << " | " << describe(b.view);
    const bool said = covers(a.region, b.region);
    ASSERT_TRUE(contain || !said) << describe(a.view) << " | " << describe(b.view);
    if (a.region.rank == 0) {
      ASSERT_EQ(said, contain) << describe(a.view) << " | " << describe(b.view);
    }
    ++(meet ? meeting : missing);
    containing += contain ? 1U : 0U;
    contained_and_said_so += contain && said ? 1U : 0U;
  }
  std::printf("meeting %llu, apart %llu, searched %llu; contained %llu, proved %llu\n",
              static_cast<unsigned long long>(meeting), static_cast<unsigned long long>(missing),
              static_cast<unsigned long long>(statistics.searches), static_cast<unsigned long long>(containing),
              static_cast<unsigned long long>(contained_and_said_so));
  EXPECT_EQ(statistics.conservative, 0U);
  EXPECT_GT(meeting, pairs / 5);
  EXPECT_GT(missing, pairs / 5);
  EXPECT_GT(statistics.searches, pairs / 5);
  EXPECT_GE(contained_and_said_so * 10, containing * 9);
}

TEST(Region, TheFormKeepsEveryByteAndNoOther) {
  Random random(environment_or("HEDDLE_SEED", 7));
  for (int n = 0; n < 100'000; ++n) {
    const ViewCase view = random_view(random);
    const Region region = view.region();
    ViewCase form{region.base, region.rank, {}, {}, 1};
    Bytes bytes;
    for (std::uint64_t b = 0; b < region.run; ++b) {
      form.base = region.base + b;
      for (std::size_t d = 0; d < region.rank; ++d) {
        form.shape[d] = static_cast<std::int64_t>(region.dims[d].count);
        form.stride[d] = static_cast<std::int64_t>(region.dims[d].stride);
      }
      mark(bytes, form, 0, form.base);
    }
    ASSERT_EQ(bytes, bytes_of(view)) << describe(view);
    for (std::size_t d = 1; d < region.rank; ++d) ASSERT_GT(region.dims[d - 1].stride, region.dims[d].stride);
  }
}

TEST(Region, TheSameBytesGiveTheSameRegionWhateverTheView) {
  const Region floats = dense(0x1000, {6, 4, 8}, 4).region();
  EXPECT_EQ(floats, Region::contiguous(reinterpret_cast<const void*>(0x1000), 6 * 4 * 8 * 4));
  EXPECT_EQ(floats, dense(0x1000, {768}, 1).region());
  EXPECT_EQ(floats, dense(0x1000, {96}, 8).region());
  ViewCase tile{0x1000, 2, {8, 16}, {64, 1}, 4};
  ViewCase turned{0x1000, 2, {16, 8}, {1, 64}, 4};
  ViewCase wider{0x1000, 3, {8, 8, 1}, {32, 1, 999}, 8};
  ViewCase split{0x1000, 4, {4, 2, 4, 4}, {128, 64, 4, 1}, 4};
  EXPECT_EQ(tile.region(), turned.region());
  EXPECT_EQ(tile.region(), wider.region());
  EXPECT_EQ(tile.region(), split.region());
  EXPECT_EQ(tile.region().rank, 1);
  EXPECT_EQ(tile.region().run, 64U);
}

TEST(Region, OverlappingRowsOfASlidingWindowAreOneRun) {
  const ViewCase window{0x1000, 2, {10, 4}, {2, 1}, 4};
  EXPECT_EQ(window.region(), Region::contiguous(reinterpret_cast<const void*>(0x1000), (9 * 2 + 4) * 4));
}

TEST(Region, AViewOfNothingMeetsNothing) {
  const Region whole = dense(0x1000, {64}, 4).region();
  for (const auto& shape : {std::vector<std::int64_t>{0}, {4, 0}, {0, 4}}) {
    const Region none = dense(0x1010, shape, 4).region();
    EXPECT_TRUE(none.empty());
    EXPECT_FALSE(shared(none, whole));
    EXPECT_FALSE(shared(none, none));
    EXPECT_TRUE(covers(whole, none));
    EXPECT_FALSE(covers(none, whole));
  }
}

TEST(Region, InterleavedColumnsOfALargeMatrixStayApart) {
  constexpr std::int64_t rows = 100'000, columns = 4'099;
  const auto column = [](std::int64_t first, std::int64_t count, std::int64_t width) {
    return ViewCase{0x10'0000'0000 + static_cast<std::uintptr_t>(first) * 4, 2, {rows, count}, {width, 1}, 4}.region();
  };
  EXPECT_FALSE(shared(column(0, 1, columns), column(1, 1, columns)));
  EXPECT_FALSE(shared(column(0, 8, columns), column(8, 8, columns)));
  EXPECT_TRUE(shared(column(0, 9, columns), column(8, 8, columns)));
  EXPECT_FALSE(shared(column(0, 1, 2 * columns), column(columns, 1, 2 * columns)));
  EXPECT_TRUE(shared(column(0, 1, columns), column(5, 1, columns + 1)));  // rows meet where 5 + j = i * columns
}

TEST(Region, StridesThatNeverMeetAreProvedApartWithoutEnumeration) {
  // Even against odd multiples of 4 bytes; about 10^12 elements each.
  const ViewCase even{0x10'0000'0000, 1, {1'000'000'000'000}, {6}, 4};
  const ViewCase odd{0x10'0000'0004, 1, {1'000'000'000'000}, {10}, 4};
  EXPECT_FALSE(shared(even.region(), odd.region()));
  ViewCase late = odd;  // 6 i = 2 + 10 j has solutions
  late.base += 4;
  EXPECT_TRUE(shared(even.region(), late.region()));
}

TEST(Region, OnePhaseOfAFineLatticeMissesAnother) {
  // Everything is a multiple of 20 bytes, five bytes apart; the coarse lattice alone has 10^8 elements.
  const ViewCase fine{0x10'0000'0000, 1, {5'000'000'000}, {20}, 1};
  ViewCase coarse{0x10'0000'0005, 2, {100'019, 1'020}, {1'000'020, 980}, 1};
  EXPECT_FALSE(shared(fine.region(), coarse.region()));
  coarse.element = 16;
  coarse.stride = {62'505, 60};
  EXPECT_TRUE(shared(fine.region(), coarse.region()));
}

// Two sparse lattices with unrelated strides: only enumeration tells that they miss each other.
TEST(Region, AnAnswerThatCostsTooMuchIsYesAndCounted) {
  const ViewCase a{0x10'0000'0000, 2, {5'003, 5}, {1'000'003, 200'003}, 1};
  const ViewCase b{0x10'0000'0007, 2, {5'009, 5}, {1'000'033, 200'017}, 1};
  const auto elements = [](const ViewCase& view) {
    std::vector<std::uintptr_t> all;
    for (std::int64_t i = 0; i < view.shape[0]; ++i)
      for (std::int64_t j = 0; j < view.shape[1]; ++j)
        all.push_back(view.base + static_cast<std::uintptr_t>(i * view.stride[0] + j * view.stride[1]));
    std::sort(all.begin(), all.end());
    return all;
  };
  const auto of_a = elements(a), of_b = elements(b);
  std::vector<std::uintptr_t> common;
  std::set_intersection(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(), std::back_inserter(common));
  ASSERT_TRUE(common.empty());
  OverlapStatistics statistics;
  EXPECT_TRUE(overlaps(a.region(), b.region(), statistics));
  EXPECT_EQ(statistics.conservative, 1U);
}

TEST(Region, ContainmentOfNestedRectanglesIsSeen) {
  const auto tile = [](std::int64_t row, std::int64_t column, std::int64_t rows, std::int64_t columns,
                       std::int64_t step = 1) {
    const std::int64_t offset = row * 100 + column;
    return ViewCase{0x4000 + static_cast<std::uintptr_t>(offset) * 4, 2, {rows, columns}, {100 * step, 1}, 4}.region();
  };
  EXPECT_TRUE(covers(tile(0, 0, 100, 100), tile(3, 4, 5, 6)));
  EXPECT_TRUE(covers(tile(2, 3, 20, 20), tile(3, 4, 5, 6)));
  EXPECT_TRUE(covers(tile(2, 3, 20, 20), tile(3, 4, 1, 6)));
  EXPECT_TRUE(covers(tile(2, 3, 20, 20), tile(3, 4, 5, 6, 2)));
  EXPECT_TRUE(covers(tile(1, 0, 10, 20, 2), tile(3, 4, 2, 6, 4)));
  EXPECT_FALSE(covers(tile(1, 0, 10, 20, 2), tile(2, 4, 2, 6, 4)));
  EXPECT_FALSE(covers(tile(2, 3, 20, 20), tile(3, 4, 19, 20)));
  EXPECT_FALSE(covers(tile(2, 3, 20, 20), tile(1, 4, 5, 6)));
  EXPECT_FALSE(covers(tile(2, 3, 20, 20), tile(0, 0, 100, 100)));
}

TEST(Region, ViewsThatDoNotFitTheAddressSpaceAreTakenAsEverythingAbove) {
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  const Region all = ViewCase{0x1000, 3, {huge, huge, huge}, {huge, huge, 1}, 8}.region();
  EXPECT_EQ(all.rank, 0);
  EXPECT_EQ(all.end(), Region::address_limit);
  EXPECT_TRUE(shared(all, dense(0x9000, {4}, 4).region()));
  EXPECT_FALSE(shared(all, dense(0x900, {4}, 4).region()));
  const Region line = ViewCase{0x1000, 1, {huge}, {1}, 8}.region();
  EXPECT_EQ(line, all);
  const Region high = dense(~std::uintptr_t{0} - 4, {1}, 4).region();
  EXPECT_TRUE(shared(high, all));
  const Region widest{0x1000, 1, Region::address_limit - 0x1000, 1, {Region::Dim{2, Region::address_limit - 0x1001}}};
  const Region middle{0x1001, 1, Region::address_limit - 0x1003, 1, {Region::Dim{2, Region::address_limit - 0x1004}}};
  EXPECT_FALSE(shared(widest, middle));
}

}  // namespace
}  // namespace heddle::graph
