// SPDX-License-Identifier: Apache-2.0
#include "base/host_environment.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <thread>

#include "base/marks.hpp"
#include "base/mutant.hpp"

namespace heddle::base {
namespace {

TEST(HostEnvironment, an_unpark_before_the_park_is_not_lost_and_two_count_once) {
  HostEnvironment::Parker parker;
  parker.unpark();
  parker.unpark();
  parker.park();
  EXPECT_FALSE(parker.park_until(HostEnvironment::now()));
}

TEST(HostEnvironment, an_unpark_wakes_a_parked_thread_and_orders_what_came_before) {
  HostEnvironment::Parker parker;
  HostEnvironment::Plain<int> message;
  int seen = 0;
  std::thread thread([&] {
    parker.park();
    seen = message.load();
  });
  message.store(7);
  parker.unpark();
  thread.join();
  EXPECT_EQ(seen, 7);
}

TEST(HostEnvironment, a_register_passes_a_message_whole_and_at_once) {
  HostEnvironment::Register<std::uint64_t> wire{1};
  HostEnvironment::Plain<int> message;
  std::uint64_t seen = 1;
  std::thread thread([&] {
    for (std::uint32_t n = 0; (seen = wire.load()) == 1; ++n) HostEnvironment::pause(n);
    EXPECT_EQ(message.load(), 7);
  });
  message.store(7);
  wire.store_halves(0x3333333344444444U, 1'000'000'000, 2'000'000'000);
  thread.join();
  EXPECT_EQ(seen, 0x3333333344444444U);
}

TEST(HostEnvironment, a_park_ends_at_its_deadline_and_a_token_beats_the_longest_one) {
  HostEnvironment::Parker parker;
  const std::uint64_t deadline = HostEnvironment::now() + 1'000'000;
  EXPECT_FALSE(parker.park_until(deadline));
  EXPECT_GE(HostEnvironment::now(), deadline);
  parker.unpark();
  EXPECT_TRUE(parker.park_until(UINT64_MAX));
}

TEST(HostEnvironment, each_thread_has_its_own_slot) {
  int mine = 0;
  HostEnvironment::self() = &mine;
  void* others = &mine;
  std::thread([&] { others = HostEnvironment::self(); }).join();
  EXPECT_EQ(others, nullptr);
  EXPECT_EQ(HostEnvironment::self(), &mine);
  HostEnvironment::self() = nullptr;
}

TEST(HostEnvironment, an_order_is_a_constant_unless_a_mutant_weakens_it) {
  static_assert(HostEnvironment::order("here", std::memory_order_release) == std::memory_order_release);
  EXPECT_EQ(MutantHostEnvironment::order("here", std::memory_order_release), std::memory_order_release);
  {
    const mutants::Scope fault("here");
    EXPECT_EQ(MutantHostEnvironment::order("here", std::memory_order_release), std::memory_order_relaxed);
    EXPECT_EQ(MutantHostEnvironment::order("there", std::memory_order_release), std::memory_order_release);
  }
  EXPECT_EQ(MutantHostEnvironment::order("here", std::memory_order_release), std::memory_order_release);
}

TEST(Marks, are_counted_by_text) {
  marks::clear();
  EXPECT_FALSE(marks::reached("marks_test_state"));
  marks::reach("marks_test_state");
  marks::reach("marks_test_state");
  EXPECT_EQ(marks::count(std::string("marks_test_state")), 2U);
  marks::clear();
  EXPECT_FALSE(marks::reached("marks_test_state"));
}

}  // namespace
}  // namespace heddle::base
