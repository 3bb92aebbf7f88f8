// SPDX-License-Identifier: Apache-2.0
#include "graph/region_map.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bitset>
#include <cstdio>
#include <set>
#include <tuple>
#include <vector>

#include "graph/region_test_views.hpp"

namespace heddle::graph {
namespace {

using test::Bytes;
using test::bytes_of;
using test::environment_or;
using test::Random;
using test::random_view;

using Tasks = std::set<TaskRef>;

const auto all_live = [](TaskRef) { return true; };

Region bytes(std::uintptr_t base, std::uint64_t count) {
  return Region::contiguous(reinterpret_cast<const void*>(base), count);
}

Region columns(std::uintptr_t base, std::int64_t first, std::int64_t count, std::int64_t width, std::int64_t rows) {
  const std::int64_t shape[] = {rows, count}, stride[] = {width, 1};
  return Region::from_view(reinterpret_cast<const void*>(base + static_cast<std::uintptr_t>(first) * 4), 2, shape,
                           stride, 4);
}

template <class Live>
Tasks collected(RegionMap& map, const Region& region, Access access, Live&& live) {
  Tasks tasks;
  map.collect(region, access, live, [&tasks](TaskRef task) { tasks.insert(task); });
  return tasks;
}

// The order of all tasks by every byte of every access, and the order that the map's edges give.
class Reference {
 public:
  static constexpr std::size_t tasks_max = 256;
  using TaskSet = std::bitset<tasks_max>;

  struct Argument {
    Region region;
    const Bytes* bytes = nullptr;
    Access access = Access::read;
  };

  TaskSet live;

  bool conflict(const Argument& a, const Argument& b) const {
    return (a.access == Access::write || b.access == Access::write) && (*a.bytes & *b.bytes).any();
  }
  bool conflict(TaskRef earlier, const std::vector<Argument>& later) const {
    for (const auto& a : arguments_[earlier])
      for (const auto& b : later)
        if (conflict(a, b)) return true;
    return false;
  }

  // All live tasks that must precede one with these arguments.
  TaskSet predecessors(const std::vector<Argument>& arguments) const {
    TaskSet before;
    for (TaskRef task = 1; task < arguments_.size(); ++task)
      if (live[task] && conflict(task, arguments)) before |= ancestors_[task] | TaskSet{}.set(task);
    return before & live;
  }
  // What edges from these tasks alone order before.
  TaskSet closure(const Tasks& edges) const {
    TaskSet before;
    for (const TaskRef task : edges) before |= ancestors_[task] | TaskSet{}.set(task);
    return before & live;
  }

  void submit(const std::vector<Argument>& arguments, const TaskSet& before) {
    live.set(arguments_.size());
    arguments_.push_back(arguments);
    ancestors_.push_back(before);
  }
  TaskRef next() const { return arguments_.size(); }

  bool can_complete(TaskRef task) const { return live[task] && (ancestors_[task] & live).none(); }
  void complete_one(Random& random) {
    std::vector<TaskRef> candidates;
    for (TaskRef task = 1; task < arguments_.size(); ++task)
      if (can_complete(task)) candidates.push_back(task);
    if (!candidates.empty()) live.reset(candidates[random.below(candidates.size())]);
  }

