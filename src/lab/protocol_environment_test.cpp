// SPDX-License-Identifier: Apache-2.0
//
// Where agents may be disturbed: at each access, under each strategy, with locks, with exceptions; and a fault of the
// schedulers' own that shows nowhere else.
#include "lab/protocol_environment.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <exception>
#include <heddle/program.hpp>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/lock.hpp"
#include "base/mutant.hpp"
#include "lab/keys.hpp"
#include "lab/run.hpp"
#include "lab/seeds.hpp"
#include "lab/strategies/default.hpp"
#include "lab/strategies/dfs.hpp"
#include "lab/strategies/strategies.hpp"

namespace heddle::lab {
namespace {

using E = ProtocolEnvironment;
constexpr auto relaxed = std::memory_order_relaxed;
const std::vector<std::string> seeded{"random", "pct", "delay", "walk"};

// Disturbs one agent before one of its accesses, counted from 1; 0: never.
class Disturb final : public Strategy {
 public:
  Disturb(const std::string& agent, std::uint32_t access) : agent_(key_of(agent)), access_(access) {}
  const char* name() const override { return "disturb"; }
  void begin(std::uint64_t, std::uint64_t) override {}
  std::uint32_t choose(const Choice& choice) override {
    if (choice.agent_key != agent_ || std::string_view(choice.label) != "protocol.step" || access_ == 0) return 0;
    const std::uint32_t window = (access_ - 1) / Simulator::step_window;
    return choice.ordinal == window ? (access_ - 1) % Simulator::step_window + 1 : 0;
  }

