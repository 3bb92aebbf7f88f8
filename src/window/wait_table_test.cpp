// SPDX-License-Identifier: Apache-2.0
#include "window/wait_table.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/host_environment.hpp"
#include "base/mutant.hpp"
#include "base/sanitizer.hpp"
#include "lab/lab_environment.hpp"
#include "lab/mutant_search.hpp"

namespace heddle::window {
namespace {

using base::HostEnvironment;
using base::MutantHostEnvironment;
using lab::LabEnvironment;
using lab::Machine;
using lab::Outcome;

// Cells of a window. At a fixed place in their page, so that every run has the same buckets.
struct alignas(4096) Cells {
  std::int32_t narrow[4];
  std::int64_t wide[2];
};
Cells& cells() {
  static Cells instance;
  return instance;
}

void expect(bool condition, const char* what) {
  if (!condition) throw std::runtime_error(what);
}

using Agents = std::vector<std::pair<std::string, std::function<void()>>>;

// One wait at a time, by one agent.
template <base::Environment E>
struct Waiter {
  WaitNode node;
  typename E::Parker parker;
  typename E::template Plain<std::uint32_t> woken;

  // False when it was cancelled.
  bool wait(WaitTable<E>& table, const heddle::detail::SignalRef& signal, Compare compare, std::int64_t value) {
    node.signal = signal;
    node.compare = compare;
    node.value = value;
    node.waiter = this;
    woken.store(0);
    if (table.enter(node)) {
      parker.park();
      expect(woken.load() == 1, "a wait was not handed over exactly once");
    } else {
      expect(woken.load() == 0, "a wait was handed over though enter() had said no");
    }
    return !node.cancelled;
  }
  static void wake(WaitNode& node) {
    auto* self = static_cast<Waiter*>(node.waiter);
    self->woken.store(self->woken.load() + 1);
    self->parker.unpark();
  }
};

template <base::Environment E>
class Scenario {
 public:
  explicit Scenario(std::uint32_t rounds) : rounds_(rounds), payload_(rounds), by_put_(rounds) { cells() = {}; }

  // Two agents wait for each value of a cell, one for the total of two notifiers, one for what a copy puts into a cell.
  Agents meet() {
    Agents agents;
    for (int follower = 0; follower < 2; ++follower) {
      agents.emplace_back("follower " + std::to_string(follower), [this] {
        Waiter<E> waiter;
        for (std::uint32_t round = 0; round < rounds_; ++round) {
          expect(waiter.wait(table_, steps(), Compare::ge, round + 1), "a wait was cancelled that nobody cancelled");
          expect(payload_[round].load() == round + 1, "the payload of a notify was not seen");
        }
      });
    }
    agents.emplace_back("collector", [this] {
      Waiter<E> waiter;
      expect(waiter.wait(table_, total(), Compare::eq, 2 * std::int64_t{rounds_}),
             "a wait was cancelled that nobody cancelled");
      for (std::uint32_t round = 0; round < rounds_; ++round) {
        expect(payload_[round].load() == round + 1, "the payload of the first notifier was not seen");
        expect(by_put_[round].load() == round + 1, "the payload of the second notifier was not seen");
      }
    });
    agents.emplace_back("reader", [this] {
      Waiter<E> waiter;
      expect(waiter.wait(table_, stored(), Compare::ne, 0), "a wait was cancelled that nobody cancelled");
    });
    agents.emplace_back("notifier", [this] {
      for (std::uint32_t round = 0; round < rounds_; ++round) {
        payload_[round].store(round + 1);
        notify(steps(), round + 1, Notify::set);
        notify(total(), 1, Notify::add);
      }
    });
    agents.emplace_back("second notifier", [this] {
      for (std::uint32_t round = 0; round < rounds_; ++round) {
        by_put_[round].store(round + 1);
        notify(total(), 1, Notify::add);
      }
      // As a put does: an ordinary copy, a fence, a look for waiters in the range.
      E::atomic_ref(cells().narrow[2]).store(7, std::memory_order_relaxed);
      E::fence(std::memory_order_seq_cst);
      const auto* begin = reinterpret_cast<const std::byte*>(&cells().narrow[2]);
      table_.rescan(begin, begin + sizeof(std::int32_t), &Waiter<E>::wake);
    });
    return agents;
  }

  // Waits that only a cancellation ends, entering while the table is being closed.
  Agents cancel() {
    Agents agents;
    for (int number = 0; number < 3; ++number) {
      agents.emplace_back("waiter " + std::to_string(number), [this, number] {
        Waiter<E> waiter;
        for (std::uint32_t round = 0; round < rounds_; ++round) {
          const bool own = waiter.wait(table_, number == 0 ? total() : steps(), Compare::ge, 1);
          // One cell is notified once: that wait may end either way. The others end only by the cancellation.
          if (number == 0 && own) {
            expect(load<E>(total()) == 1, "a wait ended that was neither satisfied nor cancelled");
          } else {
            expect(!own, "a wait ended without a reason");
            expect(reason_.load() == 1, "what was written before the cancellation was not seen");
          }
        }
      });
    }
    agents.emplace_back("notifier", [this] { notify(total(), 1, Notify::add); });
    agents.emplace_back("closer", [this] {
      reason_.store(1);
      table_.close(&Waiter<E>::wake);
    });
    return agents;
  }

