// SPDX-License-Identifier: Apache-2.0
#include "lab/own_thread.hpp"

#include <gtest/gtest.h>
#include <pthread.h>

#include <csignal>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace heddle::lab {
namespace {

TEST(OwnThread, does_everything_on_one_thread_that_is_not_the_callers) {
  OwnThread own;
  std::set<std::thread::id> seen;
  for (int i = 0; i < 100; ++i) own.call([&] { seen.insert(std::this_thread::get_id()); });
  EXPECT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen.count(std::this_thread::get_id()), 0U);
  EXPECT_FALSE(own.is_here());
  bool is_here = false;
  own.call([&] { is_here = own.is_here(); });
  EXPECT_TRUE(is_here);
}

TEST(OwnThread, throws_what_its_task_throws_and_goes_on) {
  OwnThread own;
  EXPECT_THROW(own.call([] { throw std::out_of_range("far"); }), std::out_of_range);
  int done = 0;
  own.call([&] { ++done; });
  EXPECT_EQ(done, 1);
}

TEST(OwnThread, takes_calls_of_several_threads_one_after_the_other) {
  OwnThread own;
  int sum = 0;  // no atomic: only the thread itself adds
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; ++t) {
    callers.emplace_back([&] {
      for (int i = 0; i < 250; ++i) own.call([&] { ++sum; });
    });
  }
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(sum, 1000);
}

TEST(OwnThread, leaves_signals_to_the_threads_of_the_caller) {
  OwnThread own;
  sigset_t blocked;
  own.call([&] { ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked); });
  EXPECT_EQ(sigismember(&blocked, SIGINT), 1);
  ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  EXPECT_EQ(sigismember(&blocked, SIGINT), 0);
}

}  // namespace
}  // namespace heddle::lab
