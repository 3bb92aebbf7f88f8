// SPDX-License-Identifier: Apache-2.0
//
// What a session and the command say of the rings that were used: by ring, and by the line that opens a scope.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <heddle/heddle.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "host/test_program.hpp"
#include "tests/child.hpp"

namespace heddle::test {
namespace {

using host::contains;
using host::TestProgram;
using testing::HasSubstr;
using Json = nlohmann::json;

constexpr std::int64_t kib = 1024;
unsigned outer_line = 0, inner_line = 0;

// Of the round's own: 2 tasks. Of each of 3 outer scopes: 4 tasks of 2 KiB, each after the one before. Of an inner
// scope in each of these: 1, 2 and 3 tasks of 1 KiB.
void nested(Orchestrator& graph, const Io&) {
  for (int i = 0; i < 2; ++i) graph.submit("own", vector_core, [](Block&) {});
  for (int i = 0; i < 3; ++i) {
    outer_line = __LINE__ + 1;
    const auto outer = graph.scope();
    TaskHandle last{};
    for (int k = 0; k < 4; ++k) {
      const auto fill = [](Block&, View<std::uint8_t>) {};
      last = k == 0
                 ? static_cast<TaskHandle>(graph.submit("outer", vector_core, fill, new_tensor<std::uint8_t>(2 * kib)))
                 : static_cast<TaskHandle>(
                       graph.submit("outer", vector_core, fill, new_tensor<std::uint8_t>(2 * kib), after(last)));
    }
    inner_line = __LINE__ + 1;
    const auto inner = graph.scope(ScopeMode::manual);
    for (int k = 0; k <= i; ++k)
      graph.submit("inner", vector_core, [](Block&, View<std::uint8_t>) {}, scratch<std::uint8_t>(kib));
  }
}

void expect_room(const RingRoom& room, std::uint64_t tasks, std::uint64_t heap_bytes, std::uint64_t edges) {
  EXPECT_EQ(room.tasks, tasks);
  EXPECT_EQ(room.heap_bytes, heap_bytes);
  EXPECT_EQ(room.edges, edges);
}

TEST(RoomUse, SaysWhatEachScopeHeldAtMost) {
  for (const char* backend : {"host", "lab:a2a3"}) {
    SCOPED_TRACE(backend);
    Device device = Device::open(backend, {.ranks = 2, .threads = 2});
    Session session = device.prepare(TestProgram{nested, {}});
    for (int round = 0; round < 2; ++round) session.run();
    for (int r = 0; r < 2; ++r) {
      const RoomUse use = session.room_use(r);
      ASSERT_EQ(use.scopes.size(), 3U);
      EXPECT_EQ(use.scopes[0].where, "");
      EXPECT_EQ(use.scopes[0].opened, 2U);
      expect_room(use.scopes[0].most, 2, 0, 0);
      EXPECT_TRUE(contains(use.scopes[1].where, "room_use_test.cpp:" + std::to_string(outer_line)))
          << use.scopes[1].where;
      EXPECT_EQ(use.scopes[1].opened, 6U);
      EXPECT_EQ(use.scopes[1].ring, 1);
      EXPECT_FALSE(use.scopes[1].manual);
      expect_room(use.scopes[1].most, 4, 8 * kib, 3);
      EXPECT_TRUE(contains(use.scopes[2].where, ":" + std::to_string(inner_line))) << use.scopes[2].where;
      EXPECT_EQ(use.scopes[2].ring, 2);
      EXPECT_TRUE(use.scopes[2].manual);
      expect_room(use.scopes[2].most, 3, 3 * kib, 0);
      // A ring holds at least what its scopes do.
      EXPECT_GE(use.rings[1].most.tasks, 4U);
      EXPECT_GE(use.rings[2].most.heap_bytes, 3U * kib);
      EXPECT_EQ(use.rings[3].most.tasks, 0U);
      EXPECT_EQ(use.rings[1].waits, 0U);
    }
  }
}

TEST(RoomUse, NeverExceedsTheRingAndCountsTheWaits) {
  for (const char* backend : {"host", "lab:a2a3"}) {
    SCOPED_TRACE(backend);
    Device device = Device::open(backend, {.threads = 2});
    Session session =
        device.prepare(TestProgram{[](Orchestrator& graph, const Io&) {
                                     for (int i = 0; i < 40; ++i) {
                                       const auto scope = graph.scope();
                                       for (int k = 0; k < 3; ++k)
                                         graph.submit("some", vector_core, [](Block& block) { block.spend(100'000); });
                                     }
                                   },
                                   {}},
                       {.ring = {.task_window = 8, .heap_bytes = 4096, .dep_pool = 16}});
    session.run();
    const RoomUse use = session.room_use(0);
    EXPECT_EQ(use.rings[1].most.tasks, 8U);
    EXPECT_EQ(use.scopes.at(1).most.tasks, 3U);
    if (contains(backend, "lab:")) {
      EXPECT_GT(use.rings[1].waits, 0U);
    }
  }
}

TEST(RoomUse, OfADeadlockIsWhatWasHeldThen) {
  for (const char* backend : {"host", "lab:a2a3"}) {
    SCOPED_TRACE(backend);
    Device device = Device::open(backend, {.threads = 2});
    Session session = device.prepare(TestProgram{[](Orchestrator& graph, const Io&) {
                                                   const auto scope = graph.scope();
                                                   for (int i = 0; i < 20; ++i)
                                                     graph.submit("many", vector_core, [](Block&) {});
                                                 },
                                                 {}},
                                     {.ring = {.task_window = 8}});
    EXPECT_EQ(host::error_of([&] { session.run(); }).code(), Code::scope_deadlock);
    const RoomUse use = session.room_use(0);
    EXPECT_EQ(use.rings[1].most.tasks, 8U);
    EXPECT_EQ(use.scopes.at(1).most.tasks, 8U) << "not what the rest of the program would have needed";
  }
}

TEST(RoomUse, OneLineIsOneEntryHoweverOftenItRuns) {
  Device device = Device::open("host", {.threads = 1});
  Session session = device.prepare(TestProgram{[](Orchestrator& graph, const Io&) {
                                                 for (int i = 0; i < 1000; ++i) {
                                                   const auto scope = graph.scope();
                                                   graph.submit("one", vector_core, [](Block&) {});
                                                 }
                                               },
                                               {}});
  session.run();
  ASSERT_EQ(session.room_use(0).scopes.size(), 2U);
  EXPECT_EQ(session.room_use(0).scopes[1].opened, 1000U);
}

TEST(Stats, AreShownForPeopleAndForTools) {
  const std::vector<std::string> arguments{"run", "moe_missing_edge", "--set", "repaired=true", "--rounds",
                                           "1",   "--stats"};
  for (const char* backend : {"host", "lab:a2a3", "lab:host"}) {
    SCOPED_TRACE(backend);
    auto with = arguments;
    with.insert(with.end(), {"--on", backend});
    const Outcome outcome = run_command(with);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    for (const char* text : {"waits for room", "held by the scope at", "the round's own", "16,384"})
      EXPECT_THAT(outcome.out, HasSubstr(text));
    with.push_back("--json");
    const Json stats = Json::parse(run_command(with).out).at("stats");
    ASSERT_EQ(stats.at("rings").size(), 4U);
    EXPECT_GT(stats.at("rings").at(0).at("task_window").at("most"), 0);
    EXPECT_EQ(stats.at("rings").at(0).at("task_window").at("size"), 16384);
    EXPECT_EQ(stats.at("scopes").at(0).at("location"), nullptr);
  }
  EXPECT_EQ(Json::parse(run_command({"run", "vector_add", "--json"}).out).at("stats"), nullptr);
}

}  // namespace
}  // namespace heddle::test
