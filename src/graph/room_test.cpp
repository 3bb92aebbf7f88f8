// SPDX-License-Identifier: Apache-2.0
#include "graph/room.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace heddle::graph {
namespace {

ScopeFrame frame_at(std::uint32_t line, std::uint32_t ring = 1) {
  ScopeFrame frame;
  frame.ring = ring;
  frame.location = {"program.cpp", line};
  return frame;
}

TEST(ScopeBook, KeepsTheMostOfEachLine) {
  ScopeBook book;
  for (std::uint64_t i = 1; i <= 3; ++i)
    for (const std::uint32_t line : {10U, 20U}) book.held(book.opened(frame_at(line)), {i * line, 1000 / i, i});
  const std::vector<ScopeUse> uses = book.uses();
  ASSERT_EQ(uses.size(), 2U);
  EXPECT_EQ(uses[1].where, "program.cpp:20");
  EXPECT_EQ(uses[1].opened, 3U);
  EXPECT_EQ(uses[1].most.tasks, 60U);
  EXPECT_EQ(uses[1].most.heap_bytes, 1000U);
  EXPECT_EQ(uses[1].most.edges, 3U);
}

TEST(ScopeBook, TellsDepthsOfOneLineApart) {
  ScopeBook book;
  for (const std::uint32_t ring : {1U, 2U, 1U}) (void)book.opened(frame_at(10, ring));
  ASSERT_EQ(book.uses().size(), 2U);
  EXPECT_EQ(book.uses()[0].opened, 2U);
}

TEST(ScopeBook, HasABoundAndSaysSo) {
  ScopeBook book;
  for (std::uint32_t line = 1; line <= 1000; ++line) book.held(book.opened(frame_at(line)), {line, 0, 0});
  const std::vector<ScopeUse> uses = book.uses();
  ASSERT_EQ(uses.size(), ScopeBook::entries_most);
  EXPECT_EQ(uses.front().most.tasks, 1U);
  EXPECT_EQ(uses.back().where, "program.cpp:256 and others");
  EXPECT_EQ(uses.back().opened, 745U);
  EXPECT_EQ(uses.back().most.tasks, 1000U);
}

TEST(RoomUse, OfSeveralRanksIsTheMostOfEach) {
  RoomUse all, first, second;
  first.rings[1] = {{5, 100, 1}, 2};
  second.rings[1] = {{3, 400, 1}, 1};
  first.scopes = {{"a:1", 1, false, 2, {5, 0, 0}}};
  second.scopes = {{"a:2", 1, false, 1, {1, 0, 0}}, {"a:1", 1, false, 1, {7, 0, 0}}};
  add(all, first);
  add(all, second);
  EXPECT_EQ(all.rings[1].most.tasks, 5U);
  EXPECT_EQ(all.rings[1].most.heap_bytes, 400U);
  EXPECT_EQ(all.rings[1].waits, 3U);
  ASSERT_EQ(all.scopes.size(), 2U);
  EXPECT_EQ(all.scopes[0].opened, 3U);
  EXPECT_EQ(all.scopes[0].most.tasks, 7U);
}

}  // namespace
}  // namespace heddle::graph
