// SPDX-License-Identifier: Apache-2.0
#include "lab/strategies/strategies.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <heddle/error.hpp>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lab/program_environment.hpp"
#include "lab/simulator.hpp"
#include "lab/strategies/default.hpp"
#include "lab/strategies/delay.hpp"
#include "lab/strategies/dfs.hpp"
#include "lab/strategies/replay.hpp"

namespace heddle::lab {
namespace {

struct Shown {
  bool failed = false;
  std::uint64_t hash = 0;
  std::uint64_t choices = 0;
  std::vector<TakenChoice> taken;
};

// Runs `program`, which spawns agents and tells at the end whether its rule was broken.
using Program = std::function<std::function<bool()>(Simulator&)>;

Shown run(Strategy& strategy, const Program& program) {
  Simulator simulator(strategy, {.event_limit = 100'000, .record_choices = true});
  const std::function<bool()> broken = program(simulator);
  EXPECT_EQ(simulator.run(), Simulator::End::idle);
  return {broken(), simulator.hash(), simulator.choices(), simulator.taken()};
}

Shown run(Strategy& strategy, std::uint64_t seed, std::uint64_t hint, const Program& program) {
  strategy.begin(seed, hint);
  Shown shown = run(strategy, program);
  (void)strategy.end();
  return shown;
}

// Three messages that usually arrive in order; the rule that they do is the planted mistake.
std::function<bool()> messages(Simulator& simulator) {
  auto order = std::make_shared<std::string>();
  for (const char name : {'a', 'b', 'c'}) {
    simulator.spawn(std::string("sender ") + name, [&simulator, order, name] {
      for (int turn = 0; turn < 5; ++turn) {
        simulator.charge(simulator.latency("work", {50, 100, 400}));
        simulator.catch_up();
      }
      simulator.charge(static_cast<std::uint64_t>(name - 'a') * 600);
      simulator.charge(simulator.latency("wire", {100, 500, 3000}));
      simulator.catch_up();
      *order += name;
    });
  }
  return [order] { return *order != "abc"; };
}

TEST(Strategies, the_same_seed_gives_the_same_run_and_others_give_others) {
  for (const NamedHelp& known : strategy_names()) {
    if (known.name == "default" || known.name == "dfs") continue;
    std::set<std::uint64_t> hashes;
    const auto once = make_strategy(known.name);
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
      const auto twice = make_strategy(known.name);
      const Shown first = run(*once, seed, 40, messages);
      const Shown second = run(*twice, seed, 40, messages);
      EXPECT_EQ(first.hash, second.hash) << known.name << " seed " << seed;
      EXPECT_EQ(first.taken, second.taken);
      hashes.insert(first.hash);
    }
    EXPECT_GT(hashes.size(), 10U) << known.name;
  }
}

TEST(Strategies, each_finds_a_message_that_overtakes_another_and_the_default_does_not) {
  const auto ordinary = make_strategy("default");
  const Shown day = run(*ordinary, 1, 0, messages);
  EXPECT_FALSE(day.failed);
  EXPECT_TRUE(day.taken.empty());
  for (const NamedHelp& known : strategy_names()) {
    if (known.name == "default") continue;
    const auto strategy = make_strategy(known.name);
    std::uint64_t seed = 1;
    while (seed <= 500 && !run(*strategy, seed, day.choices, messages).failed) ++seed;
    EXPECT_LE(seed, 500U) << known.name;
  }
}

TEST(Strategies, an_unknown_name_is_told_with_those_that_are_known) {
  try {
    (void)make_strategy("luck");
    FAIL() << "made";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid_argument);
    EXPECT_NE(std::string(error.what()).find("random, pct, delay, walk, dfs"), std::string::npos) << error.what();
  }
}

TEST(Delay, takes_at_most_so_many_choices_that_are_not_the_default) {
  DelayStrategy strategy(2);
  std::set<std::uint32_t> ordinals;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Shown shown = run(strategy, seed, 18, messages);
    EXPECT_LE(shown.taken.size(), 2U) << "seed " << seed;
    for (const TakenChoice& choice : shown.taken) {
      if (choice.label == "work") ordinals.insert(choice.ordinal);
    }
  }
  EXPECT_EQ(ordinals.size(), 5U);  // every place has its turn
}

// 100 opportunities; at most one is taken.
std::function<bool()> one_fault(Simulator& simulator, std::vector<int>& where, std::uint32_t alternatives) {
  simulator.spawn("agent", [&, alternatives] {
    for (int place = 0; place < (alternatives == 2 ? 100 : 1); ++place) {
      const std::uint32_t drawn = simulator.choose("fault.test", ChoiceKind::fault, alternatives);
      if (drawn == 0) continue;
      where.push_back(alternatives == 2 ? place : static_cast<int>(drawn) - 1);
      return;
    }
  });
  return [] { return false; };
}

TEST(Strategies, faults_land_early_in_the_middle_and_late) {
  for (const char* const name : {"random", "pct", "delay", "walk"}) {
    for (const std::uint32_t alternatives : {2U, 101U}) {
      std::vector<int> where;
      const auto strategy = make_strategy(name);
      for (std::uint64_t seed = 1; seed <= 400; ++seed) {
        run(*strategy, seed, 100, [&](Simulator& simulator) { return one_fault(simulator, where, alternatives); });
      }
      std::vector<int> parts(4);
      for (const int place : where) ++parts[static_cast<std::size_t>(place / 25)];
      EXPECT_GE(where.size(), 200U) << name;
      for (const int part : parts) EXPECT_GE(part, 20) << name << " with " << alternatives;
    }
  }
}

TEST(Replay, of_what_was_taken_gives_the_same_run_and_says_what_it_did_not_meet) {
  for (const char* const name : {"random", "pct", "delay", "walk"}) {
    const auto strategy = make_strategy(name);
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
      const Shown first = run(*strategy, seed, 20, messages);
      ReplayStrategy replay(first.taken, strategy->by_time());
      const Shown again = run(replay, 0, 0, messages);
      EXPECT_EQ(again.hash, first.hash) << name << " seed " << seed;
      EXPECT_EQ(again.failed, first.failed);
      EXPECT_EQ(replay.consumed(), first.taken.size());
      std::vector<TakenChoice> more = first.taken;
      more.push_back({"wire", "nobody", 0, 3});
      ReplayStrategy stale(more, strategy->by_time());
      EXPECT_EQ(run(stale, 0, 0, messages).hash, first.hash);
      EXPECT_EQ(stale.consumed(), first.taken.size());
      EXPECT_EQ(stale.size(), first.taken.size() + 1);
    }
  }
}

