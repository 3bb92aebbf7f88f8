// SPDX-License-Identifier: Apache-2.0
#include "base/lock.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "base/host_environment.hpp"
#include "base/mutant.hpp"
#include "lab/lab_environment.hpp"
#include "lab/seeds.hpp"

namespace heddle::base {
namespace {

template <Environment E>
struct Counter {
  SpinLock<E> lock;
  typename E::template Plain<std::uint32_t> value;

  void add(std::uint32_t times) {
    for (std::uint32_t turn = 0; turn < times; ++turn) {
      const std::lock_guard guard(lock);
      value.store(value.load() + 1);
    }
  }
};

TEST(SpinLock, excludes_real_threads_from_each_other) {
  Counter<HostEnvironment> counter;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 3; ++thread) threads.emplace_back([&] { counter.add(20'000); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter.value.load(), 60'000U);
}

TEST(SpinLock, is_not_granted_twice) {
  SpinLock<HostEnvironment> lock;
  EXPECT_TRUE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock());
  lock.unlock();
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

lab::Outcome count_in_lab(std::uint64_t seeds) {
  return lab::first_failure(seeds, [](lab::Machine& machine) {
    Counter<lab::LabEnvironment> counter;
    for (const char* const name : {"first", "second", "third"}) {
      machine.spawn(name, [&] { counter.add(3); });
    }
    lab::Outcome outcome = machine.run();
    if (outcome.finished()) {
      EXPECT_EQ(counter.value.load(), 9U) << outcome.describe();
    }
    return outcome;
  });
}

TEST(SpinLock, excludes_agents_under_every_seed_and_needs_both_of_its_orders) {
  const lab::Outcome outcome = count_in_lab(2000);
  EXPECT_TRUE(outcome.finished()) << outcome.describe();
  for (const char* const place : {"lock_acquire", "lock_release"}) {
    const mutants::Scope fault(place);
    EXPECT_EQ(count_in_lab(50).kind, lab::Outcome::Kind::race) << place;
  }
}

}  // namespace
}  // namespace heddle::base
