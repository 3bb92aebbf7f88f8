// SPDX-License-Identifier: Apache-2.0
//
// Random programs over windows, on the host backend and on simulated chips, against the model of the ordering rules.
// HEDDLE_SEED chooses the first program, HEDDLE_GRAPHS how many there are.
#include "tests/random_windows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <heddle/heddle.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "base/sanitizer.hpp"
#include "tests/random.hpp"

namespace heddle::random_windows {
namespace {

using test::Random;
using Words = std::array<std::int64_t, words>;

// One program as it runs: what each step puts, and what each saw.
struct Run {
  explicit Run(Program of) : program(std::move(of)), source(program.steps.size()), found(program.steps.size()) {
    for (std::size_t i = 0; i < program.steps.size(); ++i)
      if (program.steps[i].what == What::put) source[i].fill(mark_of(program, static_cast<int>(i)));
  }
  Program program;
  std::vector<Words> source, found;
};

struct Windows {
  Symmetric<std::int64_t> data;
  Signals<std::int32_t> told;
  Signals<std::int64_t> sums;
};

Remote<std::int64_t> place_at(const Windows& windows, const Step& step) {
  return windows.data.at(step.peer).slice(0, std::int64_t{step.place} * words, words);
}

void execute(Block& block, const Windows& windows, const Step& step, Words& source, Words& found,
             const View<const std::int64_t>& mine) {
  const Order order = step.relaxed ? Order::relaxed : Order::released;
  switch (step.what) {
    case What::put:
      return block.put(place_at(windows, step), View<std::int64_t>(source.data(), {words}));
    case What::get:
      return block.get(View<std::int64_t>(found.data(), {words}), place_at(windows, step));
    case What::tell:
      return block.notify(windows.told.at(step.peer)[step.signal], 1, Notify::set, order);
    case What::add:
      return block.notify(windows.sums.at(step.peer)[step.signal], 1, Notify::add, order);
    case What::fence:
      return block.fence(step.peer);
    case What::quiet:
      return block.quiet();
    case What::wait:
      return block.wait(windows.told.mine()[step.signal], Compare::eq, 1);
    case What::wait_sum:
      return block.wait(windows.sums.mine()[step.signal], Compare::eq, step.sum);
    case What::ask:
      return found.fill(block.test(windows.told.mine()[step.signal], Compare::eq, 1) ? 1 : 0);
    case What::read:
      for (int i = 0; i < words; ++i) found[static_cast<std::size_t>(i)] = mine[std::int64_t{step.place} * words + i];
      return;
  }
}

// Each agent is a task of its own rank. They have no edges: all may run at a time.
struct Replay {
  Run** current;
  void plan(Plan& plan) const {
    plan.window("data", std::uint64_t{places} * words * sizeof(std::int64_t));
    plan.window("told", steps_most * sizeof(std::int32_t));
    plan.window("sums", sums * sizeof(std::int64_t));
  }
  void rank(Orchestrator& graph, const Io&) const {
    Run& run = **current;
    const Windows windows{graph.window("data").tensor<std::int64_t>(std::int64_t{places} * words),
                          graph.window("told").signals<std::int32_t>(), graph.window("sums").signals<std::int64_t>()};
    for (std::size_t agent = 0; agent < run.program.rank_of.size(); ++agent) {
      if (run.program.rank_of[agent] != graph.rank()) continue;
      const auto script = [&run, windows, agent](Block& block, const View<const std::int64_t>& mine) {
        for (std::size_t i = 0; i < run.program.steps.size(); ++i)
          if (run.program.steps[i].agent == static_cast<int>(agent))
            execute(block, windows, run.program.steps[i], run.source[i], run.found[i], mine);
      };
      graph.submit("agent", vector_core, script, in(windows.data.mine()));
    }
  }
};

struct Coverage {
  std::uint64_t steps = 0, looks = 0, certain = 0, stale = 0, torn = 0;
};

// The first look that met what it must not have; empty when there is none.
std::string difference(const Run& run, Rules rules, Coverage& coverage) {
  coverage.steps += run.program.steps.size();
  for (const Seen& seen : model(run.program, rules)) {
    const Words& found = run.found[static_cast<std::size_t>(seen.step)];
    ++coverage.looks;
    coverage.certain += seen.values.size() == 1 ? 1 : 0;
    coverage.stale += seen.values.size() > 1 && found[0] == seen.values.front() ? 1 : 0;
    coverage.torn += std::count(found.begin(), found.end(), found[0]) != words ? 1 : 0;
    for (const std::int64_t word : found) {
      if (std::find(seen.values.begin(), seen.values.end(), word) != seen.values.end()) continue;
      std::string allowed;
      for (const std::int64_t value : seen.values) allowed += " " + std::to_string(value);
      return "step " + std::to_string(seen.step) + " met " + std::to_string(word) + ", and may meet" + allowed;
    }
  }
  return "";
}

SessionConfig config() {
  SessionConfig config;
  config.reset_windows = true;
  config.waiting_blocks = 64;
  config.recorder_entries = 64;
  config.region_entries = 64;
  config.ring = {64, 1U << 16U, 64};
  return config;
}

Device random_chip(Random& random) {
  static constexpr std::array chips{"ideal", "a2a3", "a5"};
  static constexpr std::array strategies{"random", "pct", "delay", "walk"};
  DeviceConfig config{.ranks = ranks_most};
  const std::string chip = chips[static_cast<std::size_t>(random.below(3))];
  config.seed = random.next() >> 1U;
  config.strategy = strategies[static_cast<std::size_t>(random.below(4))];
  // A waiting agent keeps its core, and holds up what is given to that core next: each of the up to four schedulers has
  // an idle core for every agent, of two in a cluster.
  config.chip_set["clusters"] = static_cast<std::uint64_t>(4 * random.between((agents_most + 1) / 2, 4));
  return Device::open("lab:" + chip, config);
}

std::unique_ptr<Run> made(std::uint64_t seed, bool may_race) {
  Program program = generate(seed);
  program.ranks = ranks_most;  // some ranks have no agent
  return std::make_unique<Run>(may_race ? std::move(program) : without_races(std::move(program)));
}

constexpr std::uint64_t in_session = 16;

// How many programs differ from the rules; each is a failure, unless the rules are wrong on purpose.
template <class DeviceOf>
std::uint64_t replay_all(std::uint64_t number, Rules rules, bool may_race, DeviceOf&& device_of, Coverage& coverage) {
  const std::uint64_t first = test::first_seed();
  std::cout << "seed " << first << ", " << number << " programs" << std::endl;
  std::uint64_t differ = 0;
  for (std::uint64_t done = 0; done < number && differ == 0; done += in_session) {
    Random random(first + done);
    Device device = device_of(random);
    Run* current = nullptr;
    Session session = device.prepare(Replay{&current}, config());
    for (std::uint64_t i = done; i < std::min(number, done + in_session) && differ == 0; ++i) {
      const auto run = made(first + i, may_race);
      current = run.get();
      session.run();
      const std::string text = difference(*run, rules, coverage);
      if (text.empty()) continue;
      ++differ;
      if (rules == Rules::promised)
        ADD_FAILURE() << "program " << first + i << " (HEDDLE_SEED=" << first + done << " HEDDLE_GRAPHS=" << in_session
                      << " repeats its session): " << text << "\n"
                      << describe(run->program);
    }
  }
  std::cout << coverage.steps << " steps, " << coverage.looks << " looks, " << coverage.certain
            << " of them with one answer, " << coverage.stale << " stale, " << coverage.torn << " torn\n";
  return differ;
}

TEST(RandomWindows, HostKeepsTheOrderThatIsPromised) {
  Coverage coverage;
  // The thread sanitizer says of every other look that it races, and it does.
  const bool may_race = !HEDDLE_TSAN;
  const std::uint64_t number = test::number_of_programs(2'000);
  const auto host = [](Random& random) {
    return Device::open("host", {.ranks = ranks_most, .threads = random.between(1, 3)});
  };
  EXPECT_EQ(replay_all(number, Rules::promised, may_race, host, coverage), 0U);
  EXPECT_GT(coverage.certain, number);
}

TEST(RandomWindows, ChipsKeepTheOrderThatIsPromisedAndNoMore) {
  Coverage coverage;
  const std::uint64_t number = test::number_of_programs(5'000);
  EXPECT_EQ(replay_all(number, Rules::promised, true, random_chip, coverage), 0U);
  EXPECT_GT(coverage.certain, number);
  EXPECT_GT(coverage.stale, number / 20);
  EXPECT_GT(coverage.torn, 0U);
}

// The comparison can fail: a chip does what a stricter rule forbids.
TEST(RandomWindows, ChipsLetRelaxedNotifiesOvertakeAndPutsPassEachOther) {
  for (const Rules wrong : {Rules::relaxed_publishes, Rules::unfenced_in_order}) {
    Coverage coverage;
    EXPECT_EQ(replay_all(2'000, wrong, true, random_chip, coverage), 1U);
  }
}

}  // namespace
}  // namespace heddle::random_windows
