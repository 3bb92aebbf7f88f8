// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/checkers/feed.hpp"

namespace heddle::lab::checkers {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Tag = Feed::Tag;

class RacesTest : public ::testing::Test {
 protected:
  RacesTest() { feed.round(0); }
  Code code() const { return feed.set.first() ? feed.set.first()->error.code() : Code::ok; }
  Piece inbox_of(int rank, std::int64_t offset = 0, std::int64_t bytes = 256) const {
    return Feed::part(inbox, rank, offset, bytes);
  }
  Feed::SignalRef done_of(int rank, std::int64_t index = 0) const { return Feed::cell(done, rank, index); }

  Feed feed{2};
  const heddle::detail::WindowTable* inbox = feed.window("inbox", 4096);
  const heddle::detail::WindowTable* done = feed.window("done", 256);
  const Piece source = Feed::piece(1, feed.memory(4096), 256);
};

// Rank 1 puts and notifies; rank 0 waits in one task and reads in the next.
void signal_and_data(Feed& feed, const Piece& inbox, const Piece& source, const Feed::SignalRef& done, Order order) {
  const TaskId push = feed.submit(1, "push", {Feed::arg(Tag::in, source)}, {}, {1, false, true, 12});
  const TaskId wait = feed.submit(0, "wait");
  const TaskId gather = feed.submit(0, "gather", {Feed::arg(Tag::in, inbox)}, {wait}, {1, false, true, 30});
  const BlockId pusher = feed.begin(push);
  const std::uint64_t put = feed.put(pusher, inbox, source);
  if (order == Order::released) feed.set.arrived(put);
  feed.notify_now(pusher, done, 1, Notify::add, order);
  const BlockId waiter = feed.begin(wait);
  feed.wait(waiter, done);
  feed.finish(waiter);
  feed.run(gather);
  if (order == Order::relaxed) feed.set.arrived(put);
  feed.finish(pusher);
  feed.set.round_ends();
}

TEST_F(RacesTest, released_notify_publishes_the_put) {
  signal_and_data(feed, inbox_of(0), source, done_of(0), Order::released);
  EXPECT_EQ(feed.found(), "");
}

TEST_F(RacesTest, signal_overtakes_data) {
  signal_and_data(feed, inbox_of(0), source, done_of(0), Order::relaxed);
  EXPECT_EQ(code(), Code::stale_read);
  EXPECT_EQ(feed.found(),
            "races: stale_read (51): bytes 0 to 255 of window inbox of rank 0 are read by argument 0 of rank 0, task "
            "gather (program.cpp:30), but nothing orders this after the put of rank 1, task push (program.cpp:12), "
            "block 0, which writes them: the wait on done[0] of rank 0 >= 1 was satisfied by a relaxed notify of rank "
            "1, task push (program.cpp:12), block 0, which does not publish the put of block 0 of task push [rank 0, "
            "task gather, program.cpp:30]");
  EXPECT_EQ(feed.set.first()->error.rank(), 0);
  EXPECT_EQ(feed.set.first()->error.round(), 0);
}

TEST_F(RacesTest, relaxed_notify_after_a_fence_to_that_peer_publishes_the_put) {
  for (const int fence : {0, -1, 1}) {
    Feed own(2);
    own.round(0);
    const auto* const window = own.window("inbox", 4096);
    const auto signal = Feed::cell(own.window("done", 64), 0, 0);
    const TaskId push = own.submit(1, "push"), read = own.submit(0, "read");
    const BlockId pusher = own.begin(push), reader = own.begin(read);
    own.put_now(pusher, Feed::part(window, 0, 0, 64), Feed::piece(1, own.memory(64), 64));
    own.set.fence(pusher, fence);
    own.notify_now(pusher, signal, 1, Notify::set, Order::relaxed);
    own.wait(reader, signal);
    own.set.get(reader, Feed::piece(0, own.memory(64), 64), Feed::part(window, 0, 0, 64));
    EXPECT_EQ(own.found().empty(), fence != 1) << fence << ": " << own.found();
  }
}

// A put is not published by a notify to somebody else.
TEST(Races, notify_to_another_peer_publishes_no_put) {
  Feed feed(3);
  feed.round(0);
  const auto* const inbox = feed.window("inbox", 4096);
  const auto* const done = feed.window("done", 64);
  const TaskId push = feed.submit(0, "push"), relay = feed.submit(1, "relay"), read = feed.submit(2, "read");
  const BlockId pusher = feed.begin(push), relayer = feed.begin(relay), reader = feed.begin(read);
  const auto put = feed.put(pusher, Feed::part(inbox, 2, 0, 64), Feed::piece(0, feed.memory(64), 64));
  feed.notify_now(pusher, Feed::cell(done, 1, 0));
  feed.wait(relayer, Feed::cell(done, 1, 0));
  feed.notify_now(relayer, Feed::cell(done, 2, 0));
  feed.set.arrived(put);
  feed.wait(reader, Feed::cell(done, 2, 0));
  feed.set.get(reader, Feed::piece(2, feed.memory(64), 64), Feed::part(inbox, 2, 0, 64));
  EXPECT_THAT(feed.found(), AllOf(HasSubstr("stale_read"), HasSubstr("the put of rank 0, task push")));
}

TEST_F(RacesTest, kernel_that_waits_first_and_reads_then_is_not_accused) {
  const TaskId push = feed.submit(1, "push");
  const TaskId read = feed.submit(0, "read", {Feed::arg(Tag::in, inbox_of(0))});
  const BlockId reader = feed.begin(read);
  const BlockId pusher = feed.begin(push);
  feed.put_now(pusher, inbox_of(0), source);
  feed.notify_now(pusher, done_of(0));
  feed.wait(reader, done_of(0));
  feed.finish(reader);
  feed.finish(pusher);
  feed.set.round_ends();
  EXPECT_EQ(feed.found(), "");
}

// Each block waits for one peer and reads its part; all of them have the whole inbox as their argument.
TEST_F(RacesTest, blocks_that_divide_an_argument_are_not_accused) {
  const TaskId push = feed.submit(1, "push", {}, {}, {2});
  const TaskId read = feed.submit(0, "read", {Feed::arg(Tag::in, inbox_of(0, 0, 512))}, {}, {2});
  for (std::uint32_t i = 0; i < 2; ++i) {
    const BlockId pusher = feed.begin(push, i);
    feed.put_now(pusher, inbox_of(0, i * 256), source);
    feed.notify_now(pusher, done_of(0, i));
    feed.end(pusher);
    const BlockId reader = feed.begin(read, i);
    feed.wait(reader, done_of(0, i));
    feed.end(reader);
  }
  feed.set.completed(push);
  feed.set.completed(read);
  EXPECT_EQ(feed.found(), "");
}

TEST_F(RacesTest, two_tasks_that_wait_for_the_same_event_are_not_accused) {
  const TaskId push = feed.submit(1, "push");
  const TaskId first = feed.submit(0, "first", {Feed::arg(Tag::in, inbox_of(0))});
  const TaskId second = feed.submit(0, "second", {Feed::arg(Tag::in, inbox_of(0))}, {first});
  const BlockId pusher = feed.begin(push);
  feed.put_now(pusher, inbox_of(0), source);
  feed.notify_now(pusher, done_of(0));
  feed.finish(pusher);
  for (const TaskId task : {first, second}) {
    const BlockId block = feed.begin(task);
    feed.wait(block, done_of(0));
    feed.finish(block);
  }
  feed.set.round_ends();
  EXPECT_EQ(feed.found(), "");
}

TEST_F(RacesTest, deferred_condition_orders_the_consumers) {
  const TaskId push = feed.submit(1, "push");
  const TaskId wait = feed.submit(0, "wait", {}, {}, {1, false, false});
  const TaskId read = feed.submit(0, "read", {Feed::arg(Tag::in, inbox_of(0))}, {wait});
  const BlockId pusher = feed.begin(push);
  feed.put_now(pusher, inbox_of(0), source);
  feed.notify_now(pusher, done_of(0));
  feed.deferred(wait, done_of(0));
  feed.set.completed(wait);
  feed.run(read);
  feed.finish(pusher);
  EXPECT_EQ(feed.found(), "");
}

// Two chunks, both announced by an add of 1 to one cell; the reader of chunk 0 waits for one.
TEST_F(RacesTest, add_cannot_say_which) {
  const TaskId push = feed.submit(1, "push", {}, {}, {2});
  const TaskId wait = feed.submit(0, "wait");
  const TaskId read = feed.submit(0, "read", {Feed::arg(Tag::in, inbox_of(0))}, {wait});
  const BlockId zero = feed.begin(push, 0), one = feed.begin(push, 1);
  const auto late = feed.put(zero, inbox_of(0, 0), source);
  feed.put_now(one, inbox_of(0, 256), source);
  feed.notify_now(one, done_of(0));
  const auto later = feed.notify(zero, done_of(0));
  const BlockId waiter = feed.begin(wait);
  feed.wait(waiter, done_of(0));
  feed.finish(waiter);
  feed.run(read);
  feed.set.arrived(late);
  feed.set.notify_arrived(later);
  EXPECT_EQ(code(), Code::stale_read);
  EXPECT_THAT(feed.found(), AllOf(HasSubstr("bytes 0 to 255"), HasSubstr("satisfied by a notify of rank 1, task push"),
                                  HasSubstr("does not publish the put of block 0")));
}

TEST_F(RacesTest, reader_that_waits_for_both_adds_is_not_accused) {
  const TaskId push = feed.submit(1, "push", {}, {}, {2});
  const TaskId wait = feed.submit(0, "wait");
  const TaskId read = feed.submit(0, "read", {Feed::arg(Tag::in, inbox_of(0))}, {wait});
  for (std::uint32_t i : {1U, 0U}) {
    const BlockId block = feed.begin(push, i);
    feed.put_now(block, inbox_of(0, i * 256), source);
    feed.notify_now(block, done_of(0));
  }
  const BlockId waiter = feed.begin(wait);
  feed.wait(waiter, done_of(0), 2);
  feed.finish(waiter);
  feed.run(read);
  EXPECT_EQ(feed.found(), "");
}

// The second put comes before the peer has said that it is done with the first.
void reuse_window(Feed& feed, bool with_credit) {
  const auto* const inbox = feed.window("inbox", 256);
  const auto* const done = feed.window("done", 64);
  const Piece source = Feed::piece(1, feed.memory(256), 256);
  const Piece target = Feed::part(inbox, 0, 0, 256);
  const TaskId first = feed.submit(1, "first");
  const TaskId wait = feed.submit(0, "wait");
  const TaskId read = feed.submit(0, "read", {Feed::arg(Tag::in, target)}, {wait});
  const TaskId credit = feed.submit(0, "credit", {}, {read});
  const TaskId again = feed.submit(1, "again", {}, {first});
  const BlockId pusher = feed.begin(first);
  feed.put_now(pusher, target, source);
  feed.notify_now(pusher, Feed::cell(done, 0, 0));
  feed.finish(pusher);
  const BlockId waiter = feed.begin(wait);
  feed.wait(waiter, Feed::cell(done, 0, 0));
  feed.finish(waiter);
  feed.run(read);
  const BlockId giver = feed.begin(credit);
  feed.notify_now(giver, Feed::cell(done, 1, 0));
  feed.finish(giver);
  const BlockId second = feed.begin(again);
  if (with_credit) feed.wait(second, Feed::cell(done, 1, 0));
  feed.put_now(second, target, source);
  feed.finish(second);
  feed.set.round_ends();
}

TEST(Races, window_reused) {
  Feed feed(2);
  feed.round(0);
  reuse_window(feed, false);
  ASSERT_TRUE(feed.set.first());
  EXPECT_EQ(feed.set.first()->error.code(), Code::race);
  EXPECT_THAT(feed.found(), AllOf(HasSubstr("task again"), HasSubstr("task read"), HasSubstr("bytes 0 to 255")));
}

TEST(Races, window_reused_after_a_credit_is_not_accused) {
  Feed feed(2);
  feed.round(0);
  reuse_window(feed, true);
  EXPECT_EQ(feed.found(), "");
}

TEST(Races, rounds_are_fenced) {
  Feed feed(2);
  const auto* const inbox = feed.window("inbox", 256);
  const Piece source = Feed::piece(1, feed.memory(256), 256);
  for (int round = 0; round < 2; ++round) {
    feed.round(round);
    if (round == 0) {
      const BlockId block = feed.begin(feed.submit(1, "push"));
      feed.put_now(block, Feed::part(inbox, 0, 0, 256), source);
      feed.finish(block);
    } else {
      feed.run(feed.submit(0, "read", {Feed::arg(Tag::in, Feed::part(inbox, 0, 0, 256))}));
    }
    feed.set.round_ends();
  }
  EXPECT_EQ(feed.found(), "");
}

// My stage-in stores into my part; the peer loads from it.
TEST_F(RacesTest, allreduce_first_load) {
  const TaskId stage = feed.submit(0, "stage", {Feed::arg(Tag::out, inbox_of(0))});
  const TaskId load = feed.submit(1, "load");
  feed.run(stage);
  const BlockId loader = feed.begin(load);
  feed.set.get(loader, source, inbox_of(0));
  EXPECT_EQ(code(), Code::stale_read);
  EXPECT_THAT(feed.found(), AllOf(HasSubstr("the get of rank 1, task load"), HasSubstr("of rank 0, task stage")));
}

TEST_F(RacesTest, first_load_after_a_notify_is_not_accused) {
  const TaskId stage = feed.submit(0, "stage", {Feed::arg(Tag::out, inbox_of(0))});
  const TaskId tell = feed.submit(0, "tell", {}, {stage});
  const TaskId load = feed.submit(1, "load");
  feed.run(stage);
  const BlockId teller = feed.begin(tell);
  feed.notify_now(teller, done_of(1));
  feed.finish(teller);
  const BlockId loader = feed.begin(load);
  feed.wait(loader, done_of(1));
  feed.set.get(loader, source, inbox_of(0));
  feed.finish(loader);
  EXPECT_EQ(feed.found(), "");
}

// A rank zeroes its cells at the start of a round that a fast peer has already begun.
TEST_F(RacesTest, clear_races_notify) {
  const TaskId clear = feed.submit(0, "clear", {Feed::arg(Tag::out, Feed::part(done, 0, 0, 256))});
  const TaskId push = feed.submit(1, "push");
  const BlockId pusher = feed.begin(push);
  feed.notify_now(pusher, done_of(0, 3));
  const BlockId clearer = feed.begin(clear);
  feed.store_now(clearer, Feed::piece_of(done_of(0, 3)));
  EXPECT_EQ(code(), Code::race);
  EXPECT_THAT(feed.found(), AllOf(HasSubstr("task clear"), HasSubstr("done[3] of rank 0"), HasSubstr("task push")));
}

TEST_F(RacesTest, clear_that_a_later_notify_is_not_ordered_after_is_found_as_well) {
  const TaskId clear = feed.submit(0, "clear"), push = feed.submit(1, "push");
  const BlockId clearer = feed.begin(clear);
  feed.store_now(clearer, Feed::piece_of(done_of(0)));
  feed.finish(clearer);
  EXPECT_EQ(feed.found(), "");
  feed.notify(feed.begin(push), done_of(0));
  EXPECT_EQ(code(), Code::race);
}

TEST_F(RacesTest, clear_after_the_wait_is_not_accused) {
  const TaskId push = feed.submit(1, "push"), wait = feed.submit(0, "wait");
  const TaskId clear = feed.submit(0, "clear", {}, {wait});
  feed.notify_now(feed.begin(push), done_of(0), 1, Notify::add, Order::relaxed);
  const BlockId waiter = feed.begin(wait);
  feed.wait(waiter, done_of(0));
  feed.finish(waiter);
  feed.store_now(feed.begin(clear), Feed::piece_of(done_of(0)));
  EXPECT_EQ(feed.found(), "");
}

// A set replaces what was in the cell: who sees it has not seen the adds before.
TEST_F(RacesTest, wait_acquires_what_made_the_present_value) {
  for (const Notify how : {Notify::add, Notify::set}) {
    Feed own(3);
    own.round(0);
    const auto* const window = own.window("inbox", 256);
    const auto signal = Feed::cell(own.window("done", 64), 0, 0);
    const BlockId one = own.begin(own.submit(1, "one")), two = own.begin(own.submit(2, "two"));
    const BlockId reader = own.begin(own.submit(0, "read"));
    own.put_now(one, Feed::part(window, 0, 0, 64), Feed::piece(1, own.memory(64), 64));
    own.notify_now(one, signal);
    own.notify_now(two, signal, 2, how);
    own.wait(reader, signal, 2);
    own.set.get(reader, Feed::piece(0, own.memory(64), 64), Feed::part(window, 0, 0, 64));
    EXPECT_EQ(own.found().empty(), how == Notify::add) << own.found();
  }
}

// A relaxed notify does not even carry what its task came after.
TEST_F(RacesTest, relaxed_notify_carries_nothing_of_what_came_before_its_task) {
  const TaskId stage = feed.submit(0, "stage", {Feed::arg(Tag::out, inbox_of(0))});
  const TaskId tell = feed.submit(0, "tell", {}, {stage});
  feed.run(stage);
  feed.notify_now(feed.begin(tell), done_of(1), 1, Notify::add, Order::relaxed);
  const BlockId loader = feed.begin(feed.submit(1, "load"));
  feed.wait(loader, done_of(1));
  feed.set.get(loader, source, inbox_of(0));
  EXPECT_EQ(code(), Code::stale_read);
}

TEST_F(RacesTest, signal_cells_are_not_judged_by_arguments) {
  const Piece cells = Feed::part(done, 0, 0, 256);
  const TaskId read = feed.submit(0, "read", {Feed::arg(Tag::in, cells)}, {}, {1, true});
  const TaskId clear = feed.submit(0, "clear", {Feed::arg(Tag::out, cells)}, {}, {1, true});
  feed.notify_now(feed.begin(feed.submit(1, "push")), done_of(0));
  feed.run(read);
  feed.run(clear);
  EXPECT_EQ(feed.found(), "");
}

TEST(Races, loads_of_one_line_leave_what_lies_between_them) {
  for (const std::int64_t stored : {16, 32}) {
    Feed feed(1, {"races"});
    feed.round(0);
    const Piece buffer = Feed::piece(0, feed.memory(64), 4);
    const auto at = [&](std::int64_t offset) {
      Piece piece = buffer;
      piece.data += offset;
      return piece;
    };
    const BlockId reader = feed.begin(feed.submit(0, "read")), writer = feed.begin(feed.submit(0, "write"));
    for (const std::int64_t offset : {0, 4, 32, 36}) feed.set.scalar_read(reader, at(offset), offset != 0);
    feed.store_now(writer, at(stored));
    EXPECT_EQ(feed.found().empty(), stored == 16) << feed.found();
  }
}

}  // namespace
}  // namespace heddle::lab::checkers
