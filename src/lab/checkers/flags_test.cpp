// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/checkers/feed.hpp"

namespace heddle::lab::checkers {
namespace {

using ::testing::HasSubstr;
using Kind = HalfEvent::Kind;

// A block of a mixed task takes three parts: the cube half, and two vector halves.
class FlagsTest : public ::testing::Test {
 protected:
  FlagsTest() { feed.round(0); }

  TaskId submit(const char* name, std::uint32_t blocks = 1) {
    return feed.submit(0, name, {}, {}, {3 * blocks, false, true, 7, mixed_cores});
  }
  void begin(TaskId task, std::uint32_t block = 0) {
    for (std::uint32_t part = 0; part < 3; ++part) feed.begin(task, 3 * block + part, part);
  }
  void end(TaskId task, std::uint32_t block = 0) {
    for (std::uint32_t part = 0; part < 3; ++part) {
      feed.set.half({task, 3 * block + part}, {});
      feed.end({task, 3 * block + part});
    }
  }
  void tell(TaskId task, std::uint32_t part, Kind kind, bool from_cube, std::uint32_t half, std::uint32_t flag,
            bool tile = false) {
    HalfEvent event;
    event.kind = kind;
    event.from_cube = from_cube;
    event.tile = tile;
    event.flag = flag;
    event.part = half;
    event.cluster = 5;
    event.cell = Feed::cell(counts, 0, half * 64 + flag * 2 + (from_cube ? 1 : 0));
    event.location = {"kernel.cpp", 10 + part};
    feed.set.half({task, part}, event);
  }
  void hand(TaskId task, std::uint32_t half, bool from_cube, std::uint32_t flag, bool tile = false) {
    tell(task, from_cube ? 0 : 1 + half, Kind::gave, from_cube, half, flag, tile);
    tell(task, from_cube ? 1 + half : 0, Kind::took, from_cube, half, flag, tile);
  }

  Feed feed{1, {"flags", "races"}};
  const heddle::detail::WindowTable* counts = feed.window("counts", 4096);
};

TEST_F(FlagsTest, halves_that_count_the_same_are_not_accused) {
  const TaskId task = submit("even", 2);
  begin(task);
  for (const std::uint32_t half : {0U, 1U})
    for (const bool from_cube : {true, false}) {
      hand(task, half, from_cube, 3);
      hand(task, half, from_cube, 3);
      hand(task, half, from_cube, 0, true);
    }
  end(task);
  begin(task, 1);
  end(task, 1);
  feed.set.completed(task);
  EXPECT_EQ(feed.found(), "");
}

TEST_F(FlagsTest, kernel_that_leaves_a_flag_is_named_with_both_halves_and_where_they_count) {
  const TaskId task = submit("uneven");
  begin(task);
  hand(task, 1, true, 3);
  tell(task, 0, Kind::gave, true, 1, 3);
  EXPECT_EQ(feed.found(), "") << "it may still be taken";
  end(task);
  EXPECT_EQ(
      feed.found(),
      "flags: flags_unbalanced (54): rank 0, task uneven (program.cpp:7), block 0 has ended, and flag 3 of cluster 5 "
      "is not balanced: its cube half set 2 times, last at kernel.cpp:10, its vector half 1 waited for 1 time, last at "
      "kernel.cpp:12; 1 of them stay for the kernel that comes next there [rank 0, task uneven, block 0, "
      "program.cpp:7]");
}

TEST_F(FlagsTest, kernel_that_takes_what_another_one_left_is_told_as_such) {
  const TaskId task = submit("thief");
  begin(task);
  tell(task, 0, Kind::took, false, 0, 2);
  end(task);
  EXPECT_THAT(feed.found(),
              HasSubstr("its vector half 0 set 0 times, its cube half waited for 1 time, last at kernel.cpp:10; "
                        "1 of them had been left there by another kernel"));
}

TEST_F(FlagsTest, tiles_that_are_left_are_found_too) {
  const TaskId task = submit("tiles");
  begin(task);
  tell(task, 0, Kind::gave, true, 0, 0, true);
  end(task);
  EXPECT_THAT(feed.found(), HasSubstr("tiles of cluster 5 are not balanced: its cube half pushed 1 time"));
}

TEST_F(FlagsTest, block_that_was_cancelled_is_not_accused) {
  const TaskId task = submit("cancelled");
  begin(task);
  tell(task, 0, Kind::gave, true, 0, 1);
  for (std::uint32_t part = 0; part < 3; ++part) feed.end({task, part});
  EXPECT_EQ(feed.found(), "");
}

TEST_F(FlagsTest, flag_orders_what_its_halves_do_to_memory) {
  const Piece memory = Feed::piece(0, feed.memory(64), 8);
  for (const bool flagged : {true, false}) {
    const TaskId task = submit("passes");
    begin(task);
    feed.store_now({task, 0}, memory);
    if (flagged) hand(task, 0, true, 1);
    feed.set.scalar_read({task, 1}, memory, false);
    end(task);
    feed.set.completed(task);
    if (flagged) {
      EXPECT_EQ(feed.found(), "");
    } else {
      EXPECT_THAT(feed.found(), HasSubstr("races: race"));
    }
  }
}

}  // namespace
}  // namespace heddle::lab::checkers
