// SPDX-License-Identifier: Apache-2.0
//
// A simulated core that never comes back: what the report says of it, as of a worker of the host; and that timers,
// which never fire here, change nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <heddle/heddle.hpp>
#include <string>
#include <vector>

#include "lab/run.hpp"
#include "lab/strategies/strategies.hpp"

namespace heddle::lab {
namespace {

using std::chrono::milliseconds;

std::uint32_t submit_line = 0;

// Each rank has one block; those of other ranks are over when the fault has struck.
struct OneBlock {
  static void rank(Orchestrator& graph, const Io&) {
    submit_line = __LINE__ + 1;
    graph.submit("only", vector_core, [](Block& block) { block.spend(1'000); });
  }
};

RunSpec spec_with(const std::string& fault) {
  RunSpec spec;
  spec.chip = "a2a3";
  spec.chip_set = {{"clusters", 2}};
  spec.ranks = 1;
  spec.rounds = 400;  // the fault strikes at one of its first 256 opportunities
  if (!fault.empty()) spec.faults = {{fault, 1}};
  return spec;
}

class StalledCore : public ::testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(StalledCore, IsReportedWithItsTaskItsSubmitAndTheCallThatItStandsAt) {
  const auto& [fault, call] = GetParam();
  for (const Fidelity fidelity : {Fidelity::program, Fidelity::protocol}) {
    RunSpec spec = spec_with(fault);
    spec.fidelity = fidelity;
    const RunResult result = run_once(make_program(OneBlock{}), spec, *make_strategy("random"), 3);
    ASSERT_EQ(result.verdict, Verdict::core_stalled) << result.sentence;
    ASSERT_TRUE(result.error);
    const Error& error = *result.error;
    EXPECT_EQ(error.code(), Code::core_stalled);
    EXPECT_EQ(error.rank(), 0);
    EXPECT_EQ(error.task(), "only");
    EXPECT_EQ(error.block(), 0);
    EXPECT_EQ(error.location().line, submit_line);
    ASSERT_EQ(error.workers().size(), 6U) << error.report();  // two clusters of one cube and two vector cores
    const auto is_stuck = [](const WorkerRecord& core) { return core.stuck; };
    ASSERT_EQ(std::count_if(error.workers().begin(), error.workers().end(), is_stuck), 1) << error.report();
    const WorkerRecord& stuck = *std::find_if(error.workers().begin(), error.workers().end(), is_stuck);
    EXPECT_EQ(stuck.state, WorkerRecord::State::kernel);
    EXPECT_EQ(stuck.task, "only");
    EXPECT_EQ(stuck.block, 0);
    EXPECT_EQ(stuck.submitted.line, submit_line);
    EXPECT_EQ(stuck.function, call);
    EXPECT_EQ(std::count_if(error.workers().begin(), error.workers().end(),
                            [](const WorkerRecord& core) { return core.state == WorkerRecord::State::idle; }),
              5)
        << error.report();
    EXPECT_NE(error.report().find("idle in the dispatcher"), std::string::npos) << error.report();
  }
}

INSTANTIATE_TEST_SUITE_P(, StalledCore,
                         ::testing::Values(std::pair("stalled_core", "the bulk read of its arguments"),
                                           std::pair("endless_kernel", "its kernel")),
                         [](const auto& parameter) { return std::string(parameter.param.first); });

// Pairs of tasks, more than there are cores: each core has a pending one while it runs another.
struct Pairs {
  static constexpr int parts = 200;
  static void rank(Orchestrator& graph, const Io&) {
    const auto kernel = [](Block& block) { block.spend(5'000); };
    for (int i = 0; i < parts; ++i) {
      const auto part = graph.submit("part", vector_core, kernel);
      graph.submit("next", vector_core, kernel, after(part));
    }
  }
};

TEST(WithheldFinish, StopsTheCoreAndNotWhatFollowsTheTaskThatItHadEnded) {
  constexpr std::uint64_t bound = 3'000'000;
  for (const Fidelity fidelity : {Fidelity::program, Fidelity::protocol}) {
    RunSpec spec = spec_with("withheld_finish");
    spec.chip_set = {{"clusters", 1}, {"withheld_finish_bound", bound}};
    spec.fidelity = fidelity;
    const RunResult result = run_once(make_program(Pairs{}), spec, *make_strategy("random"), 3);
    ASSERT_EQ(result.verdict, Verdict::core_stalled) << result.sentence;
    EXPECT_NE(result.sentence.find("after the bound"), std::string::npos) << result.sentence;
    EXPECT_GE(result.virtual_ns, bound);
    // All but the pending task, and the one that waits for it if there is one.
    const std::uint64_t kept = result.error->task() == "part" ? 2 : 1;
    EXPECT_EQ(result.blocks, static_cast<std::uint64_t>(2 * Pairs::parts * (result.rounds_done + 1)) - kept)
        << result.sentence;
  }
}

// Waits on a core for what nobody does, while the orchestrator reads what it would make.
struct Blocked {
  static void plan(Plan& plan) {
    plan.window("told", sizeof(std::int32_t));
    plan.output<std::int32_t>("x", {1});
  }
  static void rank(Orchestrator& graph, const Io& io) {
    const auto never = graph.window("told").signals<std::int32_t>().mine()[0];
    const auto x = io.output<std::int32_t>("x");
    graph.submit(
        "blocked", vector_core, [=](Block& block, View<std::int32_t>) { block.wait(never, Compare::ge, 7); }, out(x));
    graph.read(x);
  }
};

// In each, another one would be the first to fire.
const Timeouts ladders[] = {
    {},
    {.scheduler = milliseconds(1), .operation = milliseconds(60'000), .host_fence = milliseconds(70'000)},
    {.scheduler = std::nullopt, .operation = milliseconds(1), .host_fence = milliseconds(70'000)},
    {.scheduler = std::nullopt, .operation = std::nullopt, .host_fence = milliseconds(1)},
    {.scheduler = std::nullopt, .tensor_access = milliseconds(1)},
};

TEST(TimeoutLadderOfTheLab, WhicheverWouldFireFirstTheCauseIsProvedAndTheSame) {
  std::vector<std::uint64_t> stalled, blocked;
  for (const Timeouts& timeouts : ladders) {
    RunSpec spec = spec_with("endless_kernel");
    spec.session.timeouts = timeouts;
    const RunResult first = run_once(make_program(OneBlock{}), spec, *make_strategy("random"), 3);
    ASSERT_TRUE(first.error);
    EXPECT_EQ(first.error->code(), Code::core_stalled) << first.sentence;
    EXPECT_EQ(first.error->task(), "only");
    stalled.push_back(first.trace_hash);
    spec = spec_with("");
    spec.session.timeouts = timeouts;
    const RunResult second = run_once(make_program(Blocked{}), spec, *make_strategy("random"), 3);
    ASSERT_TRUE(second.error);
    EXPECT_EQ(second.error->code(), Code::signal_deadlock) << second.sentence;
    EXPECT_EQ(second.error->task(), "blocked");
    blocked.push_back(second.trace_hash);
  }
  EXPECT_EQ(std::count(stalled.begin(), stalled.end(), stalled.front()), std::ssize(stalled));
  EXPECT_EQ(std::count(blocked.begin(), blocked.end(), blocked.front()), std::ssize(blocked));
}

TEST(TimeoutLadderOfTheLab, OneOutOfOrderIsRefusedByEveryEntry) {
  const auto message_of = [](auto&& call) -> std::string {
    try {
      call();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::invalid_argument);
      return error.message();
    }
    return "";
  };
  const Timeouts wrong{.scheduler = milliseconds(300), .operation = milliseconds(200)};
  for (const char* const chip : {"a2a3", "ideal", "host"}) {
    RunSpec spec = spec_with("");
    spec.chip = chip;
    if (spec.chip == "host") spec.chip_set.clear();
    spec.session.timeouts = wrong;
    const std::string message =
        message_of([&] { (void)run_once(make_program(OneBlock{}), spec, *make_strategy("random"), 1); });
    EXPECT_NE(message.find("scheduler (300 ms) must be less than operation (200 ms)"), std::string::npos) << message;
  }
  Device device = Device::open("lab:a2a3");
  const std::string message = message_of([&] { (void)device.prepare(OneBlock{}, {.timeouts = wrong}); });
  EXPECT_NE(message.find("scheduler (300 ms) must be less than operation (200 ms)"), std::string::npos) << message;
  const Timeouts hasty{.tensor_access = milliseconds(5)};
  EXPECT_NE(message_of([&] {
              (void)device.prepare(OneBlock{}, {.timeouts = hasty});
            }).find("scheduler (10000 ms) must be less than tensor_access (5 ms)"),
            std::string::npos);
}

}  // namespace
}  // namespace heddle::lab
