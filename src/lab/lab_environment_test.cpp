// SPDX-License-Identifier: Apache-2.0
#include "lab/lab_environment.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/fiber.hpp"
#include "base/mutant.hpp"
#include "lab/seeds.hpp"

namespace heddle::lab {
namespace {

using E = LabEnvironment;
using base::mutants::Scope;

struct Message {
  E::Plain<int> payload;
  E::Atomic<int> ready{0};
  int seen = 0;
};

Outcome pass_message(Machine& machine) {
  Message message;
  machine.label(&message.payload, "payload");
  machine.spawn("writer", [&] {
    message.payload.store(7);
    message.ready.store(1, E::order("message_publish", std::memory_order_release));
  });
  machine.spawn("reader", [&] {
    for (std::uint32_t n = 0; message.ready.load(E::order("message_take", std::memory_order_acquire)) == 0; ++n) {
      E::pause(n);
    }
    message.seen = message.payload.load();
  });
  const Outcome outcome = machine.run();
  if (outcome.finished()) {
    EXPECT_EQ(message.seen, 7) << outcome.describe();
  }
  return outcome;
}

TEST(Lab, equal_seeds_give_equal_runs_and_other_seeds_other_runs) {
  std::set<std::uint64_t> hashes;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Machine first(seed);
    Machine second(seed);
    const Outcome one = pass_message(first);
    const Outcome two = pass_message(second);
    EXPECT_EQ(one.hash, two.hash) << one.describe();
    EXPECT_EQ(one.steps, two.steps);
    hashes.insert(one.hash);
  }
  EXPECT_GT(hashes.size(), 10U);
}

// Written down so that another compiler or standard library is held to the same stream.
TEST(Lab, a_seed_means_the_same_everywhere) {
  Machine machine(1);
  std::vector<std::uint32_t> chosen;
  machine.spawn("chooser", [&] {
    for (int turn = 0; turn < 8; ++turn) chosen.push_back(E::choose("turn", 10));
  });
  EXPECT_TRUE(machine.run().finished());
  EXPECT_EQ(chosen, (std::vector<std::uint32_t>{0, 5, 1, 8, 5, 3, 0, 0}));
}

TEST(Lab, release_and_acquire_pass_a_message_under_every_seed) {
  const Outcome outcome = first_failure(1000, pass_message);
  EXPECT_TRUE(outcome.finished()) << outcome.describe();
}

TEST(Lab, a_dropped_release_or_acquire_is_a_race_that_names_the_cell_and_the_agents) {
  for (const char* const place : {"message_publish", "message_take"}) {
    const Scope fault(place);
    const Outcome outcome = first_failure(20, pass_message);
    EXPECT_EQ(outcome.kind, Outcome::Kind::race) << place << outcome.describe();
    EXPECT_EQ(outcome.agents, (std::vector<std::string>{"reader", "writer"}));
    EXPECT_NE(outcome.detail.find("payload"), std::string::npos) << outcome.detail;
  }
}

// The sleeper must announce itself before it looks a last time; the other order loses a wake-up.
Outcome sleep_and_wake(Machine& machine, bool announce_first) {
  E::Atomic<int> work{0};
  E::Atomic<int> asleep{0};
  E::Parker parker;
  machine.spawn("sleeper", [&, announce_first] {
    if (!announce_first && work.load(std::memory_order_seq_cst) != 0) return;
    asleep.exchange(1, std::memory_order_seq_cst);
    if (announce_first && work.load(std::memory_order_seq_cst) != 0) return;
    parker.park();
  });
  machine.spawn("waker", [&] {
    work.exchange(1, std::memory_order_seq_cst);
    if (asleep.load(std::memory_order_seq_cst) != 0) parker.unpark();
  });
  return machine.run();
}

TEST(Lab, a_lost_wake_up_is_a_deadlock_that_names_the_sleeper) {
  const Outcome right = first_failure(1000, [](Machine& machine) { return sleep_and_wake(machine, true); });
  EXPECT_TRUE(right.finished()) << right.describe();
  const Outcome lost = first_failure(200, [](Machine& machine) { return sleep_and_wake(machine, false); });
  EXPECT_EQ(lost.kind, Outcome::Kind::deadlock);
  EXPECT_EQ(lost.agents, std::vector<std::string>{"sleeper"});
}

TEST(Lab, park_takes_one_token_however_often_it_was_given_and_orders_what_came_before) {
  const Outcome outcome = first_failure(500, [](Machine& machine) {
    E::Parker parker;
    E::Plain<int> message;
    machine.spawn("parked", [&] {
      parker.park();
      EXPECT_EQ(message.load(), 7);
      E::Parker own;
      own.unpark();
      own.unpark();
      EXPECT_TRUE(own.park_until(E::now() + 100));
      EXPECT_FALSE(own.park_until(E::now() + 100));
    });
    machine.spawn("other", [&] {
      message.store(7);
      parker.unpark();
    });
    return machine.run();
  });
  EXPECT_TRUE(outcome.finished()) << outcome.describe();
}

TEST(Lab, a_deadline_passes_only_when_nothing_else_can_run) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Machine machine(seed);
    E::Parker first;
    E::Parker second;
    std::string order;
    machine.spawn("late", [&] {
      EXPECT_FALSE(first.park_until(2'000'000));
      EXPECT_GE(E::now(), 2'000'000U);
      order += 'l';
    });
    machine.spawn("early", [&] {
      EXPECT_FALSE(second.park_until(1'000'000));
      order += 'e';
    });
    machine.spawn("busy", [&] {
      for (std::uint32_t n = 0; n < 100; ++n) E::pause(n);
      order += 'b';
    });
    const Outcome outcome = machine.run();
    EXPECT_TRUE(outcome.finished()) << outcome.describe();
    EXPECT_EQ(order, "bel") << outcome.describe();
  }
}

