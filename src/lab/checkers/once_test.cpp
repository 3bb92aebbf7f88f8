// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/checkers/feed.hpp"

namespace heddle::lab::checkers {
namespace {

using ::testing::HasSubstr;

class OnceTest : public ::testing::Test {
 protected:
  OnceTest() { feed.round(0); }
  Feed feed{1, {"once"}};
};

TEST_F(OnceTest, round_in_which_everything_runs_once_is_not_accused) {
  const TaskId first = feed.submit(0, "first", {}, {}, {3});
  const TaskId dummy = feed.submit(0, "dummy", {}, {first}, {1, false, false});
  const TaskId last = feed.submit(0, "last", {}, {dummy});
  feed.run(first, 3);
  feed.set.completed(dummy);
  feed.run(last);
  feed.set.round_ends();
  EXPECT_EQ(feed.found(), "");
}

TEST_F(OnceTest, block_that_runs_twice) {
  const TaskId task = feed.submit(0, "task", {}, {}, {2});
  feed.end(feed.begin(task, 1));
  feed.begin(task, 1);
  EXPECT_EQ(feed.found(),
            "once: not_once (53): rank 0, task task (program.cpp), block 1 began twice [rank 0, task task, block 1, "
            "program.cpp]");
}

TEST_F(OnceTest, block_that_does_not_run) {
  const TaskId task = feed.submit(0, "task", {}, {}, {2});
  feed.run(task, 1);
  EXPECT_THAT(feed.found(), HasSubstr("block 1 did not run, and its task completed"));
}

TEST_F(OnceTest, kernel_that_does_not_run_at_all) {
  feed.set.completed(feed.submit(0, "task"));
  EXPECT_THAT(feed.found(), HasSubstr("did not run"));
}

TEST_F(OnceTest, task_that_completes_before_its_last_block_ends) {
  const TaskId task = feed.submit(0, "task");
  feed.begin(task);
  feed.set.completed(task);
  EXPECT_THAT(feed.found(), HasSubstr("had not ended when its task completed"));
}

TEST_F(OnceTest, task_that_completes_twice) {
  const TaskId task = feed.submit(0, "task");
  feed.run(task);
  feed.set.completed(task);
  EXPECT_THAT(feed.found(), HasSubstr("completed twice"));
}

TEST_F(OnceTest, task_that_never_completes) {
  const TaskId task = feed.submit(0, "task");
  feed.end(feed.begin(task));
  feed.set.round_ends();
  EXPECT_THAT(feed.found(), HasSubstr("never completed"));
}

TEST_F(OnceTest, consumer_that_begins_too_early) {
  const TaskId first = feed.submit(0, "first"), second = feed.submit(0, "second", {}, {first});
  feed.end(feed.begin(first));
  feed.begin(second);
  EXPECT_THAT(feed.found(), HasSubstr("task second (program.cpp), block 0 began before rank 0, task first"));
}

TEST_F(OnceTest, block_that_was_never_submitted) {
  feed.begin(feed.submit(0, "task"), 1);
  EXPECT_THAT(feed.found(), HasSubstr("no such block was submitted"));
}

}  // namespace
}  // namespace heddle::lab::checkers
