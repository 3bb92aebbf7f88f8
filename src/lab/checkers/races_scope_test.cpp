// SPDX-License-Identifier: Apache-2.0
//
// Races inside of one rank.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/checkers/feed.hpp"

namespace heddle::lab::checkers {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Tag = Feed::Tag;

// A reader, then a writer of one buffer, both submitted before either runs.
void reader_then_writer(Feed& feed, bool manual, bool edge) {
  const Piece buffer = Feed::piece(0, feed.memory(4096), 1024);
  const TaskId read = feed.submit(0, "read", {Feed::arg(Tag::in, buffer)}, {}, {1, manual});
  const std::vector<TaskId> producers = edge ? std::vector<TaskId>{read} : std::vector<TaskId>{};
  const TaskId write = feed.submit(0, "write", {Feed::arg(Tag::out, buffer)}, producers, {1, manual});
  feed.run(read);
  feed.run(write);
  feed.set.round_ends();
}

TEST(Races, lost_write_order) {
  for (const bool manual : {false, true})
    for (const bool edge : {false, true}) {
      Feed feed(1, {"races"});
      feed.round(0);
      reader_then_writer(feed, manual, edge);
      EXPECT_EQ(feed.set.first().has_value(), manual && !edge) << feed.found();
      if (!feed.set.first()) continue;
      EXPECT_EQ(feed.set.first()->error.code(), Code::race);
      EXPECT_THAT(feed.found(), AllOf(HasSubstr("argument 0 of rank 0, task read"), HasSubstr("task write")));
    }
}

TEST(Races, task_that_had_completed_at_the_submit_is_ordered) {
  Feed feed(1);
  feed.round(0);
  const Piece buffer = Feed::piece(0, feed.memory(4096), 1024);
  feed.run(feed.submit(0, "read", {Feed::arg(Tag::in, buffer)}, {}, {1, true}));
  feed.run(feed.submit(0, "write", {Feed::arg(Tag::out, buffer)}, {}, {1, true}));
  EXPECT_EQ(feed.found(), "");
}

TEST(Races, columns_of_one_matrix_share_no_byte) {
  for (const std::int64_t second : {4, 3}) {
    Feed feed(1);
    feed.round(0);
    const std::byte* const data = feed.memory(4096);
    const TaskId left = feed.submit(0, "left", {{Tag::out, data, {16, 4}, {16, 1}, 4}}, {}, {1, true});
    const TaskId right = feed.submit(0, "right", {{Tag::out, data + second * 4, {16, 4}, {16, 1}, 4}}, {}, {1, true});
    feed.run(left);
    feed.run(right);
    EXPECT_EQ(feed.found().empty(), second == 4) << feed.found();
  }
}

}  // namespace
}  // namespace heddle::lab::checkers
