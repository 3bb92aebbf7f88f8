// SPDX-License-Identifier: Apache-2.0
#include "lab/program_environment.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/marks.hpp"
#include "lab/strategies/default.hpp"

namespace heddle::lab {
namespace {

using E = ProgramEnvironment;
constexpr auto relaxed = std::memory_order_relaxed;

struct Day {
  DefaultStrategy strategy;
  Simulator simulator{strategy};
};

TEST(ProgramEnvironment, an_atomic_is_a_value_and_counts_as_one) {
  static_assert(sizeof(E::Atomic<std::uint32_t>) == sizeof(std::uint32_t));
  E::Atomic<std::uint32_t> cell{5};
  EXPECT_EQ(cell.fetch_add(3, relaxed), 5U);
  EXPECT_EQ(cell.fetch_sub(1, relaxed), 8U);
  EXPECT_EQ(cell.fetch_or(8, relaxed), 7U);
  EXPECT_EQ(cell.fetch_and(12, relaxed), 15U);
  EXPECT_EQ(cell.exchange(2, relaxed), 12U);
  std::uint32_t expected = 1;
  EXPECT_FALSE(cell.compare_exchange_strong(expected, 9, relaxed, relaxed));
  EXPECT_EQ(expected, 2U);
  EXPECT_TRUE(cell.compare_exchange_weak(expected, 9, relaxed, relaxed));
  EXPECT_EQ(cell.load(relaxed), 9U);
  std::int64_t raw = -1;
  EXPECT_EQ(E::atomic_ref(raw).fetch_add(1, relaxed), -1);
  EXPECT_EQ(raw, 0);
}

TEST(ProgramEnvironment, a_register_is_seen_after_its_delay_and_in_the_order_of_its_stores) {
  Day day;
  E::Register<std::uint64_t> wire{7};
  std::vector<std::pair<std::uint64_t, std::uint64_t>> seen;
  day.simulator.spawn("writer", [&] {
    wire.store(1, 140);
    E::charge(10);
    wire.store(2, 20);  // may not pass the one before it
    E::charge(300);
    for (std::uint64_t value = 3; value < 10; ++value) wire.store(value, 100 * value);  // more than are kept inline
  });
  day.simulator.spawn("reader", [&] {
    for (std::uint64_t last = 0; last != 9;) {
      const std::uint64_t value = wire.load();
      if (value != last) seen.emplace_back(E::now(), value);
      last = value;
      E::pause(0);
    }
  });
  EXPECT_EQ(day.simulator.run(), Simulator::End::idle);
  EXPECT_EQ(seen, (std::vector<std::pair<std::uint64_t, std::uint64_t>>{
                      {0, 7}, {140, 2}, {610, 3}, {710, 4}, {810, 5}, {910, 6}, {1010, 7}, {1110, 8}, {1210, 9}}));
}

TEST(ProgramEnvironment, the_halves_of_a_store_are_seen_apart_in_either_order) {
  constexpr std::uint64_t before = 0x1111111122222222U;
  constexpr std::uint64_t after = 0x3333333344444444U;
  for (const bool low_first : {true, false}) {
    Day day;
    E::Register<std::uint64_t> wire{before};
    day.simulator.spawn("both", [&] {
      wire.store_halves(after, low_first ? 50 : 100, low_first ? 100 : 50);
      EXPECT_EQ(wire.load(), before);
      E::charge(50);
      EXPECT_EQ(wire.load(), low_first ? 0x1111111144444444U : 0x3333333322222222U);
      E::charge(50);
      EXPECT_EQ(wire.load(), after);
    });
    EXPECT_EQ(day.simulator.run(), Simulator::End::idle);
  }
}

TEST(ProgramEnvironment, a_token_comes_when_it_was_sent_for_and_a_deadline_does_not_take_it) {
  Day day;
  E::Parker parker;
  std::vector<std::string> seen;
  const auto tell = [&](const char* what) { seen.push_back(what + std::to_string(E::now())); };
  day.simulator.spawn("parked", [&] {
    tell(parker.park_until(100) ? "token " : "deadline ");
    tell(parker.park_until(900) ? "token " : "deadline ");
    parker.park();
    tell("token ");
    parker.unpark();
    parker.unpark();
    parker.park();
    tell("own ");
    tell(parker.park_until(650) ? "token " : "deadline ");
  });
  day.simulator.spawn("other", [&] {
    E::charge(60);
    E::catch_up();
    parker.unpark_in(240);
    E::charge(440);
    E::catch_up();
    parker.unpark_in(200);
    parker.unpark_in(100);
    parker.unpark_in(300);
  });
  EXPECT_EQ(day.simulator.run(), Simulator::End::idle);
  EXPECT_EQ(seen, (std::vector<std::string>{"deadline 100", "token 300", "token 600", "own 600", "deadline 650"}));
}

TEST(ProgramEnvironment, a_bounded_spin_lets_time_and_the_others_go_on) {
  Day day;
  E::Atomic<int> ready{0};
  day.simulator.spawn("waiter", [&] {
    std::uint32_t pauses = 0;
    while (ready.load(relaxed) == 0) E::pause(pauses++);
    EXPECT_EQ(pauses, 10U);
  });
  day.simulator.spawn("setter", [&] {
    E::charge(95);
    E::catch_up();
    ready.store(1, relaxed);
  });
  EXPECT_EQ(day.simulator.run(), Simulator::End::idle);
}

TEST(ProgramEnvironment, acts_directly_where_no_simulator_runs) {
  E::Register<std::uint64_t> wire;
  wire.store_halves(5, 100, 200);
  EXPECT_EQ(wire.load(), 5U);
  E::Parker parker;
  parker.unpark_in(1000);
  EXPECT_TRUE(parker.park_until(0));
  EXPECT_FALSE(parker.park_until(0));
  EXPECT_EQ(E::choose("label", 4), 0U);
  EXPECT_EQ(E::latency("label", {1, 2, 3}), 0U);
  E::charge(10);
  E::pause(0);
  E::catch_up();
  EXPECT_EQ(E::now(), 0U);
  int mine = 0;
  E::self() = &mine;
  Day day;
  day.simulator.spawn("agent", [] { EXPECT_EQ(E::self(), nullptr); });
  (void)day.simulator.run();
  EXPECT_EQ(std::exchange(E::self(), nullptr), &mine);
}

TEST(ProgramEnvironment, costs_latencies_and_choices_are_the_simulators) {
  Day day;
  day.simulator.spawn("agent", [] {
    E::charge(E::latency("wire", {1, 20, 30}));
    EXPECT_EQ(E::now(), 20U);
    EXPECT_EQ(E::choose("where", 3), 0U);
    E::mark("program_environment_test");
  });
  (void)day.simulator.run();
  EXPECT_EQ(day.simulator.choices(), 2U);
  EXPECT_TRUE(base::marks::reached("program_environment_test"));
}

}  // namespace
}  // namespace heddle::lab
