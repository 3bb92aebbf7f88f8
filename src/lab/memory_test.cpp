// SPDX-License-Identifier: Apache-2.0
//
// What the memory model of the machine lets happen, and what it does not.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/mutant.hpp"
#include "lab/lab_environment.hpp"
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

// Relaxed accesses around fences order as much; without either fence they do not.
Outcome pass_message_by_fences(Machine& machine) {
  Message message;
  machine.spawn("writer", [&] {
    message.payload.store(7);
    E::fence(E::order("fence_release", std::memory_order_release));
    message.ready.store(1, std::memory_order_relaxed);
  });
  machine.spawn("reader", [&] {
    for (std::uint32_t n = 0; message.ready.load(std::memory_order_relaxed) == 0; ++n) E::pause(n);
    E::fence(E::order("fence_acquire", std::memory_order_acquire));
    message.seen = message.payload.load();
  });
  return machine.run();
}

TEST(LabMemory, fences_order_relaxed_accesses) {
  const Outcome outcome = first_failure(500, pass_message_by_fences);
  EXPECT_TRUE(outcome.finished()) << outcome.describe();
  for (const char* const place : {"fence_release", "fence_acquire"}) {
    const Scope fault(place);
    EXPECT_EQ(first_failure(20, pass_message_by_fences).kind, Outcome::Kind::race) << place;
  }
}

// A counter that others add to keeps the release at its head; a relaxed store after it does not.
Outcome pass_through(Machine& machine, bool by_modification) {
  Message message;
  machine.spawn("writer", [&] {
    message.payload.store(7);
    message.ready.store(1, std::memory_order_release);
  });
  machine.spawn("relay", [&, by_modification] {
    for (std::uint32_t n = 0; message.ready.load(std::memory_order_relaxed) == 0; ++n) E::pause(n);
    if (by_modification) {
      message.ready.fetch_add(1, std::memory_order_relaxed);
    } else {
      message.ready.store(2, std::memory_order_relaxed);
    }
  });
  machine.spawn("reader", [&] {
    for (std::uint32_t n = 0; message.ready.load(std::memory_order_acquire) != 2; ++n) E::pause(n);
    message.seen = message.payload.load();
  });
  return machine.run();
}

TEST(LabMemory, a_modification_continues_a_release_and_a_relaxed_store_breaks_it) {
  const Outcome kept = first_failure(500, [](Machine& machine) { return pass_through(machine, true); });
  EXPECT_TRUE(kept.finished()) << kept.describe();
  const Outcome broken = first_failure(20, [](Machine& machine) { return pass_through(machine, false); });
  EXPECT_EQ(broken.kind, Outcome::Kind::race);
}

// Relaxed stores to two cells may arrive in either order, unless the second is a release.
bool second_store_overtakes(std::memory_order order) {
  bool overtook = false;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    E::Atomic<int> first{0};
    E::Atomic<int> second{0};
    Machine machine(seed);
    machine.spawn("writer", [&] {
      first.store(1, std::memory_order_relaxed);
      second.store(1, order);
    });
    machine.spawn("reader", [&] {
      if (second.load(std::memory_order_acquire) == 1 && first.load(std::memory_order_relaxed) == 0) overtook = true;
    });
    EXPECT_TRUE(machine.run().finished());
  }
  return overtook;
}

TEST(LabMemory, relaxed_stores_overtake_each_other_and_releases_do_not) {
  EXPECT_TRUE(second_store_overtakes(std::memory_order_relaxed));
  EXPECT_FALSE(second_store_overtakes(std::memory_order_release));
}

// Each raises its flag and looks at the other's; both enter if neither sees the other.
bool dekker_lets_both_in(std::uint64_t seeds) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    std::array<E::Atomic<int>, 2> flag;
    std::array<bool, 2> inside{};
    Machine machine(seed);
    for (const std::size_t mine : {std::size_t{0}, std::size_t{1}}) {
      machine.spawn(mine == 0 ? "left" : "right", [&, mine] {
        flag[mine].store(1, std::memory_order_release);
        E::fence(E::order("dekker_fence", std::memory_order_seq_cst));
        inside[mine] = flag[1 - mine].load(std::memory_order_acquire) == 0;
      });
    }
    EXPECT_TRUE(machine.run().finished());
    if (inside[0] && inside[1]) return true;
  }
  return false;
}

