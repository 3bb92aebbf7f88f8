// SPDX-License-Identifier: Apache-2.0
//
// What a snapshot may cost that is made to cost much: no more than some times its own size.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "doctor/report.hpp"
#include "doctor/situation.hpp"
#include "doctor/write.hpp"

namespace heddle::doctor {
namespace {

constexpr int many = 20'000;

snapshot::Task& add_task(snapshot::Snapshot& all, int rank, std::int64_t number) {
  snapshot::Task& task = all.tasks.emplace_back();
  task.rank = rank;
  task.task = number;
  task.name = "t";
  return task;
}

snapshot::Block& add_block(snapshot::Snapshot& all, int rank, std::int64_t task, int part) {
  snapshot::Block& block = all.blocks.emplace_back();
  block.rank = rank;
  block.task = task;
  block.block = 0;
  block.part = part;
  return block;
}

TEST(DoctorBounds, TasksOfManyShapesOnManyCores) {
  snapshot::Snapshot all;
  all.recorded = {"tasks", "cores"};
  for (int i = 0; i < many; ++i) {
    snapshot::Task& task = add_task(all, 0, i);
    task.state = snapshot::TaskState::ready;
    task.cubes = 1 + i;
    task.vectors = 0;
    snapshot::Core& core = all.cores.emplace_back();
    core.rank = 0;
    core.core = i;
    core.cluster = 0;
    core.kind = snapshot::CoreKind::cube;
  }
  const Report report = diagnose(all);
  EXPECT_LT(report.edges, 32U * many);
  EXPECT_EQ(report.knots, 0U) << "every core is free";
}

TEST(DoctorBounds, ABlockOfManyPartsThatWaitForEachOther) {
  snapshot::Snapshot all;
  all.taken = snapshot::Taken::standstill;
  all.recorded = {"tasks", "blocks"};
  add_task(all, 0, 0).state = snapshot::TaskState::running;
  for (int part = 0; part < many; ++part) {
    snapshot::Block& block = add_block(all, 0, 0, part);
    block.state = snapshot::BlockState::waiting;
    block.wait.emplace().kind = snapshot::WaitKind::flag;
    block.wait->rank = 0;
    block.wait->cluster = 0;
  }
  EXPECT_LT(diagnose(all).edges, 80U * many);
  // Of as many as a block can have, each is looked at.
  all.blocks.resize(3);
  const Report report = diagnose(all);
  EXPECT_EQ(report.knots, 1U);
  EXPECT_EQ(report.concluded_code, 20);
}

TEST(DoctorBounds, TheBlocksOfTheLastTaskThereCanBeAreItsOwn) {
  snapshot::Snapshot all;
  all.recorded = {"tasks", "blocks"};
  add_task(all, 0, INT64_MAX);
  add_task(all, 1, 0);
  add_block(all, 1, 0, -1);
  add_block(all, 0, INT64_MAX, -1);
  const Situation situation(all);
  const auto [first, last] = situation.blocks_of(0);
  ASSERT_EQ(last - first, 1U);
  EXPECT_EQ(all.blocks[situation.blocks()[first]].rank, 0);
}

}  // namespace
}  // namespace heddle::doctor
