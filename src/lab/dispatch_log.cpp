// SPDX-License-Identifier: Apache-2.0
#include "lab/dispatch_log.hpp"

#include <algorithm>

#include "chip/protocol.hpp"

namespace heddle::lab {

namespace {

constexpr std::size_t faults_most = 20;

}  // namespace

const char* name_of(DispatchRecord::Kind kind) noexcept {
  constexpr const char* names[dispatch_kinds] = {"hand_over", "begin", "finish", "freeze"};
  return names[static_cast<int>(kind)];
}

const char* name_of(DispatchRule rule) noexcept {
  constexpr const char* names[dispatch_rules] = {"once", "paired", "continuous", "handed", "alone", "frozen", "whole"};
  return names[static_cast<int>(rule)];
}

const char* help_of(DispatchRule rule) noexcept {
  constexpr const char* help[dispatch_rules] = {
      "no part of a block is handed over or begins twice",
      "the parts of a block go to one cluster, each to a core of its kind",
      "the tokens of a core follow each other",
      "what a core takes up was handed over to it, with that token",
      "a core runs one kernel at a time",
      "no kernel of a rank is taken up after the rank was stopped",
      "every block of a task that was begun is handed over and ends, if the run passed",
  };
  return help[static_cast<int>(rule)];
}

void DispatchLog::freeze(int rank, std::uint64_t time) {
  DispatchRecord record;
  record.kind = DispatchRecord::Kind::freeze;
  record.rank = rank;
  record.time = time;
  add(record, "");
}

bool DispatchProof::holds(DispatchRule rule) const {
  return std::none_of(faults.begin(), faults.end(), [&](const DispatchFault& fault) { return fault.rule == rule; });
}

void DispatchProver::add(const DispatchRecord& record) {
  switch (record.kind) {
    case DispatchRecord::Kind::hand_over:
      hand_over(record);
      break;
    case DispatchRecord::Kind::begin:
      begin(record);
      break;
    case DispatchRecord::Kind::finish:
      end(record);
      break;
    case DispatchRecord::Kind::freeze:
      proof_.freezes += frozen_.insert({record.rank, record.graph}).second ? 1 : 0;  // it may be told again
      break;
  }
  ++at_;
}

DispatchProof DispatchProver::finish(DispatchEnd end) {
  // What is missing at the end may be missing because of what broke before.
  if (end != DispatchEnd::dropped && proof_.holds()) look_at_blocks(end);
  proof_.cores = cores_.size();
  proof_.records = at_;
  std::sort(proof_.faults.begin(), proof_.faults.end(), [](const DispatchFault& left, const DispatchFault& right) {
    return std::tie(left.record, left.rule, left.what) < std::tie(right.record, right.rule, right.what);
  });
  return std::move(proof_);
}

std::string DispatchProver::words(const DispatchRecord& record) const {
  std::string text = "block " + std::to_string(record.block) + " of task \"" + names_[record.name] + "\" (number " +
                     std::to_string(record.task) + " of rank " + std::to_string(record.rank) + " in graph " +
                     std::to_string(record.graph) + ")";
  return record.parts > 1 ? "part " + std::to_string(record.part) + " of " + text : text;
}

std::string DispatchProver::core_words(const DispatchRecord& record) const {
  const std::uint32_t lane = record.core % lanes_;
  return "cluster " + std::to_string(record.core / lanes_) +
         (lane == 0 ? std::string(" cube") : " vector " + std::to_string(lane - 1));
}

void DispatchProver::fault(DispatchRule rule, std::uint64_t record, std::string what) {
  if (proof_.faults.size() < faults_most)
    proof_.faults.push_back({rule, record, std::move(what)});
  else
    ++proof_.more_faults;
}

void DispatchProver::hand_over(const DispatchRecord& record) {
  ++proof_.hand_overs;
  Task& task = tasks_[task_of(record)];
  if (task.blocks == 0) {
    task.blocks = record.blocks;
    task.first = record;
    task.number = at_;
  }
  if (record.blocks != task.blocks || record.parts != task.first.parts || record.cubes != task.first.cubes ||
      record.name != task.first.name)
    fault(DispatchRule::paired, at_, words(record) + " is of another task than the blocks before it with its number");
  Block& block = blocks_[block_of(record)];
  if (block.handed == 0) {
    block.parts = record.parts;
    block.cluster = record.core / lanes_;
    block.first = at_;
    ++task.handed;
  }
  if ((block.handed >> record.part & 1U) != 0)
    fault(DispatchRule::once, at_, words(record) + " is handed over a second time");
  block.handed |= 1U << record.part;
  place(record, block);
  Core& core = cores_[{record.rank, record.core}];
  if (record.token != chip::next_token(core.last_token))
    fault(DispatchRule::continuous, at_,
          words(record) + " has token " + std::to_string(record.token) + " after token " +
              std::to_string(core.last_token) + " on " + core_words(record));
  core.last_token = record.token;
  core.given[record.token] = {block_of(record), record.part};
}

void DispatchProver::place(const DispatchRecord& record, Block& block) {
  const std::uint32_t lane = record.core % lanes_;
  if (record.core / lanes_ != block.cluster)
    fault(DispatchRule::paired, at_,
          words(record) + " goes to " + core_words(record) + ", the part before it to cluster " +
              std::to_string(block.cluster));
  else if ((block.lanes >> lane & 1U) != 0)
    fault(DispatchRule::paired, at_, words(record) + " goes to the core of another part, " + core_words(record));
  else if ((record.part < record.cubes) != (lane == 0))
    fault(DispatchRule::paired, at_,
          words(record) + " is for a " + (lane == 0 ? "vector" : "cube") + " core and goes to " + core_words(record));
  block.lanes |= 1U << lane;
}

void DispatchProver::begin(const DispatchRecord& record) {
  ++proof_.begins;
  if (frozen_.contains({record.rank, record.graph}))
    fault(DispatchRule::frozen, at_, words(record) + " begins after its rank was stopped");
  Core& core = cores_[{record.rank, record.core}];
  if (core.running)
    fault(DispatchRule::alone, at_,
          words(record) + " begins on " + core_words(record) + " while token " + std::to_string(core.running->first) +
              " runs there");
  const Given given{block_of(record), record.part};
  const auto found = core.given.find(record.token);
  if (found == core.given.end() || found->second != given) {
    fault(DispatchRule::handed, at_,
          words(record) + " begins on " + core_words(record) + " with token " + std::to_string(record.token) +
              ", which was not handed over for it");
    return;
  }
  core.given.erase(core.given.begin(), std::next(found));  // a core takes its tokens in order
  core.running = {record.token, given};
  Block& block = blocks_[given.block];
  if ((block.begun >> record.part & 1U) != 0) fault(DispatchRule::once, at_, words(record) + " begins a second time");
  block.begun |= 1U << record.part;
}

void DispatchProver::end(const DispatchRecord& record) {
  ++proof_.finishes;
  Core& core = cores_[{record.rank, record.core}];
  const Given given{block_of(record), record.part};
  if (!core.running || core.running->first != record.token || core.running->second != given) {
    fault(DispatchRule::handed, at_,
          words(record) + " ends on " + core_words(record) + " with token " + std::to_string(record.token) +
              ", with which it does not run there");
    return;
  }
  core.running.reset();
  blocks_[given.block].finished |= 1U << record.part;
}

// Parts are handed over one after the other in one turn: a block has all of them.
void DispatchProver::look_at_blocks(DispatchEnd end) {
  for (const auto& [key, block] : blocks_) {
    const std::uint32_t all = (1U << block.parts) - 1;
    const auto& [graph, rank, number, index] = key;
    DispatchRecord record = tasks_[{graph, rank, number}].first;
    record.block = index;
    record.parts = 1;  // in words it is the block that is meant
    if (block.handed != all) {
      fault(DispatchRule::paired, block.first,
            "of " + words(record) + " not all of its " + std::to_string(block.parts) + " parts are handed over");
    } else if (end == DispatchEnd::passed && (block.begun != all || block.finished != all)) {
      fault(DispatchRule::whole, block.first,
            words(record) + (block.begun != all ? " never begins" : " never ends") + ", and the run passed");
    }
  }
  if (end != DispatchEnd::passed) return;
  for (const auto& [key, task] : tasks_)
    if (task.handed != task.blocks)
      fault(DispatchRule::whole, task.number,
            "of task \"" + names_[task.first.name] + "\" (number " + std::to_string(std::get<2>(key)) + " of rank " +
                std::to_string(std::get<1>(key)) + " in graph " + std::to_string(std::get<0>(key)) + ") " +
                std::to_string(task.handed) + " of " + std::to_string(task.blocks) +
                " blocks are handed over, and the run passed");
}

DispatchProof prove(const DispatchLog& log, std::uint32_t lanes, DispatchEnd end) {
  DispatchProver prover(lanes, log.names());
  for (const DispatchRecord& record : log.records()) prover.add(record);
  return prover.finish(end);
}

}  // namespace heddle::lab
