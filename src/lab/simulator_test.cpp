// SPDX-License-Identifier: Apache-2.0
#include "lab/simulator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/fiber.hpp"
#include "lab/strategies/default.hpp"
#include "lab/strategies/random.hpp"

namespace heddle::lab {
namespace {

struct Call final : Event {
  Call() = default;
  explicit Call(std::function<void()> what) : body(std::move(what)) {}
  void happen() override { body(); }
  std::function<void()> body;
};

// Takes what it is told for one label, and the default for others.
struct Fixed final : Strategy {
  Fixed(std::string chosen_label, std::uint32_t chosen_taken) : label(std::move(chosen_label)), taken(chosen_taken) {}
  const char* name() const override { return "fixed"; }
  void begin(std::uint64_t, std::uint64_t) override {}
  std::uint32_t choose(const Choice& choice) override {
    seen.push_back(choice);
    if (choice.label != label) return 0;
    return choice.kind == ChoiceKind::order ? std::min(taken, choice.alternatives - 1) : taken;
  }
  std::string label;
  std::uint32_t taken;
  std::vector<Choice> seen;
};

struct Day {
  DefaultStrategy strategy;
  Simulator simulator{strategy};
};

TEST(Simulator, what_is_earliest_happens_first_and_the_end_is_noticed_at_once) {
  Day day;
  std::string order;
  Call late{[&] { order += 'c'; }};
  Call early{[&] { order += 'a'; }};
  day.simulator.at(300, late);
  day.simulator.at(100, early);
  day.simulator.spawn("agent", [&] {
    day.simulator.charge(200);
    day.simulator.catch_up();
    order += 'b';
    day.simulator.charge(200);
    order += 'd';  // runs ahead: nobody sees it before it switches
    day.simulator.catch_up();
    order += 'e';
  });
  EXPECT_EQ(day.simulator.run(), Simulator::End::idle);
  EXPECT_EQ(order, "abdce");
  EXPECT_EQ(day.simulator.now(), 400U);
}

TEST(Simulator, charging_alone_never_switches) {
  Day day;
  std::vector<std::uint64_t> times;
  for (const char* const name : {"one", "two"}) {
    day.simulator.spawn(name, [&] {
      for (int turn = 0; turn < 1000; ++turn) {
        day.simulator.charge(5);
        day.simulator.catch_up();
      }
      times.push_back(day.simulator.now());
    });
  }
  Day alone;
  alone.simulator.spawn("one", [&] {
    for (int turn = 0; turn < 1000; ++turn) {
      alone.simulator.charge(5);
      alone.simulator.catch_up();
    }
  });
  (void)day.simulator.run();
  (void)alone.simulator.run();
  EXPECT_EQ(times, (std::vector<std::uint64_t>{5000, 5000}));
  EXPECT_EQ(alone.simulator.events(), 1U);
  EXPECT_EQ(alone.simulator.choices(), 0U);
}

TEST(Simulator, a_wake_before_the_park_is_not_lost_and_two_count_once) {
  Day day;
  Simulator& simulator = day.simulator;
  std::vector<std::string> seen;
  const auto tell = [&](const char* what) { seen.push_back(what + std::to_string(simulator.now())); };
  const AgentId sleeper = simulator.spawn("sleeper", [&] {
    simulator.charge(50);
    simulator.catch_up();
    simulator.park();  // the waker was earlier
    tell("first ");
    tell(simulator.park_until(90) ? "token " : "deadline ");
    simulator.park();
    tell("second ");
    simulator.park();  // a wake in the future is waited for
    tell("third ");
  });
  simulator.spawn("waker", [&] {
    simulator.wake(sleeper, 0);
    simulator.wake(sleeper, 0);
    simulator.charge(200);
    simulator.catch_up();
    simulator.wake(sleeper, 700);
    simulator.wake(sleeper, 300);  // the earlier one counts
    simulator.charge(150);
    simulator.catch_up();
    simulator.wake(sleeper, 1000);
  });
  EXPECT_EQ(simulator.run(), Simulator::End::idle);
  EXPECT_EQ(seen, (std::vector<std::string>{"first 50", "deadline 90", "second 300", "third 1000"}));
}

TEST(Simulator, a_run_goes_on_after_it_stopped_or_was_idle) {
  Day day;
  Simulator& simulator = day.simulator;
  std::string order;
  const AgentId agent = simulator.spawn("agent", [&] {
    order += 'a';
    simulator.stop();
    simulator.catch_up();
    order += 'b';
    simulator.park();
    order += 'c';
  });
  Call call{[&] {
    order += 'e';
    simulator.stop();
  }};
  EXPECT_EQ(simulator.run(), Simulator::End::stopped);
  EXPECT_EQ(order, "a");
  EXPECT_EQ(simulator.run(), Simulator::End::idle);
  EXPECT_EQ(order, "ab");
  simulator.at(5, call);
  simulator.wake(agent, 7);
  EXPECT_EQ(simulator.run(), Simulator::End::stopped);
  EXPECT_EQ(order, "abe");
  EXPECT_EQ(simulator.run(), Simulator::End::idle);
  EXPECT_EQ(order, "abec");
}

TEST(Simulator, an_event_can_be_moved_and_cancelled) {
  Day day;
  std::vector<std::uint64_t> times;
  Call moved{[&] { times.push_back(day.simulator.now()); }};
  Call cancelled{[&] { times.push_back(0); }};
  day.simulator.at(10, moved);
  day.simulator.at(20, cancelled);
  day.simulator.at(30, moved);
  day.simulator.cancel(cancelled);
  day.simulator.cancel(cancelled);
  (void)day.simulator.run();
  EXPECT_EQ(times, std::vector<std::uint64_t>{30});
}

TEST(Simulator, ties_are_drawn_and_nothing_else_is) {
  for (std::uint32_t taken = 0; taken < 3; ++taken) {
    Fixed strategy("tie", taken);
    Simulator simulator(strategy);
    std::string order;
    Call calls[3];
    for (int index = 0; index < 3; ++index) {
      calls[index].body = [&order, index] { order += static_cast<char>('a' + index); };
      simulator.at(100, calls[index]);
    }
    (void)simulator.run();
    constexpr const char* expected[] = {"abc", "bca", "cba"};
    EXPECT_EQ(order, expected[taken]) << taken;
    ASSERT_EQ(strategy.seen.size(), 2U);
    EXPECT_EQ(strategy.seen[0].alternatives, 3U);
    EXPECT_EQ(strategy.seen[1].alternatives, 2U);
    EXPECT_EQ(strategy.seen[0].agent_key, key_of("network"));
  }
}

TEST(Simulator, latencies_spread_from_the_least_to_the_most_around_the_mean) {
  const base::Latency range{180, 600, 1000};
  std::vector<std::uint64_t> got;
  for (std::uint32_t taken = 0; taken < 16; ++taken) {
    Fixed strategy("wire", taken);
    Simulator simulator(strategy);
    simulator.spawn("agent", [&] {
      got.push_back(simulator.latency("wire", range));
      EXPECT_EQ(simulator.latency("wire", {70, 70, 70}), 70U);
    });
    (void)simulator.run();
    EXPECT_EQ(simulator.choices(), 1U);
  }
  EXPECT_EQ(got[0], 600U);
  EXPECT_EQ(got[1], 180U);
  EXPECT_EQ(got[15], 1000U);
  EXPECT_TRUE(std::is_sorted(got.begin() + 1, got.end()));
}

TEST(Simulator, a_choice_is_named_by_its_agent_label_and_ordinal) {
  Fixed strategy("b", 1);
  Simulator simulator(strategy, {.record_choices = true});
  const std::string text = "b";  // the same label at another address
  simulator.spawn("agent", [&] {
    EXPECT_EQ(simulator.choose("a", ChoiceKind::placement, 2), 0U);
    EXPECT_EQ(simulator.choose("b", ChoiceKind::placement, 3), 1U);
    EXPECT_EQ(simulator.choose(text.c_str(), ChoiceKind::fault, 2), 1U);
    EXPECT_EQ(simulator.choose("b", ChoiceKind::placement, 1), 0U);  // no choice at all
  });
  (void)simulator.run();
  EXPECT_EQ(simulator.taken(), (std::vector<TakenChoice>{{"b", "agent", 0, 1}, {"b", "agent", 1, 1}}));
  ASSERT_EQ(strategy.seen.size(), 3U);
  EXPECT_EQ(strategy.seen[2].label_key, key_of("b"));
  EXPECT_EQ(strategy.seen[2].position, 2U);
}

TEST(Simulator, an_exception_ends_the_run_and_names_the_agent) {
  Day day;
  day.simulator.spawn("thrower", [] { throw std::runtime_error("no more yarn"); });
  day.simulator.spawn("sleeper", [&] { day.simulator.park(); });
  try {
    (void)day.simulator.run();
    FAIL() << "run() returned";
  } catch (const std::logic_error& error) {
    EXPECT_STREQ(error.what(), "agent thrower threw: no more yarn");
  }
  EXPECT_THROW((void)day.simulator.run(), std::logic_error);
  EXPECT_EQ(Simulator::current(), nullptr);

  Day other;
  Call call{[] { throw 1; }};
  other.simulator.at(1, call);
  EXPECT_THROW((void)other.simulator.run(), std::logic_error);
}

TEST(Simulator, wrong_use_is_told) {
  Day day;
  day.simulator.spawn("one", [] {});
  EXPECT_THROW(day.simulator.spawn("one", [] {}), std::logic_error);
  EXPECT_THROW(day.simulator.spawn("network", [] {}), std::logic_error);
  EXPECT_THROW(day.simulator.wake(7, 0), std::logic_error);
  EXPECT_THROW(day.simulator.park(), std::logic_error);
  day.simulator.spawn("inner", [] {
    Day inner;
    (void)inner.simulator.run();
  });
  EXPECT_THROW((void)day.simulator.run(), std::logic_error);
  Fixed bad("a", 2);
  Simulator simulator(bad);
  simulator.spawn("agent", [&] { (void)simulator.choose("a", ChoiceKind::placement, 2); });
  EXPECT_THROW((void)simulator.run(), std::logic_error);
}

TEST(Simulator, the_event_limit_ends_a_livelock) {
  DefaultStrategy strategy;
  Simulator simulator(strategy, {.event_limit = 1000});
  for (const char* const name : {"one", "two"}) {
    simulator.spawn(name, [&] {
      for (;;) simulator.catch_up();
    });
  }
  EXPECT_EQ(simulator.run(), Simulator::End::event_limit);
  EXPECT_EQ(simulator.events(), 1000U);
}

TEST(Simulator, a_request_ends_the_run_after_the_event_that_happens_and_is_taken_back) {
  std::atomic<bool> interrupt{false};
  DefaultStrategy strategy;
  Simulator simulator(strategy, {.interrupt = &interrupt});
  int happened = 0;
  Call first{[&] {
    ++happened;
    interrupt = true;
  }};
  Call second{[&] { ++happened; }};
  simulator.at(1, first);
  simulator.at(2, second);
  EXPECT_EQ(simulator.run(), Simulator::End::interrupted);
  EXPECT_EQ(happened, 1);
  EXPECT_FALSE(interrupt);
  EXPECT_EQ(simulator.run(), Simulator::End::idle);
  EXPECT_EQ(happened, 2);
}

TEST(Simulator, agents_spawn_agents_have_a_slot_each_and_may_run_fibers) {
  Day day;
  Simulator& simulator = day.simulator;
  int mine = 0;
  int outside = 0;
  simulator.self() = &outside;
  bool inner_ran = false;
  simulator.spawn("parent", [&] {
    simulator.self() = &mine;
    simulator.spawn("child", [&] { EXPECT_EQ(simulator.self(), nullptr); });
    struct Inner {
      Simulator& simulator;
      base::Fiber home = base::Fiber::adopt();
      base::Fiber fiber{std::size_t{64} << 10U, &enter, this};
      static void enter(void* argument) {
        auto& self = *static_cast<Inner*>(argument);
        self.simulator.charge(10);
        self.simulator.catch_up();  // the agent's switch, on the inner stack
        base::Fiber::exit_to(self.home);
      }
    } inner{simulator};
    base::Fiber::switch_to(inner.home, inner.fiber);
    EXPECT_EQ(simulator.self(), &mine);
    inner_ran = true;
  });
  EXPECT_EQ(simulator.run(), Simulator::End::idle);
  EXPECT_TRUE(inner_ran);
  EXPECT_EQ(simulator.self(), &outside);
}

// Written down so that other compilers and builds are held to the same runs.
TEST(Simulator, a_seed_means_the_same_everywhere) {
  const auto hash_of = [](std::uint64_t seed) {
    RandomStrategy strategy;
    strategy.begin(seed, 0);
    Simulator simulator(strategy);
    const AgentId ping = simulator.spawn("ping", [&] {
      for (int turn = 0; turn < 20; ++turn) simulator.park();
    });
    simulator.spawn("pong", [&] {
      for (int turn = 0; turn < 20; ++turn) {
        simulator.charge(simulator.latency("work", {10, 20, 100}));
        simulator.wake(ping, simulator.now() + simulator.latency("wire", {5, 6, 50}));
        simulator.catch_up();
      }
    });
    (void)simulator.run();
    return simulator.hash();
  };
  EXPECT_EQ(hash_of(1), 6825116168851528024ULL);
  EXPECT_EQ(hash_of(2), 18137504518966186827ULL);
}

}  // namespace
}  // namespace heddle::lab
