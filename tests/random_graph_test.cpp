// SPDX-License-Identifier: Apache-2.0
//
// Random programs on the host backend and on simulated chips against the serial interpreter. HEDDLE_SEED chooses the
// first program, HEDDLE_GRAPHS how many there are.
#include "tests/random_graph.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <heddle/heddle.hpp>
#include <iostream>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/sanitizer.hpp"
#include "tests/random_graph_replay.hpp"

namespace heddle::random_graph {
namespace {

constexpr int graphs_in_session = 16;

struct Case {
  explicit Case(Program made) : program(std::move(made)), expected(interpret(program)) {}
  explicit Case(std::uint64_t seed) : Case(generate(seed)) {}
  Program program;
  Expectation expected;
};

// What the runs went through, so that a generator that has lost its variety shows.
struct Coverage {
  std::uint64_t tasks = 0, edges = 0, exact = 0, superfluous = 0, not_run = 0, manual = 0, reads = 0, tight = 0;
};

class Replayer {
 public:
  Replayer(Device& device, const SessionConfig& config) : session_(device.prepare(ReplayProgram{&current_}, config)) {}

  // The first difference, or nothing.
  std::string run(const Case& one, bool inferred, Coverage& coverage) {
    Replay replay(one.program, one.expected, inferred);
    current_ = &replay;
    const auto start = initial_memory(one.program);
    const auto declared = session_.input<std::uint64_t>(0, "declared");
    std::copy(start[1].begin(), start[1].end(), declared.begin());
    try {
      const RoundStatistics statistics = session_.run();
      coverage.tasks += statistics.tasks;
      coverage.edges += statistics.edges;
      coverage.exact += replay.edges_exact() ? 1 : 0;
      if (std::string text = replay.difference(statistics, declared); !text.empty()) return text;
      coverage.superfluous += replay.superfluous_edges();
    } catch (const Error& error) {
      session_.recover();
      return "the round failed: " + error.report();
    }
    for (const TaskHandle& handle : replay.handles())
      if (handle.task != 0 && !ids_.insert(handle.task).second) return "a task id was used twice in a session";
    return {};
  }