  // What is left when all agents have ended.
  std::string wrong() {
    return table_.parked() == 0 ? "" : std::to_string(table_.parked()) + " waits are still registered";
  }

 private:
  static heddle::detail::SignalRef steps() { return {&cells().narrow[0], nullptr, 0, false}; }
  static heddle::detail::SignalRef total() { return {&cells().wide[0], nullptr, 0, true}; }
  static heddle::detail::SignalRef stored() { return {&cells().narrow[2], nullptr, 0, false}; }

  void notify(const heddle::detail::SignalRef& signal, std::int64_t value, Notify how) {
    update<E>(signal, value, how);
    table_.notified(signal.cell, &Waiter<E>::wake);
  }

  WaitTable<E> table_;
  std::uint32_t rounds_;
  std::vector<typename E::template Plain<std::uint32_t>> payload_;
  std::vector<typename E::template Plain<std::uint32_t>> by_put_;
  typename E::template Plain<std::uint32_t> reason_;
};

template <base::Environment E>
using Part = Agents (Scenario<E>::*)();

auto in_lab(Part<LabEnvironment> part) {
  return [part](Machine& machine) {
    Scenario<LabEnvironment> scenario(3);
    for (auto& [name, body] : (scenario.*part)()) machine.spawn(name, body);
    Outcome outcome = machine.run();
    if (outcome.finished() && !scenario.wrong().empty()) {
      outcome.kind = Outcome::Kind::exception;
      outcome.detail = scenario.wrong();
    }
    return outcome;
  };
}

template <base::Environment E>
void on_threads(Part<E> part, std::uint32_t rounds) {
  Scenario<E> scenario(rounds);
  std::vector<std::thread> threads;
  for (auto& [name, body] : (scenario.*part)()) threads.emplace_back(body);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(scenario.wrong(), "");
}

const lab::Options options{.step_limit = 50'000};

TEST(WaitTable, no_wake_up_is_lost_and_none_comes_twice_in_the_lab) {
  bool taken = false;
  const Outcome outcome = lab::first_failure(
      lab::seeds(5000),
      [&](Machine& machine) {
        Outcome one = in_lab(&Scenario<LabEnvironment>::meet)(machine);
        taken |= one.reached("wait_taken_while_registering");
        return one;
      },
      options);
  EXPECT_TRUE(outcome.finished()) << outcome.describe();
  EXPECT_TRUE(taken) << "no run had a waiter taken between its registration and its second look";
}

TEST(WaitTable, every_wait_ends_when_the_table_closes_in_the_lab) {
  bool taken = false;
  const Outcome outcome = lab::first_failure(
      lab::seeds(5000),
      [&](Machine& machine) {
        Outcome one = in_lab(&Scenario<LabEnvironment>::cancel)(machine);
        taken |= one.reached("wait_taken_while_registering");
        return one;
      },
      options);
  EXPECT_TRUE(outcome.finished()) << outcome.describe();
  EXPECT_TRUE(taken) << "no run had a waiter cancelled between its registration and its second look";
}

TEST(WaitTable, no_wake_up_is_lost_on_real_threads) {
  for (int round = 0; round < 5; ++round) on_threads<HostEnvironment>(&Scenario<HostEnvironment>::meet, 2000);
  for (int round = 0; round < 200; ++round) on_threads<HostEnvironment>(&Scenario<HostEnvironment>::cancel, 20);
}

constexpr lab::Mutant faults[] = {
    {"wait_register", "a block parks for ever: its registration and its look at the cell change places"},
    {"signal_update", "a peer is notified before the data that was put has arrived"},
    {"signal_load", "a block that is let through reads the data of the round before"},
    {"lock_acquire", "the list of waiters is walked while another core is changing it"},
    {"lock_release", "the list of waiters is walked while another core is changing it"},
};

TEST(WaitTable, the_lab_catches_each_order_that_is_left_out) {
  for (const lab::Mutant& mutant : faults) {
    const Outcome outcome =
        lab::find_mutant(mutant, "WaitTable", 5000, in_lab(&Scenario<LabEnvironment>::meet), options);
    EXPECT_TRUE(outcome.kind == Outcome::Kind::race || outcome.kind == Outcome::Kind::deadlock)
        << mutant.place << " " << outcome.describe();
  }
}

#if defined(__x86_64__) && !HEDDLE_TSAN
// The same scenario, the same fault: real x86 cores publish in program order and see nothing.
TEST(WaitTable, real_threads_do_not_catch_a_dropped_release_that_the_lab_catches) {
  const base::mutants::Scope fault("signal_update");
  for (int round = 0; round < 5; ++round)
    on_threads<MutantHostEnvironment>(&Scenario<MutantHostEnvironment>::meet, 2000);
  const Outcome outcome = lab::first_failure(100, in_lab(&Scenario<LabEnvironment>::meet), options);
  EXPECT_EQ(outcome.kind, Outcome::Kind::race) << outcome.describe();
}
#endif

}  // namespace
}  // namespace heddle::window