 private:
  std::vector<std::vector<Argument>> arguments_{1};
  std::vector<TaskSet> ancestors_{1};
};

struct Counts {
  std::uint64_t tasks = 0, edges = 0, full = 0;
};

void run_random_program(Random& random, Counts& counts) {
  const std::size_t views = random.one_in(2) ? 1 + random.below(12) : 1 + random.below(150);
  std::vector<Region> regions;
  std::vector<Bytes> marks;
  for (std::size_t n = 0; n < views; ++n) {
    const auto view = random_view(random);
    regions.push_back(view.region());
    marks.push_back(bytes_of(view));
  }
  const std::uint64_t reads_in = 1 + random.below(6), deaths_in = 1 + random.below(4);
  const std::size_t arguments_max = 1 + random.below(4);
  RegionMap map(random.one_in(2) ? 4 + static_cast<std::uint32_t>(random.below(12)) : 1024);
  Reference reference;
  const auto live = [&reference](TaskRef task) { return reference.live[task]; };

  while (reference.next() < Reference::tasks_max) {
    std::vector<Reference::Argument> arguments(1 + random.below(arguments_max));
    for (auto& argument : arguments) {
      const std::size_t n = random.below(views);
      argument = {regions[n], &marks[n], random.one_in(reads_in) ? Access::write : Access::read};
    }
    while (!map.reserve(static_cast<std::uint32_t>(arguments.size()), live)) {
      ASSERT_TRUE(reference.live.any()) << "an empty map is full";
      ++counts.full;
      reference.complete_one(random);
    }
    Tasks edges;
    for (const auto& argument : arguments) {
      const Tasks found = collected(map, argument.region, argument.access, live);
      for (const TaskRef task : found) {
        ASSERT_TRUE(live(task));
        ASSERT_TRUE(reference.conflict(task, {argument})) << "task " << task << " shares no byte";
      }
      edges.insert(found.begin(), found.end());
    }
    const auto before = reference.predecessors(arguments);
    ASSERT_EQ(reference.closure(edges), before) << "task " << reference.next();
    const TaskRef task = reference.next();
    reference.submit(arguments, before);
    for (const auto& argument : arguments) ASSERT_TRUE(map.record(argument.region, argument.access, task, live));
    ASSERT_LE(map.in_use(), map.capacity());
    while (random.one_in(deaths_in) && random.below(5) != 0) reference.complete_one(random);
    ++counts.tasks;
    counts.edges += edges.size();
  }
  std::uint32_t held = 0;
  map.for_each_holder(all_live, [&held](const Region&, Access, TaskRef) { ++held; });
  ASSERT_EQ(held, map.in_use());
  ASSERT_EQ(map.overlap_statistics().conservative, 0U);
}

TEST(RegionMap, OrdersTasksExactlyAsTheirBytesDo) {
  const std::uint64_t seed = environment_or("HEDDLE_SEED", 20'240'608);
  const std::uint64_t programs = environment_or("HEDDLE_PROGRAMS", 1'500);
  std::printf("HEDDLE_SEED=%llu HEDDLE_PROGRAMS=%llu\n", static_cast<unsigned long long>(seed),
              static_cast<unsigned long long>(programs));
  Random random(seed);
  Counts counts;
  for (std::uint64_t n = 0; n < programs && !HasFatalFailure(); ++n) {
    SCOPED_TRACE("program " + std::to_string(n));
    run_random_program(random, counts);
  }
  std::printf("%llu tasks, %llu edges, full %llu times\n", static_cast<unsigned long long>(counts.tasks),
              static_cast<unsigned long long>(counts.edges), static_cast<unsigned long long>(counts.full));
  EXPECT_GT(counts.edges, counts.tasks);
  EXPECT_GT(counts.full, programs);
}

TEST(RegionMap, ReadersOfOneRegionStayConcurrent) {
  RegionMap map;
  const Region region = bytes(0x1000, 256);
  ASSERT_TRUE(map.record(region, Access::write, 1, all_live));
  Tasks readers;
  for (TaskRef task = 2; task < 2'000; ++task) {
    EXPECT_EQ(collected(map, region, Access::read, all_live), Tasks{1});
    ASSERT_TRUE(map.record(region, Access::read, task, all_live));
    readers.insert(task);
  }
  Tasks before_a_write = readers;
  before_a_write.insert(1);
  EXPECT_EQ(collected(map, region, Access::write, all_live), before_a_write);
  EXPECT_EQ(collected(map, bytes(0x10ff, 1), Access::write, all_live), before_a_write);
}

TEST(RegionMap, CompletedReadersAreForgottenWhileOthersRun) {
  RegionMap map;
  const Region region = bytes(0x1000, 256);
  TaskRef newest = 0;
  const auto live = [&newest](TaskRef task) { return task == 1 || task + 10 > newest; };
  for (newest = 1; newest < 100'000; ++newest) {
    ASSERT_TRUE(map.record(region, Access::read, newest, live));
    ASSERT_LE(map.in_use(), 40U);
  }
}

TEST(RegionMap, AWriteSupersedesWhatItCoversAndNothingElse) {
  RegionMap map;
  for (TaskRef task = 1; task <= 40; ++task)
    ASSERT_TRUE(
        map.record(bytes(0x1000 + 16 * task, 16), task % 2 == 0 ? Access::write : Access::read, task, all_live));
  EXPECT_EQ(map.in_use(), 40U);
  const Region inner = bytes(0x1000 + 16 * 10 + 1, 16 * 20);  // tasks 10 and 30 in part, 11 to 29 wholly
  EXPECT_EQ(collected(map, inner, Access::write, all_live).size(), 21U);
  ASSERT_TRUE(map.record(inner, Access::write, 41, all_live));
  EXPECT_EQ(map.in_use(), 40U - 19 + 1);
  EXPECT_EQ(collected(map, bytes(0x1000 + 16 * 15, 16), Access::read, all_live), Tasks{41});
  EXPECT_EQ(collected(map, bytes(0x1000 + 16 * 10, 16), Access::read, all_live), (Tasks{10, 41}));
  for (TaskRef task = 42; task < 1'000; ++task) {
    const Region whole = bytes(0x1000, 1024);
    const Tasks found = collected(map, whole, Access::write, all_live);
    ASSERT_TRUE(task == 42 || found == Tasks{task - 1});
    ASSERT_TRUE(map.record(whole, Access::write, task, all_live));
    ASSERT_EQ(map.in_use(), 1U);
  }
}

TEST(RegionMap, AFullMapRefusesAndChangesNothingUntilTasksComplete) {
  RegionMap map(4);
  ASSERT_EQ(map.capacity(), 4U);
  TaskRef oldest = 1;
  const auto live = [&oldest](TaskRef task) { return task >= oldest; };
  for (TaskRef task = 1; task <= 4; ++task)
    ASSERT_TRUE(map.record(bytes(0x100 * task, 0x100), Access::write, task, live));
  const auto holders = [&] {
    std::set<std::tuple<std::uintptr_t, std::uint64_t, Access, TaskRef>> all;
    map.for_each_holder(live, [&all](const Region& region, Access access, TaskRef task) {
      all.insert({region.base, region.extent, access, task});
    });
    return all;
  };
  const auto before = holders();
  ASSERT_EQ(before.size(), 4U);
  EXPECT_FALSE(map.reserve(1, live));
  EXPECT_FALSE(map.reserve(5, live));
  EXPECT_FALSE(map.record(bytes(0x900, 16), Access::write, 5, live));
  EXPECT_FALSE(map.record(bytes(0x100, 0x400), Access::write, 5, live));  // covers all, and still changes nothing
  EXPECT_FALSE(map.record(bytes(0x100, 0x100), Access::read, 5, live));
  EXPECT_EQ(holders(), before);
  EXPECT_EQ(map.in_use(), 4U);
  EXPECT_TRUE(map.record(bytes(0x400, 0x100), Access::write, 5, live));  // takes the place of task 4's
  oldest = 3;
  EXPECT_TRUE(map.reserve(2, live));
  EXPECT_FALSE(map.reserve(3, live));
  EXPECT_TRUE(map.record(bytes(0x900, 16), Access::write, 6, live));
  EXPECT_TRUE(map.record(bytes(0x900, 16), Access::read, 7, live));
  EXPECT_EQ(collected(map, bytes(0, 0x1000), Access::write, live), (Tasks{3, 5, 6, 7}));
}

TEST(RegionMap, MemoryMeetsItselfWhateverNamesIt) {
  RegionMap map;
  const std::int64_t shape[] = {16, 16}, turned[] = {1, 16};
  ASSERT_TRUE(map.record(bytes(0x1000, 1024), Access::write, 1, all_live));
  const Region transposed = Region::from_view(reinterpret_cast<const void*>(0x1000), 2, shape, turned, 4);
  EXPECT_EQ(collected(map, transposed, Access::read, all_live), Tasks{1});
  ASSERT_TRUE(map.record(transposed, Access::write, 2, all_live));
  EXPECT_EQ(map.in_use(), 1U);
  EXPECT_EQ(collected(map, bytes(0x13ff, 8), Access::read, all_live), Tasks{2});     // an odd sub-buffer
  EXPECT_EQ(collected(map, bytes(0x0, 1 << 20), Access::read, all_live), Tasks{2});  // the heap it lies in
  EXPECT_EQ(collected(map, bytes(0x1400, 8), Access::write, all_live), Tasks{});
  EXPECT_EQ(collected(map, columns(0x1000, 3, 2, 16, 16), Access::read, all_live), Tasks{2});
}

TEST(RegionMap, InterleavedColumnsAreIndependent) {
  constexpr std::int64_t width = 600, rows = 50;
  RegionMap map;
  for (TaskRef round = 0; round < 3; ++round) {
    for (std::int64_t column = 0; column < width; ++column) {
      const Region region = columns(0x10000, column, 1, width, rows);
      const TaskRef task = round * width + static_cast<TaskRef>(column) + 1;
      ASSERT_EQ(collected(map, region, Access::write, all_live), round == 0 ? Tasks{} : Tasks{task - width});
      ASSERT_TRUE(map.record(region, Access::write, task, all_live));
    }
  }
  EXPECT_EQ(map.in_use(), static_cast<std::uint32_t>(width));
  EXPECT_EQ(collected(map, bytes(0x10000, width * rows * 4), Access::read, all_live).size(), std::size_t{width});
  EXPECT_EQ(collected(map, columns(0x10000, 10, 7, width, rows), Access::read, all_live).size(), 7U);
}

TEST(RegionMap, MoreRegionsThanItRemembersComeAndGo) {
  RegionMap map(64);
  TaskRef newest = 0;
  const auto live = [&newest](TaskRef task) { return task + 20 > newest; };
  for (newest = 1; newest < 50'000; ++newest) {
    const bool strided = newest % 3 == 0;
    const auto place = static_cast<std::int64_t>(newest % 5'000);
    const Region region =
        strided ? columns(0x1000000, place, 1, 5'000, 3) : bytes(0x10000 + static_cast<std::uintptr_t>(place) * 24, 24);
    ASSERT_EQ(collected(map, region, Access::write, live), Tasks{});
    ASSERT_TRUE(map.record(region, Access::write, newest, live));
    ASSERT_LE(map.regions(), 2 * map.capacity() + 64);
  }
}

// Who asks at points where others may run must ask the same wherever the memory lies.
std::vector<TaskRef> questions_at(std::uintptr_t base, std::uint64_t seed) {
  Random random(seed);
  RegionMap map(4096);
  std::vector<TaskRef> asked;
  const auto live = [&](TaskRef task) {
    asked.push_back(task);
    return task % 3 != 0;
  };
  for (TaskRef task = 1; task <= 600; ++task) {
    const auto at = base + random.below(4096);
    const bool is_wide = random.below(8) == 0;
    const Region region = random.below(4) == 0 ? columns(base, static_cast<std::int64_t>(random.below(16)), 4, 64, 12)
                                               : bytes(at, 1 + random.below(is_wide ? 4096 : 64));
    const Access access = random.below(2) == 0 ? Access::read : Access::write;
    map.collect(region, access, live, [&](TaskRef other) { asked.push_back(other); });
    EXPECT_TRUE(map.record(region, access, task, live));
    asked.push_back(0);
  }
  return asked;
}

TEST(RegionMap, WhatItAsksDoesNotDependOnWhereMemoryLies) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const auto here = questions_at(std::uintptr_t{1} << 40U, seed);
    for (const std::uintptr_t there : {0x7f12'3456'7000U + 0x40U, 0x5555'0000'0ff0U, 0x7fff'ffff'e000U})
      ASSERT_EQ(questions_at(there, seed), here) << "seed " << seed;
  }
}

TEST(RegionMap, AnEmptyRegionTakesPartInNothing) {
  RegionMap map(1);
  ASSERT_TRUE(map.record(bytes(0x1000, 16), Access::write, 1, all_live));
  EXPECT_TRUE(map.record(bytes(0x1008, 0), Access::write, 2, all_live));
  EXPECT_EQ(collected(map, bytes(0x1008, 0), Access::write, all_live), Tasks{});
  EXPECT_EQ(map.in_use(), 1U);
}

}  // namespace
}  // namespace heddle::graph