TEST(LabMemory, dekker_needs_its_fence) {
  EXPECT_FALSE(dekker_lets_both_in(2000));
  const Scope fault("dekker_fence");
  EXPECT_TRUE(dekker_lets_both_in(200));
}

// The same with read-modify-writes, which need no fence if they are seq_cst.
bool dekker_of_modifies_lets_both_in(std::uint64_t seeds, std::memory_order order) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    std::array<E::Atomic<int>, 2> flag;
    std::array<bool, 2> inside{};
    Machine machine(seed);
    for (const std::size_t mine : {std::size_t{0}, std::size_t{1}}) {
      machine.spawn(mine == 0 ? "left" : "right", [&, mine] {
        flag[mine].fetch_add(1, order);
        inside[mine] = flag[1 - mine].load(std::memory_order_seq_cst) == 0;
      });
    }
    EXPECT_TRUE(machine.run().finished());
    if (inside[0] && inside[1]) return true;
  }
  return false;
}

TEST(LabMemory, a_load_may_overtake_a_modification_that_is_not_seq_cst) {
  EXPECT_FALSE(dekker_of_modifies_lets_both_in(2000, std::memory_order_seq_cst));
  EXPECT_TRUE(dekker_of_modifies_lets_both_in(200, std::memory_order_acq_rel));
  EXPECT_TRUE(dekker_of_modifies_lets_both_in(200, std::memory_order_relaxed));
}

// Once an agent is ordered after a modification, or has modified the cell itself, it sees no older value.
TEST(LabMemory, an_overtaken_modification_is_never_unseen_again) {
  const Outcome outcome = first_failure(2000, [](Machine& machine) {
    E::Atomic<int> cell{0};
    E::Atomic<int> ready{0};
    machine.spawn("writer", [&] {
      cell.fetch_add(1, std::memory_order_relaxed);
      ready.store(1, std::memory_order_release);
    });
    machine.spawn("reader", [&] {
      if (ready.load(std::memory_order_acquire) == 1 && cell.load(std::memory_order_relaxed) == 0)
        machine.fail("an older value after an acquire");
    });
    machine.spawn("modifier", [&] {
      const int before = cell.fetch_add(2, std::memory_order_relaxed);
      if (cell.load(std::memory_order_relaxed) < before + 2) machine.fail("an older value after an own modification");
      int last = 0;
      for (int look = 0; look < 4; ++look) {
        const int now = cell.load(std::memory_order_relaxed);
        if (now < last) machine.fail("values that go back");
        last = now;
      }
    });
    return machine.run();
  });
  EXPECT_TRUE(outcome.finished()) << outcome.describe();
}

// What an agent makes must be published before others use it, and left by others before it is destroyed.
TEST(LabMemory, the_life_of_a_cell_must_be_ordered_with_its_use) {
  const auto publish = [](Machine& machine, std::memory_order order, bool destroy) {
    E::Atomic<E::Atomic<int>*> shared{nullptr};
    std::unique_ptr<E::Atomic<int>> owned;
    machine.spawn("maker", [&, order, destroy] {
      owned = std::make_unique<E::Atomic<int>>(1);
      shared.store(owned.get(), order);
      if (destroy) {
        for (std::uint32_t n = 0; shared.load(std::memory_order_relaxed) != nullptr; ++n) E::pause(n);
        owned.reset();
      }
    });
    machine.spawn("user", [&] {
      E::Atomic<int>* found = nullptr;
      for (std::uint32_t n = 0; (found = shared.load(std::memory_order_acquire)) == nullptr; ++n) E::pause(n);
      found->store(2, std::memory_order_relaxed);
      shared.store(nullptr, std::memory_order_relaxed);  // may overtake the store before it
    });
    return machine.run();
  };
  const Outcome right =
      first_failure(500, [&](Machine& machine) { return publish(machine, std::memory_order_release, false); });
  EXPECT_TRUE(right.finished()) << right.describe();
  EXPECT_EQ(
      first_failure(20, [&](Machine& machine) { return publish(machine, std::memory_order_relaxed, false); }).kind,
      Outcome::Kind::race);
  EXPECT_EQ(
      first_failure(500, [&](Machine& machine) { return publish(machine, std::memory_order_release, true); }).kind,
      Outcome::Kind::race);
}

}  // namespace
}  // namespace heddle::lab
