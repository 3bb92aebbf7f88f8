// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/checkers/feed.hpp"

namespace heddle::lab::checkers {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Tag = Feed::Tag;

// Two blocks of one task store 32 bytes each, `second` bytes apart.
std::string two_blocks(std::int64_t second, std::optional<std::uint32_t> core) {
  Feed feed(1);
  feed.round(0);
  const Piece buffer = Feed::piece(0, feed.memory(4096), 256);
  const TaskId task = feed.submit(0, "halves", {Feed::arg(Tag::out, buffer)}, {}, {2});
  for (std::uint32_t i = 0; i < 2; ++i) {
    const BlockId block = feed.begin(task, i, core);
    Piece half = buffer;
    half.data += i * second;
    half.shape[0] = 32;
    feed.store_now(block, half);
    feed.end(block);
  }
  feed.set.completed(task);
  feed.set.round_ends();
  return feed.found();
}

TEST(Lines, half_line) {
  EXPECT_THAT(two_blocks(32, {}), AllOf(HasSubstr("lines: race (50): the line at byte 0 of argument 0"),
                                        HasSubstr("task halves"), HasSubstr("block 0"), HasSubstr("block 1")));
}

TEST(Lines, stores_into_two_lines_are_not_accused) { EXPECT_EQ(two_blocks(64, {}), ""); }

TEST(Lines, stores_from_one_core_are_not_accused) { EXPECT_EQ(two_blocks(32, 7), ""); }

TEST(Lines, both_lines_dirty_at_the_same_time_are_found_when_one_is_written_back) {
  Feed feed(1);
  feed.round(0);
  const Piece buffer = Feed::piece(0, feed.memory(4096), 4);
  Piece other = buffer;
  other.data += 8;
  const TaskId task = feed.submit(0, "halves", {}, {}, {2});
  const BlockId zero = feed.begin(task, 0), one = feed.begin(task, 1);
  feed.store(zero, buffer);
  feed.store(one, other);
  EXPECT_EQ(feed.found(), "");
  feed.clean(zero, buffer);
  EXPECT_THAT(feed.found(), HasSubstr("lines"));
}

TEST(Lines, tasks_that_the_graph_orders_are_not_accused) {
  Feed feed(1);
  feed.round(0);
  const Piece buffer = Feed::piece(0, feed.memory(4096), 4);
  Piece other = buffer;
  other.data += 8;
  const TaskId first = feed.submit(0, "first"), second = feed.submit(0, "second", {}, {first});
  const BlockId one = feed.begin(first);
  feed.store_now(one, buffer);
  feed.finish(one);
  const BlockId two = feed.begin(second);
  feed.store_now(two, other);
  feed.finish(two);
  EXPECT_EQ(feed.found(), "");
}

}  // namespace
}  // namespace heddle::lab::checkers
