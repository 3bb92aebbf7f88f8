// SPDX-License-Identifier: Apache-2.0
//
// The hang gallery: each faulty program is found from a fresh seed, with the verdict and the names that its case asks
// for, and is shown again and made smaller; the repaired program, and each control, passes the same hunt.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "cli/case_file.hpp"
#include "cli/lab_options.hpp"
#include "cli/program_loader.hpp"
#include "cli/run_plan.hpp"
#include "lab/hunt.hpp"
#include "lab/seeds.hpp"
#include "lab/shrink.hpp"

namespace heddle {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const fs::path folder = fs::path(HEDDLE_TEST_SOURCE_DIR) / "cases";

constexpr std::uint64_t hunted = 2'000;  // schedules at most for a fault to be found
constexpr std::uint64_t unharmed = 200;  // schedules that a repaired program or a control passes
constexpr std::uint64_t shrink_runs = 1000;

cli::CaseFile case_of(const std::string& name) { return cli::read_case((folder / name / "case.json").string()); }

Json about(const std::string& name) {
  std::ifstream file(folder / name / "case.json");
  return Json::parse(file);
}

// With their faults: those of kind `control` have none, and those of kind `runtime` have them only where a test puts
// them into the runtime.
std::vector<std::string> case_names(bool controls) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (controls || case_of(name).is_faulty()) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::shared_ptr<ProgramBase> program(const std::string& name, const lab::Settings& settings) {
  return cli::create_program(cli::find_program(case_of(name).program, {HEDDLE_TEST_CASE_DIR, HEDDLE_TEST_PROGRAM_DIR}),
                             settings);
}

lab::Runner runner_of(const std::string& name, const lab::Settings& settings) {
  return [made = program(name, settings)](const lab::RunSpec& spec, lab::Strategy& strategy, std::uint64_t seed,
                                          bool record) { return lab::run_once(made, spec, strategy, seed, record); };
}

std::vector<lab::ShrinkParameter> parameters_of(const std::string& name) {
  const auto made = program(name, {});
  ParameterList list;
  made->parameters(list);
  std::vector<lab::ShrinkParameter> found;
  for (const auto& parameter : list.all()) {
    const auto least = static_cast<std::int64_t>(parameter.least);
    if (const auto* small = std::get_if<int*>(&parameter.field)) found.push_back({parameter.name, **small, least});
    if (const auto* large = std::get_if<std::int64_t*>(&parameter.field))
      found.push_back({parameter.name, **large, least});
  }
  return found;
}

bool contains(const Json& list, const std::string& wanted) {
  return std::find(list.begin(), list.end(), wanted) != list.end();
}

/// All that a person is told.
std::string told(const lab::RunResult& result) {
  std::string text = result.sentence;
  for (const std::string& step : result.chain) text += "\n" + step;
  return result.error ? text + "\n" + result.error->report() : text;
}

class Gallery : public testing::TestWithParam<std::string> {
 protected:
  Gallery() : about_(about(GetParam())) {
    case_ = case_of(GetParam());
    // A seed that nobody has tried, unless one is given.
    const char* const given = std::getenv("HEDDLE_SEED");
    seed_ = given == nullptr ? std::random_device{}() : std::strtoull(given, nullptr, 10);
  }

  lab::HuntReport hunt(const lab::RunSpec& spec, const lab::Settings& settings, std::uint64_t schedules) const {
    lab::HuntConfig config;
    config.spec = spec;
    config.strategies = about_.at("run").at("strategies").get<std::vector<std::string>>();
    config.seed = seed_;
    config.schedules = schedules;
    config.jobs = 1;
    lab::Hunter hunter;
    hunter.make_runner = [&] { return runner_of(GetParam(), settings); };
    hunter.strategies = cli::strategy_maker();
    return lab::hunt(config, hunter);
  }
  void expect_it(const lab::RunResult& result) const {
    const Json& expect = about_.at("expect");
    EXPECT_TRUE(contains(expect.at("verdicts"), lab::name_of(result.verdict))) << told(result);
    ASSERT_TRUE(result.error.has_value());
    EXPECT_TRUE(contains(expect.at("codes"), std::string(result.error->name()))) << told(result);
  }
  void expect_names(const lab::RunResult& result) const {
    for (const std::string name : about_.at("expect").at("names"))
      EXPECT_NE(told(result).find(name), std::string::npos) << name << "\nis not in\n" << told(result);
  }