 private:
  std::uint64_t agent_;
  std::uint32_t access_;
};

TEST(ProtocolEnvironment, another_agent_may_run_before_any_one_access_and_by_default_before_none) {
  constexpr std::uint32_t stores = 200;  // several windows
  for (std::uint32_t access = 0; access <= stores; ++access) {
    Disturb strategy("writer", access);
    Simulator simulator(strategy);
    E::Atomic<std::uint32_t> cell{0};
    std::uint32_t seen = UINT32_MAX;
    simulator.spawn("writer", [&] {
      for (std::uint32_t i = 1; i <= stores; ++i) cell.store(i, relaxed);
    });
    simulator.spawn("reader", [&] { seen = cell.load(relaxed); });
    EXPECT_EQ(simulator.run(), Simulator::End::idle);
    EXPECT_EQ(seen, access == 0 ? stores : access - 1);
  }
}

TEST(ProtocolEnvironment, every_kind_of_access_is_such_a_point) {
  struct Access {
    const char* name;
    void (*make)(E::Atomic<std::uint32_t>&, E::Plain<std::uint32_t>&, E::Register<std::uint64_t>&, E::Parker&);
  };
  using A = E::Atomic<std::uint32_t>;
  using P = E::Plain<std::uint32_t>;
  using R = E::Register<std::uint64_t>;
  const Access accesses[] = {
      {"load", [](A& a, P&, R&, E::Parker&) { (void)a.load(relaxed); }},
      {"store", [](A& a, P&, R&, E::Parker&) { a.store(1, relaxed); }},
      {"exchange", [](A& a, P&, R&, E::Parker&) { a.exchange(1, relaxed); }},
      {"fetch_add", [](A& a, P&, R&, E::Parker&) { a.fetch_add(1, relaxed); }},
      {"fetch_sub", [](A& a, P&, R&, E::Parker&) { a.fetch_sub(1, relaxed); }},
      {"compare_exchange",
       [](A& a, P&, R&, E::Parker&) {
         std::uint32_t expected = 0;
         a.compare_exchange_strong(expected, 1, relaxed, relaxed);
       }},
      {"plain load", [](A&, P& p, R&, E::Parker&) { (void)p.load(); }},
      {"plain store", [](A&, P& p, R&, E::Parker&) { p.store(1); }},
      {"wire store", [](A&, P&, R& r, E::Parker&) { r.store(1, 0); }},
      {"wire halves", [](A&, P&, R& r, E::Parker&) { r.store_halves(1, 0, 0); }},
      {"wire load", [](A&, P&, R& r, E::Parker&) { (void)r.load(); }},
      {"unpark", [](A&, P&, R&, E::Parker& parker) { parker.unpark(); }},
      {"park", [](A&, P&, R&, E::Parker& parker) { (void)parker.park_until(0); }},
  };
  for (const Access& access : accesses) {
    Disturb strategy("one", 1);
    Simulator simulator(strategy);
    A atomic{0};
    P plain;
    R wire;
    E::Parker parker;
    std::string order;
    simulator.spawn("one", [&] {
      access.make(atomic, plain, wire, parker);
      order += "one";
    });
    simulator.spawn("other", [&] { order += "other "; });
    EXPECT_EQ(simulator.run(), Simulator::End::idle);
    EXPECT_EQ(order, "other one") << access.name;
  }
}

// Two agents count together, with what is read before it is written.
template <class Environment>
std::uint32_t count_together(Strategy& strategy, bool locked, std::uint32_t times) {
  Simulator simulator(strategy);
  base::SpinLock<Environment> lock;
  typename Environment::template Plain<std::uint32_t> count;
  const auto body = [&] {
    for (std::uint32_t i = 0; i < times; ++i) {
      std::unique_lock guard(lock, std::defer_lock);
      if (locked) guard.lock();
      count.store(count.load() + 1);
    }
  };
  simulator.spawn("one", body);
  simulator.spawn("two", body);
  EXPECT_EQ(simulator.run(), Simulator::End::idle);
  return count.load();
}

TEST(ProtocolEnvironment, a_lock_excludes_and_whoever_spins_for_it_gets_it_under_every_strategy) {
  const std::uint64_t most = seeds(200);
  for (const std::string& name : seeded) {
    bool lost = false;
    for (std::uint64_t seed = 1; seed <= most; ++seed) {
      const auto strategy = make_strategy(name);
      strategy->begin(seed, 0);
      ASSERT_EQ(count_together<E>(*strategy, true, 50), 100U) << name << " seed " << seed;
      strategy->begin(seed, 0);
      lost |= count_together<E>(*strategy, false, 50) != 100;
      strategy->begin(seed, 0);
      ASSERT_EQ(count_together<ProgramEnvironment>(*strategy, false, 50), 100U) << name << " seed " << seed;
    }
    EXPECT_TRUE(lost) << name << ": without the lock no update was lost with any of " << most << " seeds";
  }
}

TEST(ProtocolEnvironment, every_order_of_a_few_accesses_is_gone_through) {
  for (const bool locked : {false, true}) {
    DfsStrategy strategy;
    std::set<std::uint32_t> results;
    do {
      strategy.begin(0, 0);
      results.insert(count_together<E>(strategy, locked, locked ? 1 : 2));
    } while (strategy.end() && strategy.runs() < 100'000);
    EXPECT_TRUE(strategy.complete()) << strategy.runs() << " runs";
    EXPECT_EQ(results, locked ? std::set<std::uint32_t>{2} : (std::set<std::uint32_t>{2, 3, 4}));
  }
}

TEST(ProtocolEnvironment, a_lock_that_is_never_given_back_ends_the_run_and_not_the_patience) {
  for (const std::string name : {"default", "random", "pct", "delay", "walk"}) {
    const std::unique_ptr<Strategy> strategy =
        name == "default" ? std::make_unique<DefaultStrategy>() : make_strategy(name);
    strategy->begin(1, 0);
    Simulator simulator(*strategy);
    base::SpinLock<E> lock;
    bool gone_on = false;
    simulator.spawn("one", [&] {
      lock.lock();
      for (const char* agent : {"two", "three"}) {
        simulator.spawn(agent, [&] {
          const std::lock_guard guard(lock);
          gone_on = true;
        });
      }
    });
    EXPECT_EQ(simulator.run(), Simulator::End::idle) << name;
    EXPECT_FALSE(gone_on) << name;
  }
}

TEST(ProtocolEnvironment, an_agent_that_is_disturbed_while_it_handles_an_exception_keeps_its_own) {
  for (const std::string& name : seeded) {
    for (std::uint64_t seed = 1; seed <= seeds(20); ++seed) {
      const auto strategy = make_strategy(name);
      strategy->begin(seed, 0);
      Simulator simulator(*strategy);
      E::Atomic<std::uint32_t> cell{0};
      std::uint32_t wrong = 0, handled = 0;
      const auto kept = [](int wanted) {
        try {
          throw;
        } catch (int value) {
          return value == wanted;
        }
      };
      for (int agent = 0; agent < 4; ++agent) {
        simulator.spawn("agent " + std::to_string(agent), [&, agent] {
          for (int i = 0; i < 40; ++i) {
            const int mine = agent * 1'000 + i;
            if (std::current_exception() != nullptr) ++wrong;
            try {
              throw mine;
            } catch (int) {
              cell.fetch_add(1, relaxed);
              try {
                throw std::runtime_error("another one");
              } catch (const std::exception&) {
                cell.fetch_add(1, relaxed);
              }
              cell.fetch_add(1, relaxed);
              wrong += kept(mine) ? 0 : 1;
              ++handled;
            }
          }
        });
      }
      ASSERT_EQ(simulator.run(), Simulator::End::idle);
      ASSERT_EQ(wrong, 0U) << name << " seed " << seed;
      ASSERT_EQ(handled, 160U);
    }
  }
}

// A task after the other: its orchestrator waits for each before it submits the next.
struct OneByOne {
  static constexpr int tasks = 8;
  static void plan(Plan& plan) { plan.output<std::int32_t>("x", {1}); }
  static void rank(Orchestrator& graph, const Io& io) {
    const auto x = io.output<std::int32_t>("x");
    for (int i = 0; i < tasks; ++i) {
      graph.submit("step", vector_core, [i](Block&, View<std::int32_t> view) { view(0) = i; }, out(x));
      if (graph.read(x) != i) graph.fail("a task was read before it had written");
    }
  }
};

RunResult one_by_one(Fidelity fidelity, const std::string& strategy, std::uint64_t seed) {
  RunSpec spec;
  spec.chip_set = {{"clusters", 1}};
  spec.fidelity = fidelity;
  return run_once(make_program(OneByOne{}), spec, *make_strategy(strategy), seed);
}

TEST(ProtocolFidelity, finds_a_scheduler_that_looks_for_work_before_it_says_that_it_sleeps) {
  const std::uint64_t most = seeds(200);
  // Not delay: a handful of delays seldom meets one of thousands of accesses.
  for (const char* strategy : {"random", "pct", "walk"}) {
    std::uint64_t found = 0;
    for (std::uint64_t seed = 1; seed <= most; ++seed) {
      SCOPED_TRACE(std::string(strategy) + " seed " + std::to_string(seed));
      const RunResult sound = one_by_one(Fidelity::protocol, strategy, seed);
      ASSERT_EQ(sound.verdict, Verdict::passed) << sound.sentence;
      const base::mutants::Scope fault("chip_look_before_park");
      const RunResult program = one_by_one(Fidelity::program, strategy, seed);
      ASSERT_EQ(program.verdict, Verdict::passed) << program.sentence;
      const RunResult protocol = one_by_one(Fidelity::protocol, strategy, seed);
      if (protocol.verdict == Verdict::passed) continue;
      ++found;
      ASSERT_EQ(protocol.verdict, Verdict::unexplained) << protocol.sentence;
      EXPECT_NE(protocol.sentence.find("task step of rank 0 is ready"), std::string::npos) << protocol.sentence;
      EXPECT_EQ(one_by_one(Fidelity::protocol, strategy, seed).trace_hash, protocol.trace_hash);
    }
    EXPECT_GT(found, 0U) << strategy << ": not with any of " << most << " seeds";
  }
}

}  // namespace
}  // namespace heddle::lab
