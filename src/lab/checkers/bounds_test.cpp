// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/checkers/feed.hpp"

namespace heddle::lab::checkers {
namespace {

using ::testing::HasSubstr;
using Tag = Feed::Tag;

class BoundsTest : public ::testing::Test {
 protected:
  BoundsTest() {
    feed.round(0);
    block = feed.begin(feed.submit(0, "task", {Feed::arg(Tag::in, tensor)}));
  }
  static Piece at(Piece piece, std::int64_t offset, std::int64_t bytes) {
    piece.data += offset;
    piece.shape[0] = bytes;
    return piece;
  }

  Feed feed{2, {"bounds"}};
  const heddle::detail::WindowTable* inbox = feed.window("inbox", 256);
  const Piece tensor = at(Feed::piece(0, feed.memory(4096), 0), 1024, 256);
  BlockId block;
};

TEST_F(BoundsTest, put_up_to_the_end_is_not_accused) {
  feed.put_now(block, Feed::part(inbox, 1, 128, 128), at(tensor, 128, 128));
  feed.set.get(block, at(tensor, 0, 64), Feed::part(inbox, 1, 192, 64));
  feed.set.scalar_read(block, at(tensor, 252, 4), false);
  EXPECT_EQ(feed.found(), "");
}

TEST_F(BoundsTest, put_beyond_the_peer_s_part) {
  feed.put(block, Feed::part(inbox, 1, 192, 128), at(tensor, 0, 128));
  EXPECT_EQ(feed.set.first()->error.code(), Code::kernel_failed);
  EXPECT_THAT(feed.found(), HasSubstr("the kernel puts bytes 192 to 319 of window inbox of rank 1, which has 256"));
}

TEST_F(BoundsTest, put_to_no_window) {
  feed.put(block, Feed::piece(1, feed.memory(64), 64), at(tensor, 0, 64));
  EXPECT_THAT(feed.found(), HasSubstr("in no window"));
}

TEST_F(BoundsTest, put_from_beyond_an_argument) {
  feed.put(block, Feed::part(inbox, 1, 0, 128), at(tensor, 192, 128));
  EXPECT_THAT(feed.found(), HasSubstr("puts from bytes 192 to 319 of argument 0, which has 256 bytes"));
}

TEST_F(BoundsTest, load_right_behind_an_argument) {
  feed.set.scalar_read(block, at(tensor, 256, 4), false);
  EXPECT_THAT(feed.found(), HasSubstr("loads bytes 256 to 259 of argument 0"));
}

TEST_F(BoundsTest, store_right_before_an_argument) {
  feed.store(block, at(tensor, -4, 4));
  EXPECT_THAT(feed.found(), HasSubstr("stores bytes -4 to -1 of argument 0"));
}

TEST_F(BoundsTest, memory_of_the_kernel_s_own_is_not_accused) {
  feed.put_now(block, Feed::part(inbox, 1, 0, 64), Feed::piece(0, feed.memory(64), 64));
  EXPECT_EQ(feed.found(), "");
}

}  // namespace
}  // namespace heddle::lab::checkers
