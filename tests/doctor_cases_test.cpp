// SPDX-License-Identifier: Apache-2.0
//
// The doctor and the laboratory agree: of each faulty program of the gallery, the snapshot of a failure, written, read
// again and stripped of what the laboratory concluded, leads to the same code and the same culprit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "cli/case_file.hpp"
#include "cli/lab_options.hpp"
#include "cli/program_loader.hpp"
#include "cli/run_plan.hpp"
#include "doctor/write.hpp"
#include "lab/hunt.hpp"
#include "lab/snapshot_log.hpp"
#include "snapshot/json.hpp"

namespace heddle {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const fs::path folder = fs::path(HEDDLE_TEST_SOURCE_DIR) / "cases";

Json about(const std::string& name) {
  std::ifstream file(folder / name / "case.json");
  return Json::parse(file);
}

std::vector<std::string> faulty_cases() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const std::string file = (entry.path() / "case.json").string();
    if (fs::exists(file) && cli::read_case(file).is_faulty()) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::shared_ptr<ProgramBase> program(const std::string& name) {
  const std::string wanted = cli::read_case((folder / name / "case.json").string()).program;
  return cli::create_program(cli::find_program(wanted, {HEDDLE_TEST_CASE_DIR, HEDDLE_TEST_PROGRAM_DIR}), {});
}

lab::RunSpec spec_of(const std::string& name) { return cli::read_case((folder / name / "case.json").string()).spec; }

struct Seen {
  lab::RunResult result;
  snapshot::Snapshot snapshot;
};

// A failure of the case from this seed, and its snapshot from the run made again.
std::optional<Seen> fail(const std::string& name, std::uint64_t seed) {
  const Json run = about(name).at("run");
  lab::HuntConfig config;
  config.spec = spec_of(name);
  config.strategies = run.at("strategies").get<std::vector<std::string>>();
  config.seed = seed;
  config.schedules = 2'000;
  config.jobs = 1;
  lab::Hunter hunter;
  hunter.make_runner = [&] {
    return [made = program(name)](const lab::RunSpec& spec, lab::Strategy& strategy, std::uint64_t from, bool record) {
      return lab::run_once(made, spec, strategy, from, record);
    };
  };
  hunter.strategies = cli::strategy_maker();
  const lab::HuntReport report = lab::hunt(config, hunter);
  if (!report.failure) return std::nullopt;
  lab::SnapshotLog log;
  const lab::Runner runner = [made = program(name), &log](const lab::RunSpec& spec, lab::Strategy& strategy,
                                                          std::uint64_t from, bool record) {
    lab::RunWatch watch;
    watch.snapshot = &log;
    return lab::run_once(made, spec, strategy, from, record, watch);
  };
  const lab::ScheduledRun again =
      lab::run_schedule(runner, cli::strategy_maker(), report.failure->spec, report.failure->schedule, false);
  // Whoever looks changes nothing.
  EXPECT_EQ(again.result.trace_hash, report.failure->result.trace_hash);
  if (!log.taken) return std::nullopt;
  return Seen{again.result, std::move(*log.taken)};
}

class DoctorOfTheGallery : public testing::TestWithParam<std::string> {};

TEST_P(DoctorOfTheGallery, SaysWhatTheLaboratorySays) {
  const char* const given = std::getenv("HEDDLE_SEED");
  const std::uint64_t seed = given == nullptr ? std::random_device{}() : std::strtoull(given, nullptr, 10);
  SCOPED_TRACE("HEDDLE_SEED=" + std::to_string(seed));
  const std::optional<Seen> seen = fail(GetParam(), seed);
  ASSERT_TRUE(seen.has_value());
  ASSERT_TRUE(seen->result.error.has_value());
  const Error& error = *seen->result.error;

  snapshot::Snapshot read = snapshot::parse(snapshot::to_json(seen->snapshot));
  const doctor::Report whole = doctor::diagnose(read);
  const std::string text = doctor::to_text(whole, read);
  EXPECT_EQ(whole.verdict, lab::name_of(seen->result.verdict)) << text;
  EXPECT_EQ(whole.code, static_cast<int>(error.code())) << text;
  EXPECT_TRUE(whole.is_recorded);
  EXPECT_EQ(whole.disagreement, "") << text;
  const Json expected = about(GetParam()).at("expect").at("names");
  for (const std::string name : expected) {
    // Of the names, those that are tasks' or windows'.
    const std::string word = name.substr(0, name.find(' '));
    const bool is_known =
        std::any_of(read.tasks.begin(), read.tasks.end(), [&](const auto& t) { return t.name == word; });
    EXPECT_TRUE(!is_known || text.find(word) != std::string::npos) << word << " is not in\n" << text;
  }

  // What checkers find is not in the state of the chips, nor is what a rank's program was refused.
  if (error.code() >= Code::race && error.code() < Code::no_progress) return;
  if (error.code() == Code::window_mismatch) return;
  read.outcome.reset();
  const doctor::Report alone = doctor::diagnose(read);
  const std::string own = doctor::to_text(alone, read);
  EXPECT_FALSE(alone.is_recorded);
  EXPECT_EQ(alone.verdict, lab::name_of(seen->result.verdict)) << own;
  EXPECT_EQ(alone.code, static_cast<int>(error.code())) << own;
  // Of several waits that cannot be satisfied the laboratory names the first, the doctor the one that a notify was lost
  // of.
  const bool is_listed = std::any_of(error.waits().begin(), error.waits().end(), [&](const WaitRecord& wait) {
    return wait.rank == alone.culprit.rank && wait.task == alone.culprit.name;
  });
  const bool is_fault = about(GetParam()).at("kind") == "fault";
  EXPECT_TRUE(alone.culprit.rank == error.rank() || (is_fault && is_listed)) << own << error.report();
  // The laboratory names the first task that is kept, the doctor the first of those that close the circle.
  const bool is_kept = std::any_of(alone.waits.begin(), alone.waits.end(), [&](const doctor::WaitReport& wait) {
    return wait.is_cause && wait.who.rank == error.rank() && wait.who.name == error.task();
  });
  // Of a core that never ends a task the doctor names the core.
  const bool is_on_core =
      alone.culprit.kind == doctor::Party::Kind::core && alone.sentence.find(error.task()) != std::string::npos;
  EXPECT_TRUE(alone.culprit.name == error.task() || is_kept || is_on_core || (is_fault && is_listed))
      << own << error.report();
  EXPECT_FALSE(alone.chain.empty()) << own;
  EXPECT_TRUE(alone.is_proved) << own;
}

// The first field report's program, with one thing broken: of its hypotheses the right one is confirmed, and the others
// are excluded, by name.
Seen break_one(const std::string& fault, std::uint64_t seed) {
  auto made = cli::find_program("tp_isolation", {HEDDLE_TEST_PROGRAM_DIR}).create();
  lab::RunSpec spec;
  spec.ranks = 4;
  spec.rounds = 2;
  spec.values = false;
  spec.faults[fault] = 1;
  const auto strategy = cli::strategy_maker().named("random");
  lab::SnapshotLog log;
  lab::RunWatch watch;
  watch.snapshot = &log;
  lab::RunResult result = lab::run_once(std::move(made), spec, *strategy, seed, false, watch);
  return {std::move(result), log.taken ? std::move(*log.taken) : snapshot::Snapshot{}};
}

std::string confirmed_of(const doctor::Report& report) {
  std::string names;
  for (const doctor::Hypothesis& each : report.hypotheses) {
    EXPECT_NE(each.outcome, doctor::Hypothesis::Outcome::open) << each.name << ": " << each.sentence;
    if (each.outcome == doctor::Hypothesis::Outcome::confirmed) names += each.name + "\n";
  }
  return names;
}

TEST(DoctorOfTheIsolation, NamesWhatWasBroken) {
  const std::pair<const char*, const char*> all[] = {
      {"lost_notify", "communication: a notify that was sent, and is not visible\n"},
      {"unacknowledged_dispatch",
       "runtime dispatch: a task handed to a core that does not take it up, or does not end it\n"},
      {"stalled_core", "runtime dispatch: a task handed to a core that does not take it up, or does not end it\n"},
      {"dying_rank", "a rank that failed or died\n"}};
  for (const auto& [fault, name] : all) {
    int failures = 0;
    for (std::uint64_t seed = 1; seed <= 40 && failures < 3; ++seed) {
      SCOPED_TRACE(std::string(fault) + ", seed " + std::to_string(seed));
      Seen seen = break_one(fault, seed);
      if (seen.result.passed() || seen.result.error->code() == Code::user_error) continue;
      ++failures;
      const doctor::Report report = doctor::diagnose(seen.snapshot);
      EXPECT_EQ(confirmed_of(report), name) << doctor::to_text(report, seen.snapshot);
      EXPECT_EQ(report.disagreement, "") << doctor::to_text(report, seen.snapshot);
    }
    EXPECT_GT(failures, 0) << fault;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, DoctorOfTheGallery, testing::ValuesIn(faulty_cases()),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace heddle
