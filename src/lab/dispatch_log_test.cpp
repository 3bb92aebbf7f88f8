// SPDX-License-Identifier: Apache-2.0
#include "lab/dispatch_log.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "chip/protocol.hpp"

namespace heddle::lab {
namespace {

using Kind = DispatchRecord::Kind;
constexpr std::uint32_t lanes = 3;

// Of a task of two blocks, each on a cube core and a vector core.
DispatchRecord record_of(Kind kind, std::uint32_t block, std::uint32_t part, std::uint32_t core, std::uint32_t token) {
  DispatchRecord record;
  record.kind = kind;
  record.block = block;
  record.blocks = 2;
  record.part = static_cast<std::uint8_t>(part);
  record.parts = 2;
  record.cubes = 1;
  record.core = core;
  record.token = token;
  return record;
}

// Two blocks of two parts, on clusters 0 and 1: four hand-overs, four begins, four ends.
std::vector<DispatchRecord> sound() {
  std::vector<DispatchRecord> records;
  for (const Kind kind : {Kind::hand_over, Kind::begin, Kind::finish})
    for (std::uint32_t block = 0; block < 2; ++block)
      for (std::uint32_t part = 0; part < 2; ++part)
        records.push_back(record_of(kind, block, part, block * lanes + part, 1));
  return records;
}

DispatchProof proof_of(const std::vector<DispatchRecord>& records, DispatchEnd end = DispatchEnd::passed) {
  DispatchNames names;
  names.number_of("gemm");
  DispatchProver prover(lanes, names);
  for (const DispatchRecord& record : records) prover.add(record);
  return prover.finish(end);
}

void expect_first(const std::vector<DispatchRecord>& records, DispatchRule rule, std::uint64_t at,
                  DispatchEnd end = DispatchEnd::passed) {
  const DispatchProof proof = proof_of(records, end);
  ASSERT_FALSE(proof.holds());
  const DispatchFault& first = proof.faults.front();
  EXPECT_STREQ(name_of(first.rule), name_of(rule)) << first.what;
  EXPECT_EQ(first.record, at) << first.what;
  EXPECT_NE(first.what.find("gemm"), std::string::npos) << first.what;
  EXPECT_FALSE(proof.holds(rule));
}

TEST(DispatchProof, HoldsOfASoundRunAndCountsIt) {
  const DispatchProof proof = proof_of(sound());
  EXPECT_TRUE(proof.holds());
  EXPECT_EQ(proof.records, 12U);
  EXPECT_EQ(proof.hand_overs, 4U);
  EXPECT_EQ(proof.begins, 4U);
  EXPECT_EQ(proof.finishes, 4U);
  EXPECT_EQ(proof.cores, 4U);
  EXPECT_TRUE(proof_of({}).holds());
}

TEST(DispatchProof, ABlockIsHandedOverOnce) {
  auto records = sound();
  records.push_back(record_of(Kind::hand_over, 1, 0, 3, 2));
  expect_first(records, DispatchRule::once, 12);
}

TEST(DispatchProof, ABlockBeginsOnce) {
  auto records = sound();
  records.push_back(record_of(Kind::begin, 1, 1, 4, 1));
  expect_first(records, DispatchRule::handed, 12);
  records.back().token = 2;
  records.insert(records.end() - 1, record_of(Kind::hand_over, 1, 1, 4, 2));
  EXPECT_FALSE(proof_of(records).holds(DispatchRule::once));
}

TEST(DispatchProof, HalvesGoToOneCluster) {
  auto records = sound();
  records[1].core = 4;
  expect_first(records, DispatchRule::paired, 1);
}

TEST(DispatchProof, HalvesGoToDifferentCoresOfTheirKinds) {
  auto records = sound();
  records[1].core = 0;
  records[1].token = 2;
  expect_first(records, DispatchRule::paired, 1);
  records = sound();
  std::swap(records[0].core, records[1].core);
  expect_first(records, DispatchRule::paired, 0);
}

TEST(DispatchProof, AHalfDoesNotStandAlone) {
  auto records = sound();
  records.erase(records.begin() + 1);
  records.resize(3);
  expect_first(records, DispatchRule::paired, 0, DispatchEnd::stopped);
  EXPECT_TRUE(proof_of(records, DispatchEnd::dropped).holds()) << "its other half may have come later";
}

TEST(DispatchProof, TokensFollowEachOtherAcrossTheWrapToo) {
  auto records = sound();
  records.push_back(record_of(Kind::hand_over, 0, 0, 0, 3));
  records.back().task = 1;
  EXPECT_FALSE(proof_of(records).holds(DispatchRule::continuous));
  DispatchNames names;
  names.number_of("gemm");
  DispatchProver prover(1, names);
  std::uint32_t token = chip::no_token;
  for (std::uint32_t i = 0; i < 3; ++i) {
    DispatchRecord record;
    record.task = i;
    record.cubes = 1;
    record.token = token = chip::next_token(token);
    prover.add(record);
  }
  EXPECT_TRUE(prover.finish(DispatchEnd::stopped).holds());
}

TEST(DispatchProof, WhatBeginsWasHandedOver) {
  auto records = sound();
  records[5].token = 7;
  expect_first(records, DispatchRule::handed, 5);
}

TEST(DispatchProof, ACoreRunsOneKernelAtATime) {
  auto records = sound();
  DispatchRecord next = record_of(Kind::hand_over, 0, 0, 0, 2);
  next.task = 1;
  next.blocks = next.parts = 1;
  records.insert(records.begin() + 4, next);
  next.kind = Kind::begin;
  records.insert(records.begin() + 9, next);
  expect_first(records, DispatchRule::alone, 9, DispatchEnd::stopped);
}

TEST(DispatchProof, NothingBeginsAfterTheFreezeOfItsRankAndGraph) {
  auto records = sound();
  DispatchRecord freeze;
  freeze.kind = Kind::freeze;
  freeze.rank = 1;
  records.insert(records.begin() + 6, freeze);
  EXPECT_TRUE(proof_of(records).holds());
  freeze.rank = 0;
  freeze.graph = 1;
  records.insert(records.begin() + 6, freeze);
  EXPECT_TRUE(proof_of(records).holds());
  freeze.graph = 0;
  records.insert(records.begin() + 6, freeze);
  expect_first(records, DispatchRule::frozen, 9, DispatchEnd::stopped);
}

TEST(DispatchProof, ARunThatPassedLeavesNothingUndone) {
  auto records = sound();
  records.pop_back();
  expect_first(records, DispatchRule::whole, 2);
  EXPECT_TRUE(proof_of(records, DispatchEnd::stopped).holds());
  records = sound();
  std::erase_if(records, [](const DispatchRecord& record) { return record.block == 1; });
  expect_first(records, DispatchRule::whole, 0);
}

TEST(DispatchProof, KeepsTheFirstFaultsAndCountsTheOthers) {
  std::vector<DispatchRecord> records;
  for (std::uint32_t i = 0; i < 50; ++i) records.push_back(record_of(Kind::hand_over, i, 0, 0, 1));
  const DispatchProof proof = proof_of(records, DispatchEnd::dropped);
  EXPECT_EQ(proof.faults.size(), 20U);
  EXPECT_EQ(proof.more_faults, 29U);
}

TEST(DispatchLog, KeepsTheFirstRecordsAndCountsTheOthers) {
  DispatchLog log(3);
  log.begin_graph();
  for (const DispatchRecord& record : sound()) log.add(record, "gemm");
  EXPECT_EQ(log.records().size(), 3U);
  EXPECT_EQ(log.dropped(), 9U);
  EXPECT_EQ(log.names()[log.records().front().name], "gemm");
}

TEST(DispatchLog, NumbersItsGraphs) {
  DispatchLog log;
  for (std::uint32_t graph = 0; graph < 3; ++graph) {
    log.begin_graph();
    log.freeze(1, 5);
    EXPECT_EQ(log.records().back().graph, graph);
  }
}

}  // namespace
}  // namespace heddle::lab