TEST(Lab, a_livelock_and_an_exception_are_outcomes) {
  Machine spinning(1, Options{.step_limit = 1000});
  spinning.spawn("spinner", [] {
    for (std::uint32_t n = 0;; ++n) E::pause(n);
  });
  EXPECT_EQ(spinning.run().kind, Outcome::Kind::step_limit);

  Machine throwing(1);
  throwing.spawn("thrower", [] { throw std::runtime_error("no more yarn"); });
  const Outcome outcome = throwing.run();
  EXPECT_THROW(throwing.run(), std::logic_error);
  EXPECT_EQ(outcome.kind, Outcome::Kind::exception);
  EXPECT_NE(outcome.detail.find("thrower threw: no more yarn"), std::string::npos) << outcome.detail;
}

TEST(Lab, spawn_orders_the_parent_before_the_child_and_marks_are_kept) {
  const Outcome outcome = first_failure(100, [](Machine& machine) {
    E::Plain<int> value;
    machine.spawn("parent", [&] {
      value.store(1);
      machine.spawn("child", [&] {
        EXPECT_EQ(value.load(), 1);
        E::mark("child_ran");
      });
    });
    return machine.run();
  });
  EXPECT_TRUE(outcome.finished()) << outcome.describe();
  EXPECT_TRUE(outcome.reached("child_ran"));
  EXPECT_FALSE(outcome.reached("parent_ran"));
}

TEST(Lab, raw_memory_is_a_cell_as_well) {
  const Outcome outcome = first_failure(300, [](Machine& machine) {
    std::uint32_t signal = 0;
    E::Plain<int> payload;
    machine.spawn("notifier", [&] {
      payload.store(3);
      E::atomic_ref(signal).fetch_add(1U, std::memory_order_release);
    });
    machine.spawn("waiter", [&] {
      for (std::uint32_t n = 0; E::atomic_ref(signal).load(std::memory_order_acquire) == 0; ++n) E::pause(n);
      EXPECT_EQ(payload.load(), 3);
    });
    return machine.run();
  });
  EXPECT_TRUE(outcome.finished()) << outcome.describe();
}

// A register carries what its writer did before, and shows the halves of one store apart in either order.
Outcome poll_register(Machine& machine, std::set<std::uint64_t>& seen) {
  constexpr std::uint64_t after = 0x3333333344444444U;
  E::Register<std::uint64_t> wire;
  E::Plain<int> payload;
  machine.label(&payload, "payload");
  machine.spawn("writer", [&] {
    payload.store(7);
    wire.store_halves(after, 10, 20);
  });
  machine.spawn("reader", [&] {
    std::uint64_t value = 0;
    for (std::uint32_t n = 0; value != after; E::pause(n++)) seen.insert(value = wire.load());
    EXPECT_EQ(payload.load(), 7);
  });
  return machine.run();
}

TEST(Lab, a_register_is_seen_in_halves_and_orders_what_came_before) {
  std::set<std::uint64_t> seen;
  const auto scenario = [&](Machine& machine) { return poll_register(machine, seen); };
  const Outcome outcome = first_failure(500, scenario);
  EXPECT_TRUE(outcome.finished()) << outcome.describe();
  EXPECT_EQ(seen, (std::set<std::uint64_t>{0, 0x44444444U, 0x3333333300000000U, 0x3333333344444444U}));
  for (const char* const place : {"register_store", "register_load"}) {
    const Scope fault(place);
    const Outcome found = first_failure(20, scenario);
    EXPECT_EQ(found.kind, Outcome::Kind::race) << place << found.describe();
  }
}

// A worker that runs fibers of its own; two workers hand one fiber from one to the other.
struct Workshop {
  base::Fiber job;
  std::array<base::Fiber, 2> worker{base::Fiber::adopt(), base::Fiber::adopt()};
  E::Atomic<int> turn{0};
  E::Plain<int> done;
  std::vector<void*> ran_on;

  Workshop() : job(std::size_t{64} << 10U, &enter, this) {}
  static void enter(void* argument) {
    auto& self = *static_cast<Workshop*>(argument);
    for (;;) {
      self.done.store(self.done.load() + 1);  // steps, taken on the inner stack
      self.ran_on.push_back(E::self());
      base::Fiber::switch_to(self.job, *static_cast<base::Fiber*>(E::self()));
    }
  }
};

TEST(Lab, agents_may_run_and_exchange_fibers_of_their_own) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Machine machine(seed);
    Workshop shop;
    for (int mine = 0; mine < 2; ++mine) {
      machine.spawn(mine == 0 ? "even" : "odd", [&, mine] {
        base::Fiber& own = shop.worker[static_cast<std::size_t>(mine)];
        E::self() = &own;
        for (int round = 0; round < 5; ++round) {
          for (std::uint32_t n = 0; shop.turn.load(std::memory_order_acquire) % 2 != mine; ++n) E::pause(n);
          base::Fiber::switch_to(own, shop.job);
          shop.turn.fetch_add(1, std::memory_order_release);
        }
      });
    }
    const Outcome outcome = machine.run();
    ASSERT_TRUE(outcome.finished()) << outcome.describe();
    EXPECT_EQ(shop.done.load(), 10);
    EXPECT_EQ(std::count(shop.ran_on.begin(), shop.ran_on.end(), &shop.worker[0]), 5);
  }
}

}  // namespace
}  // namespace heddle::lab