TEST(Replay, overrides_single_choices_of_a_seeded_strategy) {
  const auto strategy = make_strategy("random");
  Shown plain = run(*strategy, 7, 0, messages);
  ReplayStrategy replay({{"wire", "sender a", 0, 15}, {"work", "sender b", 2, 99}}, make_strategy("random"));
  const Shown changed = run(replay, 7, 0, messages);
  EXPECT_EQ(replay.consumed(), 1U);  // there is no alternative 99
  const auto without = [](std::vector<TakenChoice> list) {
    std::erase_if(list, [](const TakenChoice& choice) {
      return choice.label == "tie" || (choice.label == "wire" && choice.agent == "sender a");
    });
    std::set<std::pair<std::string, std::uint32_t>> set;
    for (const TakenChoice& choice : list)
      set.emplace(choice.label + choice.agent, choice.ordinal * 100 + choice.taken);
    return set;
  };
  EXPECT_EQ(without(plain.taken), without(changed.taken));
}

// ---- exhaustive search

struct Search {
  std::uint64_t runs = 0;
  std::uint64_t redundant = 0;
  bool complete = false;
  bool failed = false;
  std::set<std::uint64_t> hashes;
};

Search search(const Program& program, bool sleep_sets) {
  DfsStrategy strategy(sleep_sets);
  Search result;
  do {
    strategy.begin(0, 0);
    const Shown shown = run(strategy, program);
    result.failed |= shown.failed;
    result.hashes.insert(shown.hash);
  } while (strategy.runs() < 100'000 && strategy.end());
  result.runs = strategy.runs();
  result.redundant = strategy.redundant();
  result.complete = strategy.complete();
  return result;
}

// Agents of `steps` steps each. Step i of agent a touches domain of(a, i).
Program stepping(int agents, int steps, std::function<int(int, int)> of) {
  return [=](Simulator& simulator) -> std::function<bool()> {
    for (int agent = 0; agent < agents; ++agent) {
      simulator.spawn("agent " + std::to_string(agent), [&simulator, steps, of, agent] {
        for (int step = 0; step < steps; ++step) {
          if (step != 0) simulator.catch_up();
          simulator.touch(std::uint64_t{1} << of(agent, step));
        }
      });
    }
    return [] { return false; };
  };
}

TEST(Dfs, sees_each_order_of_steps_once_and_says_that_it_is_complete) {
  const auto same = [](int, int) { return 0; };
  const auto counts = [&](int agents, int steps, std::uint64_t expected) {
    for (const bool sleep_sets : {false, true}) {
      const Search found = search(stepping(agents, steps, same), sleep_sets);
      EXPECT_EQ(found.runs, expected) << agents << " agents of " << steps << " steps";
      EXPECT_EQ(found.hashes.size(), expected);
      EXPECT_EQ(found.redundant, 0U);
      EXPECT_TRUE(found.complete);
    }
  };
  counts(1, 5, 1);
  counts(2, 2, 6);   // 4! / (2! 2!)
  counts(3, 2, 90);  // 6! / (2! 2! 2!)
  counts(2, 4, 70);  // 8! / (4! 4!)
  counts(4, 1, 24);  // 4!
}

TEST(Dfs, sleep_sets_leave_out_orders_that_differ_by_steps_that_commute) {
  const auto own = [](int agent, int) { return agent; };
  EXPECT_EQ(search(stepping(3, 2, own), false).runs, 90U);
  const Search found = search(stepping(3, 2, own), true);
  EXPECT_EQ(found.runs - found.redundant, 1U);
  EXPECT_LT(found.runs, 90U);
  EXPECT_TRUE(found.complete);
  // Two agents meet in their last step only: two classes.
  const auto meet = [](int agent, int step) { return step == 2 ? 9 : agent; };
  const Search two = search(stepping(2, 3, meet), true);
  EXPECT_EQ(two.runs - two.redundant, 2U);
  EXPECT_TRUE(two.complete);
}

// The last of three steps is wrong when it comes after the second agent's first and before its second.
std::function<bool()> lost_update(Simulator& simulator) {
  auto cell = std::make_shared<int>(0);
  for (const char* const name : {"one", "two"}) {
    simulator.spawn(name, [&simulator, cell, name] {
      for (int private_step = 0; private_step < 2; ++private_step) {
        simulator.touch(name[0] == 'o' ? 2 : 4);
        simulator.catch_up();
      }
      const int seen = *cell;
      simulator.touch(1);
      simulator.catch_up();
      *cell = seen + 1;
      simulator.touch(1);
    });
  }
  return [cell] { return *cell != 2; };
}

TEST(Dfs, finds_with_sleep_sets_what_it_finds_without) {
  const Search all = search(lost_update, false);
  const Search fewer = search(lost_update, true);
  EXPECT_TRUE(all.failed);
  EXPECT_TRUE(fewer.failed);
  EXPECT_TRUE(all.complete && fewer.complete);
  EXPECT_EQ(all.runs, 70U);
  EXPECT_LT(fewer.runs, all.runs);
}

TEST(Dfs, tries_each_placement_and_fault_within_a_step) {
  const Program program = [](Simulator& simulator) -> std::function<bool()> {
    simulator.spawn("agent", [&simulator] {
      (void)simulator.choose("where", ChoiceKind::placement, 3);
      if (simulator.choose("fault.test", ChoiceKind::fault, 2) == 1) {
        (void)simulator.choose("then", ChoiceKind::placement, 2);
      }
      EXPECT_EQ(simulator.latency("wire", {1, 5, 9}), 5U);
    });
    return [] { return false; };
  };
  const Search found = search(program, true);
  EXPECT_EQ(found.runs, 9U);  // 3 x (no fault, or a fault with 2)
  EXPECT_EQ(found.hashes.size(), 9U);
  EXPECT_TRUE(found.complete);
}

// Wakes, deadlines and tokens are seen by the search though nobody reports them.
TEST(Dfs, a_wake_does_not_commute_with_what_the_woken_does) {
  const Program program = [](Simulator& simulator) -> std::function<bool()> {
    auto late = std::make_shared<bool>(false);
    const AgentId sleeper = simulator.spawn("sleeper", [&simulator, late] {
      simulator.touch(1);
      *late = !simulator.park_until(100);
      simulator.touch(1);
    });
    simulator.spawn("waker", [&simulator, sleeper] {
      simulator.touch(2);
      simulator.wake(sleeper, 0);
    });
    return [late] { return *late; };
  };
  EXPECT_TRUE(search(program, false).failed);
  EXPECT_TRUE(search(program, true).failed);
}

TEST(Dfs, does_not_call_itself_complete_when_more_was_there_than_could_be_chosen) {
  constexpr std::uint64_t keys[] = {1, 2};
  for (const bool all : {true, false}) {
    DfsStrategy strategy;
    do {
      strategy.begin(0, 0);
      strategy.next_among(keys, all);
      (void)strategy.choose({"next", ChoiceKind::order, 2, 0, 1, 2, 0, 0});
      strategy.step_done({1, 1});
    } while (strategy.end());
    EXPECT_EQ(strategy.runs(), 2U);
    EXPECT_EQ(strategy.complete(), all);
  }
}

}  // namespace
}  // namespace heddle::lab
