// SPDX-License-Identifier: Apache-2.0
#include "graph/memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "graph/region_map.hpp"

namespace heddle::graph {
namespace {

constexpr std::size_t small_bytes = std::size_t{64} << 10U;
constexpr std::size_t large_bytes = std::size_t{4} << 20U;  // more than is zeroed by hand

bool is_zero(const LazyMemory& memory) {
  return std::all_of(memory.data(), memory.data() + memory.bytes(), [](std::byte byte) { return byte == std::byte{}; });
}

TEST(MemoryReuse, the_same_pages_come_back_zeroed_for_who_reads_before_writing) {
  const MemoryReuse reuse;
  for (const std::size_t bytes : {small_bytes, large_bytes}) {
    for (const Contents contents : {Contents::any, Contents::zero}) {
      {
        const LazyMemory first(bytes, "a test", contents);
        std::memset(first.data(), 7, first.bytes());
      }
      const LazyMemory second(bytes, "a test", Contents::zero);
      EXPECT_TRUE(is_zero(second));
    }
  }
}

TEST(MemoryReuse, what_its_owner_has_zeroed_is_used_again_whatever_its_size) {
  const MemoryReuse reuse;
  const std::byte* before = nullptr;
  {
    LazyMemory first(large_bytes, "a test");
    before = first.data();
    std::memset(first.data(), 7, 4096);
    std::memset(first.data(), 0, 4096);
    first.was_zeroed();
    LazyMemory moved(std::move(first));  // the promise goes along
  }
  const LazyMemory second(large_bytes, "a test");
  EXPECT_EQ(second.data(), before);
  EXPECT_TRUE(is_zero(second));
}

TEST(MemoryReuse, nothing_is_kept_when_nobody_asked_for_it) {
  EXPECT_FALSE(MemoryReuse::active());
  const MemoryReuse reuse;
  EXPECT_TRUE(MemoryReuse::active());
}

// Contiguous and strided regions, some of them forgotten: the next map of the same size must find none of them.
TEST(MemoryReuse, a_region_map_leaves_nothing_to_the_next_one) {
  const MemoryReuse reuse;
  alignas(64) static std::byte bytes[1U << 16U];
  const auto always = [](TaskRef) { return true; };
  const auto regions = [](auto&& visit) {
    for (std::int64_t n = 0; n < 64; ++n) {
      visit(Region::contiguous(bytes + n * 512, 256));
      const std::int64_t shape[] = {4, 16};
      const std::int64_t stride[] = {64, 1};
      visit(Region::from_view(bytes + 32768 + n * 256, 2, shape, stride, 1));
    }
  };
  for (int turn = 0; turn < 3; ++turn) {
    RegionMap map(1024);
    regions([&](const Region& region) {
      map.collect(region, Access::write, always, [](TaskRef) { FAIL() << "a task of an earlier map"; });
    });
    TaskRef task = 0;
    regions([&](const Region& region) { map.record(region, Access::write, ++task, always); });
    regions([&](const Region& region) { map.record(region, Access::read, ++task, always); });
    int found = 0;
    regions([&](const Region& region) { map.collect(region, Access::write, always, [&](TaskRef) { ++found; }); });
    EXPECT_GT(found, 0);
  }
}

}  // namespace
}  // namespace heddle::graph
