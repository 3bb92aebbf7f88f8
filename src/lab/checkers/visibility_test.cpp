// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/checkers/feed.hpp"

namespace heddle::lab::checkers {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Tag = Feed::Tag;

// Rank 0 stores 112 lines into its part, cleans some of them and notifies; rank 1 gets them.
std::string publish(int cleaned, std::vector<std::string> names = all_checkers()) {
  Feed feed(2, std::move(names));
  const auto* const window = feed.window("payload", 7168);
  const auto* const done = feed.window("done", 64);
  feed.round(0);
  const TaskId fill = feed.submit(0, "fill", {Feed::arg(Tag::out, Feed::part(window, 0, 0, 7168))});
  const TaskId load = feed.submit(1, "load");
  const BlockId filler = feed.begin(fill), loader = feed.begin(load);
  for (std::int64_t line = 0; line < 112; ++line) feed.store(filler, Feed::part(window, 0, line * 64, 64));
  for (std::int64_t line = 0; line < cleaned; ++line) feed.clean(filler, Feed::part(window, 0, line * 64, 64));
  feed.notify_now(filler, Feed::cell(done, 1, 0));
  feed.wait(loader, Feed::cell(done, 1, 0));
  feed.set.get(loader, Feed::piece(1, feed.memory(7168), 7168), Feed::part(window, 0, 0, 7168));
  for (std::int64_t line = cleaned; line < 112; ++line) feed.clean(filler, Feed::part(window, 0, line * 64, 64));
  feed.finish(filler);
  feed.finish(loader);
  feed.set.round_ends();
  return feed.found();
}

TEST(Visibility, one_line_written_back) {
  EXPECT_THAT(publish(1), AllOf(HasSubstr("visibility: stale_read (51): 111 lines were not published"),
                                HasSubstr("rank 0, task fill (program.cpp), block 0 stored"),
                                HasSubstr("bytes 64 to 127 of window payload of rank 0")));
}

TEST(Visibility, all_lines_written_back_are_not_accused) { EXPECT_EQ(publish(112), ""); }

// The others keep out of it: what is not written back is no access of memory yet.
TEST(Visibility, races_alone_sees_the_write_back_that_comes_too_late) {
  EXPECT_THAT(publish(1, {"races"}), HasSubstr("races"));
  EXPECT_EQ(publish(1, {"credit", "lines", "bounds", "once", "dependences"}), "");
}

TEST(Visibility, put_passes_by_the_cache_of_its_own_core) {
  for (const bool clean : {false, true}) {
    Feed feed(2);
    const auto* const inbox = feed.window("inbox", 64);
    const Piece source = Feed::piece(0, feed.memory(64), 64);
    feed.round(0);
    const BlockId block = feed.begin(feed.submit(0, "push", {Feed::arg(Tag::out, source)}));
    feed.store(block, source);
    if (clean) feed.clean(block, source);
    feed.put_now(block, Feed::part(inbox, 1, 0, 64), source);
    if (clean)
      EXPECT_EQ(feed.found(), "");
    else
      EXPECT_THAT(feed.found(), HasSubstr("1 line was not published"));
  }
}

// A cell is read, its notify comes and is waited for, the cell is read again: from the cache, or not.
TEST(Visibility, copy_that_was_not_invalidated) {
  for (const bool from_cache : {true, false}) {
    Feed feed(2);
    const auto signal = Feed::cell(feed.window("done", 64), 0, 2);
    feed.round(0);
    const BlockId reader = feed.begin(feed.submit(0, "read")), pusher = feed.begin(feed.submit(1, "push"));
    feed.set.scalar_read(reader, Feed::piece_of(signal), false);
    feed.set.scalar_read(reader, Feed::piece_of(signal), true);  // nothing has changed
    feed.notify_now(pusher, signal);
    feed.set.scalar_read(reader, Feed::piece_of(signal), true);  // nothing that it has waited for
    EXPECT_EQ(feed.found(), "");
    feed.wait(reader, signal);
    feed.set.scalar_read(reader, Feed::piece_of(signal), from_cache);
    if (from_cache)
      EXPECT_THAT(feed.found(),
                  AllOf(HasSubstr("served from its cache"), HasSubstr("the notify of rank 1, task push")));
    else
      EXPECT_EQ(feed.found(), "");
  }
}

TEST(Visibility, copy_from_before_a_put) {
  for (const std::int64_t bytes : {32, 4}) {  // of the line; the load is of bytes 16 to 19
    Feed feed(2, {"visibility"});
    const auto* const inbox = feed.window("inbox", 64);
    const auto signal = Feed::cell(feed.window("done", 64), 0, 0);
    feed.round(0);
    const BlockId reader = feed.begin(feed.submit(0, "read")), pusher = feed.begin(feed.submit(1, "push"));
    feed.set.scalar_read(reader, Feed::part(inbox, 0, 0, 4), false);
    feed.put_now(pusher, Feed::part(inbox, 0, 0, bytes), Feed::piece(1, feed.memory(64), bytes));
    feed.notify_now(pusher, signal);
    feed.wait(reader, signal);
    feed.set.scalar_read(reader, Feed::part(inbox, 0, 16, 4), true);
    if (bytes == 32)
      EXPECT_THAT(feed.found(), HasSubstr("the put of rank 1, task push"));
    else
      EXPECT_EQ(feed.found(), "");
  }
}

// Written back in time by luck: after the notify that was to publish it, and before the get.
TEST(Visibility, write_back_that_the_notify_does_not_publish) {
  for (const bool ordered : {true, false}) {
    Feed feed(2, {"visibility"});
    const auto* const window = feed.window("payload", 64);
    const auto signal = Feed::cell(feed.window("done", 64), 1, 0);
    feed.round(0);
    const BlockId filler = feed.begin(feed.submit(0, "fill")), loader = feed.begin(feed.submit(1, "load"));
    feed.store(filler, Feed::part(window, 0, 0, 64));
    feed.notify_now(filler, signal);
    feed.clean(filler, Feed::part(window, 0, 0, 64));
    if (ordered) feed.wait(loader, signal);
    feed.set.get(loader, Feed::piece(1, feed.memory(64), 64), Feed::part(window, 0, 0, 64));
    // Without the wait the get is not ordered after the store at all, which is for the checker of races.
    EXPECT_EQ(feed.found().empty(), !ordered) << feed.found();
  }
}

TEST(Visibility, copy_from_after_the_put_is_not_accused) {
  Feed feed(2);
  const auto* const inbox = feed.window("inbox", 64);
  const auto signal = Feed::cell(feed.window("done", 64), 0, 0);
  feed.round(0);
  const BlockId reader = feed.begin(feed.submit(0, "read")), pusher = feed.begin(feed.submit(1, "push"));
  feed.put_now(pusher, Feed::part(inbox, 0, 0, 32), Feed::piece(1, feed.memory(64), 32));
  feed.notify_now(pusher, signal);
  feed.wait(reader, signal);
  feed.set.scalar_read(reader, Feed::part(inbox, 0, 0, 4), false);
  feed.set.scalar_read(reader, Feed::part(inbox, 0, 4, 4), true);
  EXPECT_EQ(feed.found(), "");
}

}  // namespace
}  // namespace heddle::lab::checkers
