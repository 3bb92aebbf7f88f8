// SPDX-License-Identifier: Apache-2.0
#include "lab/ladder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "lab/fake_runs.hpp"

namespace heddle::lab {
namespace {

using test::FakeRun;
using testing::HasSubstr;
using testing::Not;

// What a made-up program does with a seed: it may fail in one of two ways.
enum class Does : std::uint8_t { pass, fail, fail_otherwise };
using Law = std::function<Does(const RunSpec&, const Settings&, std::uint64_t seed)>;

Climber climber_of(Law law) {
  Climber climber;
  climber.make_runner = [law](const Settings& settings) -> Runner {
    return [law, settings](const RunSpec& spec, Strategy& strategy, std::uint64_t seed, bool record) {
      FakeRun run(strategy, seed, record);
      run.choose("latency.put", 0, 0, 16);
      switch (law(spec, settings, seed)) {
        case Does::pass:
          return run.result;
        case Does::fail:
          return run.fail(Code::signal_deadlock, "stuck");
        case Does::fail_otherwise:
          break;
      }
      return run.fail(Code::core_deadlock, "stuck otherwise");
    };
  };
  climber.strategies = test::fake_strategies();
  return climber;
}

Rung rung(const std::string& name, void (*change)(Rung&), const std::string& why_not = {}) {
  Rung made{name, "the layer of " + name, {}, {}, why_not};
  change(made);
  return made;
}

LadderConfig config_of(std::vector<Rung> rungs, std::uint64_t schedules) {
  LadderConfig config;
  config.hunt.schedules = schedules;
  config.rungs = std::move(rungs);
  return config;
}

std::vector<Rung> usual() {
  return {rung("more ranks", [](Rung& r) { r.spec.ranks = 2; }),
          rung("repaired", [](Rung& r) { r.settings = {{"repaired", "true"}}; }),
          rung("not there", [](Rung&) {}, "there is none")};
}

Does always(const RunSpec&, const Settings& settings, std::uint64_t) {
  return settings.empty() ? Does::fail : Does::pass;
}

TEST(Ladder, TellsTheLayerThatAFailureNeedsFromThoseThatItDoesNot) {
  for (const int jobs : {1, 3}) {
    LadderConfig config = config_of(usual(), 1'000);
    config.hunt.jobs = jobs;
    const LadderReport report = climb(config, climber_of(always));
    ASSERT_TRUE(report.failure);
    EXPECT_EQ(report.failure->verdict, Verdict::deadlock);
    EXPECT_EQ(report.failure->code_name, "signal_deadlock");
    EXPECT_EQ(report.failure->seed, 1U);
    EXPECT_EQ(report.compared, config.wanted);
    ASSERT_EQ(report.rungs.size(), 3U);
    EXPECT_EQ(report.rungs[0].judgement.standing, Standing::excluded);
    EXPECT_EQ(report.rungs[0].failures, report.compared);
    EXPECT_EQ(report.rungs[1].judgement.standing, Standing::involved);
    EXPECT_TRUE(report.rungs[1].is_gone());
    EXPECT_FALSE(report.rungs[2].was_tried());
    EXPECT_EQ(report.rungs[2].schedules, 0U);
    EXPECT_EQ(report.conclusion(),
              "the failure depends on the layer of repaired (gone with repaired); excluded: the layer of more ranks");
  }
}

TEST(Ladder, EveryRungRunsTheSameSchedules) {
  // Every third seed fails, whatever is changed: paired, nothing differs at all.
  const auto third = [](const RunSpec&, const Settings&, std::uint64_t seed) {
    return seed % 3 == 0 ? Does::fail : Does::pass;
  };
  const LadderReport report = climb(config_of(usual(), 10'000), climber_of(third));
  EXPECT_EQ(report.compared, 3 * (100 + 1) - 1);  // the 101st failure ends the count, and is not in it
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(report.rungs[i].pairs.count(), report.compared);
    EXPECT_EQ(report.rungs[i].pairs.both, 100U);
    EXPECT_EQ(report.rungs[i].pairs.only_as_is + report.rungs[i].pairs.only_changed, 0U);
    EXPECT_EQ(report.rungs[i].judgement.standing, Standing::excluded);
  }
  EXPECT_THAT(report.conclusion(), HasSubstr("leaves the program itself"));
}

TEST(Ladder, WithFewFailuresItIsOpen) {
  const auto once = [](const RunSpec&, const Settings& settings, std::uint64_t seed) {
    return seed == 7 && settings.empty() ? Does::fail : Does::pass;
  };
  const LadderReport report = climb(config_of(usual(), 40), climber_of(once));
  ASSERT_TRUE(report.failure);
  EXPECT_EQ(report.failures, 1U);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(report.rungs[i].judgement.standing, Standing::open);
  EXPECT_THAT(report.conclusion(), HasSubstr("nothing is shown to be involved; open"));
}

TEST(Ladder, AFailureOfAnotherKindHidesAndProvesNothing) {
  const auto hides = [](const RunSpec& spec, const Settings&, std::uint64_t) {
    return spec.ranks == 2 ? Does::fail_otherwise : Does::fail;
  };
  const LadderReport report = climb(config_of(usual(), 200), climber_of(hides));
  EXPECT_EQ(report.rungs[0].failures, 0U);
  EXPECT_EQ(report.rungs[0].others, report.compared);
  EXPECT_EQ(report.rungs[0].judgement.standing, Standing::open);
  EXPECT_EQ(report.rungs[1].judgement.standing, Standing::excluded);
}

TEST(Ladder, TheMostFrequentFailureIsWhatItIsAbout) {
  const auto two = [](const RunSpec&, const Settings& settings, std::uint64_t seed) {
    if (seed % 5 == 1) return Does::fail_otherwise;
    return settings.empty() ? Does::fail : Does::pass;
  };
  const LadderReport report = climb(config_of(usual(), 1'000), climber_of(two));
  EXPECT_EQ(report.failure->code_name, "signal_deadlock");
  EXPECT_EQ(report.failure->seed, 2U);
  EXPECT_GT(report.others, 0U);
  EXPECT_TRUE(report.rungs[1].is_gone());
}

TEST(Ladder, OfAHealthyProgramThereIsNothingToExplain) {
  const auto healthy = [](const RunSpec&, const Settings&, std::uint64_t) { return Does::pass; };
  const LadderReport report = climb(config_of(usual(), 100), climber_of(healthy));
  EXPECT_FALSE(report.failure);
  EXPECT_EQ(report.schedules, 100U);
  EXPECT_EQ(report.conclusion(), "there is nothing to explain");
  for (const RungReport& each : report.rungs) EXPECT_EQ(each.schedules, 0U);
}

TEST(Ladder, WhenNothingTakesPartInAFailureThatIsNoProgramsItSaysSo) {
  const auto all = [](const RunSpec&, const Settings&, std::uint64_t) { return Does::fail; };
  Climber climber = climber_of(all);
  climber.make_runner = [make = climber.make_runner](const Settings& settings) -> Runner {
    return [run = make(settings)](const RunSpec& spec, Strategy& strategy, std::uint64_t seed, bool record) {
      RunResult result = run(spec, strategy, seed, record);
      result.verdict = Verdict::unexplained;
      return result;
    };
  };
  const LadderReport report = climb(config_of(usual(), 200), climber);
  EXPECT_THAT(report.conclusion(), HasSubstr("NOT EXPLAINED BY THE PROGRAM"));
  EXPECT_THAT(report.conclusion(), HasSubstr("the layer of more ranks and the layer of repaired"));
}

TEST(Ladder, ARungThatIsRefusedIsNotTried) {
  Climber climber = climber_of(always);
  climber.make_runner = [make = climber.make_runner](const Settings& settings) -> Runner {
    return [run = make(settings)](const RunSpec& spec, Strategy& strategy, std::uint64_t seed, bool record) {
      if (spec.ranks == 2) throw Error(Code::invalid_argument, "two are too many");
      return run(spec, strategy, seed, record);
    };
  };
  const LadderReport report = climb(config_of(usual(), 200), climber);
  EXPECT_FALSE(report.rungs[0].was_tried());
  EXPECT_EQ(report.rungs[0].rung.why_not, "two are too many");
  EXPECT_THAT(report.conclusion(), Not(HasSubstr("more ranks")));
}

TEST(Ladder, AnInterruptEndsIt) {
  Climber climber = climber_of(always);
  climber.interrupted = [] { return true; };
  LadderConfig config = config_of(usual(), 0);
  config.hunt.schedules.reset();
  config.hunt.time = std::chrono::hours(1);
  const LadderReport report = climb(config, climber);
  EXPECT_TRUE(report.interrupted);
  for (const RungReport& each : report.rungs) EXPECT_EQ(each.judgement.standing, Standing::open);
}

TEST(Ladder, RefusesWhatHasNoSeedsToCompareBy) {
  LadderConfig config = config_of(usual(), 10);
  config.hunt.strategies = {"dfs"};
  EXPECT_THROW(climb(config, climber_of(always)), Error);
  config = config_of(usual(), 10);
  config.hunt.widths = {1, 2};
  EXPECT_THROW(climb(config, climber_of(always)), Error);
}

// ---- what is changed ----

struct Switchable {
  bool payload = true;
  int size = 3;
  void parameters(ParameterList& list) {
    list.add("payload", payload, "sends data");
    list.add("size", size, "of it");
  }
  static Defaults defaults() { return {.ranks = 8, .rounds = 3, .group = 4}; }
  std::vector<Variant> matrix() const { return {{"small", {{"size", "1"}}}, {"usual", {{"size", "3"}}}}; }
  void rank(Orchestrator&, const Io&) const {}
};

RungSource source() {
  RungSource source;
  source.spec.ranks = 8;
  source.spec.rounds = 3;
  source.spec.faults = {{"lost_notify", 1}};
  source.make = [](const Settings& settings) {
    std::shared_ptr<ProgramBase> made = make_program(Switchable{});
    ParameterList list;
    made->parameters(list);
    for (const auto& [name, value] : settings) list.set(name, value);
    return made;
  };
  return source;
}

const Rung& named(const std::vector<Rung>& rungs, const std::string& name) {
  const auto found = std::find_if(rungs.begin(), rungs.end(), [&](const Rung& each) { return each.name == name; });
  EXPECT_NE(found, rungs.end()) << name;
  return found == rungs.end() ? rungs.front() : *found;
}

TEST(Rungs, ChangeOneThingEach) {
  const std::vector<Rung> rungs = rungs_of(source());
  EXPECT_EQ(named(rungs, "early dispatch off").spec.chip_set.at("early_dispatch"), 0U);
  EXPECT_EQ(named(rungs, "one scheduler").spec.chip_set.at("schedulers"), 1U);
  EXPECT_EQ(named(rungs, "width halved").spec.chip_set.at("clusters"), 12U);
  EXPECT_EQ(named(rungs, "width x4").spec.chip_set.at("clusters"), 96U);
  EXPECT_EQ(named(rungs, "ideal chip").spec.chip, "ideal");
  EXPECT_EQ(named(rungs, "ideal chip").spec.chip_set.at("clusters"), 24U);
  EXPECT_EQ(named(rungs, "rings x4").spec.session.ring.task_window, 4 * RingConfig{}.task_window);
  EXPECT_EQ(named(rungs, "one card").spec.chip_set.at("dies_per_card"), 8U);
  EXPECT_EQ(named(rungs, "one group of 4 ranks").spec.ranks, 4);
  EXPECT_EQ(named(rungs, "one round").spec.rounds, 1);
  EXPECT_TRUE(named(rungs, "windows zeroed").spec.session.reset_windows);
  EXPECT_FALSE(named(rungs, "values off").spec.values);
  EXPECT_TRUE(named(rungs, "without lost_notify").spec.faults.empty());
  EXPECT_EQ(named(rungs, "payload=false").settings, (Settings{{"payload", "false"}}));
  EXPECT_EQ(named(rungs, "variant small").settings, (Settings{{"size", "1"}}));
  // It is what is run already.
  for (const Rung& rung : rungs) EXPECT_NE(rung.name, "variant usual");
  for (const Rung& rung : rungs)
    EXPECT_TRUE(rung.why_not.empty() || rung.name == "schedulers step by step") << rung.name;
}

TEST(Rungs, SayWhyThereIsNothingToChange) {
  RungSource small = source();
  small.spec.ranks = 1;
  small.spec.rounds = 1;
  small.spec.values = false;
  small.spec.chip_set = {{"clusters", 1}, {"early_dispatch", 0}, {"ordered_notifies", 1}, {"coherent_scalars", 1}};
  const std::vector<Rung> rungs = rungs_of(small);
  for (const char* name :
       {"early dispatch off", "one scheduler", "width halved", "one card", "one round", "windows zeroed", "values off",
        "ordered notifies", "no scalar caches", "one group of 4 ranks"})
    EXPECT_NE(named(rungs, name).why_not, "") << name;
  for (const char* name :
       {"width x4", "ideal chip", "rings x4", "flags and tiles x4", "variant small", "payload=false"})
    EXPECT_EQ(named(rungs, name).why_not, "") << name;
  EXPECT_EQ(named(rungs, "ideal chip").spec.chip_set.at("ordered_notifies"), 1U);
}

}  // namespace
}  // namespace heddle::lab
