// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/checkers/feed.hpp"

namespace heddle::lab::checkers {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class CreditTest : public ::testing::Test {
 protected:
  Feed::SignalRef done_of(int rank, std::int64_t index = 0) const { return Feed::cell(done, rank, index); }
  // Rank 0 waits for `value`; the peer's notify comes before or after that.
  void epoch(std::int64_t round, std::int64_t value, bool notify_first) {
    feed.round(round);
    const TaskId push = feed.submit(1, "push"), wait = feed.submit(0, "wait");
    const BlockId pusher = feed.begin(push), waiter = feed.begin(wait);
    if (notify_first) feed.notify_now(pusher, done_of(0));
    feed.wait(waiter, done_of(0), value);
    feed.finish(waiter);
    if (!notify_first) feed.notify_now(pusher, done_of(0));
    feed.finish(pusher);
    feed.set.round_ends();
  }

  Feed feed{2};
  const heddle::detail::WindowTable* done = feed.window("done", 256);
};

// Counters only grow, but the expected value starts again at 1.
TEST_F(CreditTest, stale_epoch) {
  epoch(0, 1, true);
  EXPECT_EQ(feed.found(), "");
  epoch(1, 1, false);
  ASSERT_TRUE(feed.set.first());
  EXPECT_EQ(feed.set.first()->checker, std::string("credit"));
  EXPECT_EQ(feed.set.first()->error.code(), Code::race);
  EXPECT_THAT(feed.found(), AllOf(HasSubstr("done[0] of rank 0 >= 1 was satisfied by a notify of round 0"),
                                  HasSubstr("the notify of this round, of rank 1, task push")));
}

TEST_F(CreditTest, counter_that_only_grows_is_not_accused) {
  for (std::int64_t round = 0; round < 4; ++round) epoch(round, round + 1, true);
  EXPECT_EQ(feed.found(), "");
}

TEST_F(CreditTest, counter_that_is_cleared_in_each_round_is_not_accused) {
  for (std::int64_t round = 0; round < 3; ++round) {
    feed.round(round);
    const TaskId push = feed.submit(1, "push"), wait = feed.submit(0, "wait");
    const TaskId clear = feed.submit(0, "clear", {}, {wait});
    const BlockId pusher = feed.begin(push), waiter = feed.begin(wait);
    feed.notify_now(pusher, done_of(0));
    feed.wait(waiter, done_of(0));
    feed.finish(waiter);
    feed.finish(pusher);
    const BlockId clearer = feed.begin(clear);
    feed.store_now(clearer, Feed::piece_of(done_of(0)));
    feed.finish(clearer);
    feed.set.round_ends();
  }
  EXPECT_EQ(feed.found(), "");
}

// A barrier at the start and one at the end, on one cell, and nobody takes the credits back.
void two_barriers(Feed& feed, const heddle::detail::WindowTable* done, std::int64_t second_value, bool in_time) {
  feed.round(0);
  TaskId barrier[2][2];
  for (int rank = 0; rank < 2; ++rank) {
    barrier[0][rank] = feed.submit(rank, "first");
    barrier[1][rank] = feed.submit(rank, "second", {}, {barrier[0][rank]});
  }
  BlockId block[2];
  for (int rank : {0, 1}) feed.notify_now(block[rank] = feed.begin(barrier[0][rank]), Feed::cell(done, 1 - rank, 0));
  for (int rank : {0, 1}) {
    feed.wait(block[rank], Feed::cell(done, rank, 0), 1);
    feed.finish(block[rank]);
  }
  block[0] = feed.begin(barrier[1][0]);
  feed.notify_now(block[0], Feed::cell(done, 1, 0));
  block[1] = feed.begin(barrier[1][1]);
  if (in_time) feed.notify_now(block[1], Feed::cell(done, 0, 0));
  feed.wait(block[0], Feed::cell(done, 0, 0), second_value);
  feed.finish(block[0]);
  if (!in_time) feed.notify_now(block[1], Feed::cell(done, 0, 0));
  feed.wait(block[1], Feed::cell(done, 1, 0), second_value);
  feed.finish(block[1]);
  feed.set.round_ends();
}

TEST_F(CreditTest, credit_reuse) {
  two_barriers(feed, done, 1, false);
  EXPECT_THAT(feed.found(), AllOf(HasSubstr("rank 0, task second"), HasSubstr("an earlier wait had already acquired"),
                                  HasSubstr("of rank 1, task second")));
}

TEST_F(CreditTest, barrier_with_a_growing_count_is_not_accused) {
  two_barriers(feed, done, 2, true);
  EXPECT_EQ(feed.found(), "");
}

// The peer returns a credit after each read; the next put waits for it, in the next round for that of the last one.
TEST_F(CreditTest, credits_that_flow_across_rounds_are_not_accused) {
  for (std::int64_t round = 0; round < 3; ++round) {
    feed.round(round);
    const TaskId push = feed.submit(0, "push"), read = feed.submit(1, "read");
    const BlockId pusher = feed.begin(push), reader = feed.begin(read);
    if (round > 0) feed.wait(pusher, done_of(0), 1);  // never more than one, and yet no fault
    feed.notify_now(pusher, done_of(1, 1));
    feed.wait(reader, done_of(1, 1), round + 1);
    feed.notify_now(reader, done_of(0));
    feed.finish(pusher);
    feed.finish(reader);
    feed.set.round_ends();
  }
  EXPECT_EQ(feed.found(), "");
}

// Two places: the first two puts of a round wait for credits of the last one, and the credit for the first of them is
// not ordered with the wait for the second.
TEST_F(CreditTest, credits_of_two_places_are_not_accused) {
  for (std::int64_t round = 0; round < 3; ++round) {
    feed.round(round);
    const TaskId push = feed.submit(0, "push"), read = feed.submit(1, "read");
    const BlockId pusher = feed.begin(push), reader = feed.begin(read);
    if (round > 0) feed.wait(pusher, done_of(0), 2 * round - 1);
    feed.notify_now(pusher, done_of(1, 1));
    feed.wait(reader, done_of(1, 1), 2 * round + 1);
    const auto credit = feed.notify(reader, done_of(0));
    if (round > 0) feed.wait(pusher, done_of(0), 2 * round);
    feed.set.notify_arrived(credit);
    feed.notify_now(pusher, done_of(1, 1));
    feed.wait(reader, done_of(1, 1), 2 * round + 2);
    feed.notify_now(reader, done_of(0));
    feed.finish(pusher);
    feed.finish(reader);
    feed.set.round_ends();
  }
  EXPECT_EQ(feed.found(), "");
}

// Two tasks wait for one event, one after the other; the next event comes later, and somebody waits for it.
TEST_F(CreditTest, two_waits_for_one_event_are_not_accused) {
  feed.round(0);
  const TaskId push = feed.submit(1, "push");
  const TaskId first = feed.submit(0, "first"), second = feed.submit(0, "second", {}, {first});
  const TaskId third = feed.submit(0, "third", {}, {second});
  const BlockId pusher = feed.begin(push);
  feed.notify_now(pusher, done_of(0));
  for (const TaskId task : {first, second}) {
    const BlockId block = feed.begin(task);
    feed.wait(block, done_of(0), 1);
    feed.finish(block);
  }
  feed.notify_now(pusher, done_of(0));
  feed.finish(pusher);
  const BlockId block = feed.begin(third);
  feed.wait(block, done_of(0), 2);
  feed.finish(block);
  feed.set.round_ends();
  EXPECT_EQ(feed.found(), "");
}

// The same of two tasks that nothing orders: neither has taken the other's event.
TEST_F(CreditTest, two_unordered_waits_for_one_event_are_not_accused) {
  feed.round(0);
  const BlockId pusher = feed.begin(feed.submit(1, "push"));
  const BlockId first = feed.begin(feed.submit(0, "first")), second = feed.begin(feed.submit(0, "second"));
  feed.notify_now(pusher, done_of(0));
  feed.wait(first, done_of(0), 1);
  feed.wait(second, done_of(0), 1);
  feed.notify_now(pusher, done_of(0));
  for (const BlockId& block : {pusher, first, second}) feed.finish(block);
  feed.set.round_ends();
  EXPECT_EQ(feed.found(), "");
}

// A run that stops in the middle of its round still tells what was suspect.
TEST_F(CreditTest, stopped_run_settles_what_is_suspect) {
  epoch(0, 1, true);
  feed.round(1);
  const BlockId pusher = feed.begin(feed.submit(1, "push")), waiter = feed.begin(feed.submit(0, "wait"));
  feed.wait(waiter, done_of(0), 1);
  feed.notify(pusher, done_of(0));
  EXPECT_EQ(feed.found(), "");
  feed.set.stopped();
  EXPECT_THAT(feed.found(), HasSubstr("credit"));
}

}  // namespace
}  // namespace heddle::lab::checkers