 private:
  Replay* current_ = nullptr;
  std::unordered_set<std::uint64_t> ids_;
  Session session_;
};

SessionConfig random_config(Random& random, const Need& least, Coverage& coverage) {
  SessionConfig config;
  config.recorder_entries = 64;
  config.waiting_blocks = 64;
  config.checked = random.chance(70);
  const auto more = [&](std::uint64_t size) {
    return random.chance(50) ? size : size + size * static_cast<std::uint64_t>(random.below(4));
  };
  if (random.chance(70)) {
    config.ring = {static_cast<std::uint32_t>(more(least.task_window)), more(least.heap_bytes),
                   static_cast<std::uint32_t>(more(least.dep_pool))};
    coverage.tight += config.ring.task_window == least.task_window ? 1 : 0;
  } else {
    config.ring = {1024, 1U << 20U, 8192};
  }
  config.region_entries = random.chance(50) ? static_cast<std::uint32_t>(more(least.region_entries)) : 4096;
  return config;
}

// Where programs run, and how a person would ask for it.
struct Place {
  Device device;
  std::string text;
};

Place host(int threads) {
  return {Device::open("host", {.ranks = 1, .threads = threads}), "host, threads " + std::to_string(threads)};
}

// Any chip, from one cluster to all that it has.
Place random_chip(Random& random) {
  static constexpr std::array chips{"ideal", "a2a3", "a5"};
  static constexpr std::array strategies{"random", "pct", "delay", "walk"};
  const std::string chip = chips[static_cast<std::size_t>(random.below(3))];
  DeviceConfig config{.ranks = 1};
  config.seed = random.next() >> 1U;
  config.strategy = strategies[static_cast<std::size_t>(random.below(4))];
  config.chip_set["early_dispatch"] = random.chance(70) ? 1U : 0U;
  if (random.chance(80)) config.chip_set["clusters"] = static_cast<std::uint64_t>(random.between(1, 12));
  std::string text = "lab:" + chip + ", seed " + std::to_string(config.seed) + ", strategy " + config.strategy;
  for (const auto& [name, value] : config.chip_set) text += ", " + name + " " + std::to_string(value);
  return {Device::open("lab:" + chip, config), text};
}

std::string text_of(const SessionConfig& config) {
  return "task_window " + std::to_string(config.ring.task_window) + ", heap_bytes " +
         std::to_string(config.ring.heap_bytes) + ", dep_pool " + std::to_string(config.ring.dep_pool) +
         ", region_entries " + std::to_string(config.region_entries) + ", checked " + std::to_string(config.checked);
}

// Leaves out steps one by one for as long as the rest still differs.
Program shrunk(Device& device, const SessionConfig& config, Program program, bool inferred) {
  Coverage ignored;
  int budget = 3000;
  const auto fails = [&](const Program& candidate) {
    const Case one(candidate);
    for (int i = 0; i < 20 && budget > 0; ++i, --budget)
      if (!Replayer(device, config).run(one, inferred, ignored).empty()) return true;
    return false;
  };
  for (std::size_t i = program.steps.size(); i-- > 0 && budget > 0;) {
    const Step& step = program.steps[i];
    if (step.fixed || step.what == What::open || step.what == What::close) continue;
    Program candidate = program;
    candidate.steps[i].what = What::nothing;
    bool used = false;  // by steps that stay
    for (const Arg& arg : step.args)
      for (const Step& other : program.steps) {
        if (arg.kind != Kind::fresh || &other == &step || other.what == What::nothing) continue;
        for (const Arg& theirs : other.args) used |= theirs.buffer == arg.buffer;
        used |= other.predicate && other.predicate->buffer == arg.buffer;
      }
    if (!used && fails(candidate)) program = std::move(candidate);
  }
  return program;
}

void report(Place& place, const SessionConfig& config, const Case& failed, std::uint64_t session_seed,
            const std::string& difference) {
  ADD_FAILURE() << "program " << failed.program.seed << " (HEDDLE_SEED=" << session_seed
                << " HEDDLE_GRAPHS=" << graphs_in_session << " repeats its session): " << difference << "\n"
                << place.text << ", " << text_of(config) << "\n"
                << "what is left of it and still fails:\n"
                << describe(shrunk(place.device, config, failed.program, true));
}

void count(const Case& one, Coverage& coverage) {
  for (std::size_t i = 0; i < one.program.steps.size(); ++i) {
    const Step& step = one.program.steps[i];
    const auto& task = one.expected.tasks[i];
    coverage.not_run += step.what == What::task && step.predicate && task.submitted && !task.ran ? 1 : 0;
    coverage.manual += step.what == What::open && step.manual ? 1 : 0;
    coverage.reads += step.what == What::read ? 1 : 0;
  }
}

std::uint64_t tasks_a_second(std::uint64_t tasks, std::clock_t spent) {
  return tasks * std::uint64_t{CLOCKS_PER_SEC} / static_cast<std::uint64_t>(std::max<std::clock_t>(spent, 1));
}

// Sessions of programs, each on the place that `place_of` draws.
template <class PlaceOf>
Coverage replay_all(std::uint64_t first, std::uint64_t number, PlaceOf&& place_of) {
  std::cout << "seed " << first << ", " << number << " graphs" << std::endl;
  Coverage coverage;
  std::clock_t spent = 0;  // by the runs, of all threads
  for (std::uint64_t done = 0; done < number; done += graphs_in_session) {
    std::vector<Case> cases;
    Need least;
    for (std::uint64_t i = 0; i < graphs_in_session && done + i < number; ++i) {
      cases.emplace_back(first + done + i);
      least.include(need(cases.back().program, cases.back().expected));
      count(cases.back(), coverage);
    }
    const std::clock_t before = std::clock();
    Random random(first + done);
    auto&& place = place_of(random);
    const SessionConfig config = random_config(random, least, coverage);
    Replayer session(place.device, config);
    for (const Case& one : cases) {
      const std::string difference = session.run(one, true, coverage);
      if (difference.empty()) continue;
      report(place, config, one, first + done, difference);
      return coverage;
    }
    spent += std::clock() - before;
  }
  std::cout << coverage.tasks << " tasks, " << coverage.edges << " edges, " << coverage.exact
            << " graphs with exact edges (" << coverage.superfluous << " edges too many), " << coverage.not_run
            << " false predicates, " << coverage.manual << " manual scopes, " << coverage.reads << " reads, "
            << coverage.tight << " tight sessions, " << tasks_a_second(coverage.tasks, spent)
            << " tasks per second of a processor\n";
  return coverage;
}

void expect_variety(const Coverage& coverage, std::uint64_t number) {
  if (number < 500) return;  // too few to say anything of it
  EXPECT_GT(coverage.exact, number / 100);
  EXPECT_LT(coverage.superfluous, coverage.edges / 10'000 + 10);
  EXPECT_GT(coverage.not_run, number / 20);
  EXPECT_GT(coverage.manual, number / 20);
  EXPECT_GT(coverage.reads, number / 20);
  EXPECT_GT(coverage.tight, number / graphs_in_session / 10);
}

TEST(RandomGraph, EveryByteAndEveryReadIsAsInASerialRun) {
  const std::uint64_t number = test::number_of_programs(20'000);
  std::vector<Place> hosts;
  for (int threads = 1; threads <= 3; ++threads) hosts.push_back(host(threads));
  const Coverage coverage = replay_all(test::first_seed(), number,
                                       [&](Random& random) -> Place& { return hosts[random.next() % hosts.size()]; });
  expect_variety(coverage, number);
}

TEST(RandomGraph, ChipsOfAnyWidthDoTheSame) {
  const std::uint64_t number = test::number_of_programs(5'000);
  expect_variety(replay_all(test::first_seed(), number, random_chip), number);
}

// The comparison above can fail: without edges it soon does. The tasks then race, which the thread sanitizer may not
// see.
TEST(RandomGraph, ProgramsWithoutEdgesAreFoundToDiffer) {
  if (HEDDLE_TSAN) GTEST_SKIP() << "data races on purpose";
  const std::uint64_t first = test::first_seed();
  std::cout << "seed " << first << std::endl;
  Device device = Device::open("host", {.ranks = 1, .threads = 3});
  SessionConfig config;
  config.ring = {1024, 1U << 20U, 8192};
  config.region_entries = 4096;
  Replayer session(device, config);
  Coverage coverage;
  int differ = 0;
  constexpr std::uint64_t tried = 64;
  for (std::uint64_t i = 0; i < tried; ++i) differ += session.run(Case(first + i), false, coverage).empty() ? 0 : 1;
  EXPECT_GT(differ, 0) << "of " << tried << " programs";
  std::cout << differ << " of " << tried << " programs differed\n";
}

}  // namespace
}  // namespace heddle::random_graph