  Json about_;
  cli::CaseFile case_;
  std::uint64_t seed_ = 0;
};

TEST_P(Gallery, IsDescribed) {
  EXPECT_EQ(about_.at("name"), GetParam());
  EXPECT_TRUE(contains({"program", "fault", "runtime", "control"}, about_.at("kind")));
  for (const char* key : {"source", "summary", "what_happens", "in_the_wild"})
    EXPECT_FALSE(about_.at(key).get<std::string>().empty()) << key;
  if (!case_.has_own_program) return;
  const Defaults defaults = program(GetParam(), {})->defaults();
  EXPECT_EQ(defaults.ranks, case_.spec.ranks);
  EXPECT_EQ(defaults.rounds, case_.spec.rounds);
}

class FaultOfTheGallery : public Gallery {};

TEST_P(FaultOfTheGallery, IsFoundShownAgainAndMadeSmaller) {
  SCOPED_TRACE("HEDDLE_SEED=" + std::to_string(seed_));
  const lab::HuntReport report = hunt(case_.spec, {}, hunted);
  ASSERT_TRUE(report.failure.has_value());
  const lab::FoundFailure& found = *report.failure;
  EXPECT_TRUE(found.is_repeatable);
  expect_it(found.result);
  expect_names(found.result);

  const lab::ScheduledRun again =
      lab::run_schedule(runner_of(GetParam(), {}), cli::strategy_maker(), found.spec, found.schedule, false);
  EXPECT_EQ(again.result.trace_hash, found.result.trace_hash);
  EXPECT_EQ(told(again.result), told(found.result));

  lab::ShrinkConfig config;
  config.failure = lab::to_failure(found.spec, found.schedule, found.result);
  config.parameters = parameters_of(GetParam());
  config.runs = shrink_runs;
  lab::Shrinker shrinker;
  shrinker.make_runner = [&](const lab::Settings& settings) { return runner_of(GetParam(), settings); };
  shrinker.group_of = [&](const lab::Settings& settings) { return program(GetParam(), settings)->defaults().group; };
  shrinker.strategies = cli::strategy_maker();
  const lab::ShrinkReport small = lab::shrink(config, shrinker);
  ASSERT_TRUE(small.is_shown);
  EXPECT_EQ(small.result.verdict, found.result.verdict) << told(small.result);
  expect_it(small.result);
  EXPECT_LE(small.after.tasks, small.before.tasks);
  if (const Json smallest = about_.at("expect").value("smallest", Json()); smallest.is_object()) {
    EXPECT_LE(small.after.ranks, smallest.at("ranks").get<int>()) << told(small.result);
    EXPECT_LE(small.after.tasks, smallest.at("tasks").get<std::uint64_t>()) << told(small.result);
    expect_names(small.result);
  }
}

TEST_P(Gallery, TheRepairedProgramPassesTheSameHunt) {
  SCOPED_TRACE("HEDDLE_SEED=" + std::to_string(seed_));
  const std::uint64_t schedules = lab::seeds(unharmed);
  const lab::HuntReport report = hunt(case_.right_spec(), case_.right_settings(), schedules);
  if (report.failure) FAIL() << "schedule " << report.failure->number << ": " << told(report.failure->result);
  EXPECT_EQ(report.counts.schedules, schedules);
  const Json verdicts = !case_.is_faulty() ? about_.at("expect").at("verdicts") : Json{"PASSED"};
  for (const auto& [verdict, count] : report.counts.verdicts)
    EXPECT_TRUE(count == 0 || contains(verdicts, lab::name_of(verdict))) << lab::name_of(verdict);
  // What is listed first is what the case is about.
  EXPECT_TRUE(std::any_of(report.counts.verdicts.begin(), report.counts.verdicts.end(), [&](const auto& seen) {
    return seen.second != 0 && verdicts.front() == lab::name_of(seen.first);
  }));
}

INSTANTIATE_TEST_SUITE_P(Cases, Gallery, testing::ValuesIn(case_names(true)),
                         [](const auto& one) { return one.param; });
INSTANTIATE_TEST_SUITE_P(Cases, FaultOfTheGallery, testing::ValuesIn(case_names(false)),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace heddle
