// SPDX-License-Identifier: Apache-2.0
#include "doctor/situation.hpp"

#include <algorithm>
#include <limits>

#include "base/text.hpp"

namespace heddle::doctor {

using snapshot::RankState;
using snapshot::TaskState;

namespace {

template <class Index, class Key>
std::uint32_t find(const Index& index, const Key& key) {
  const auto found =
      std::lower_bound(index.begin(), index.end(), key, [](const auto& each, const Key& k) { return each.first < k; });
  return found == index.end() || found->first != key ? Situation::none : found->second;
}

// [first, last) of those whose key begins so.
template <class Index, class Key, class Begin>
std::pair<std::uint32_t, std::uint32_t> range(const Index& index, const Key& key, Begin begin_of) {
  const auto [first, last] =
      std::ranges::equal_range(index, key, {}, [&](const auto& each) { return begin_of(each.first); });
  return {static_cast<std::uint32_t>(first - index.begin()), static_cast<std::uint32_t>(last - index.begin())};
}

template <class Records, class Index, class KeyOf>
void fill(const Records& records, Index& index, KeyOf key_of) {
  index.reserve(records.size());
  for (std::uint32_t i = 0; i < records.size(); ++i) index.emplace_back(key_of(records[i]), i);
  std::sort(index.begin(), index.end());
}

std::string number(std::int64_t value) { return value < 0 ? "?" : std::to_string(value); }

}  // namespace

std::string quoted(const std::string& text) { return base::quoted(text); }

Situation::Situation(const snapshot::Snapshot& snapshot) : all_(snapshot) {
  fill(all_.ranks, ranks_, [](const auto& each) { return each.rank; });
  fill(all_.tasks, tasks_, [](const auto& each) { return std::pair(each.rank, each.task); });
  fill(all_.cores, cores_, [](const auto& each) { return std::pair(each.rank, each.core); });
  fill(all_.cells, cells_, [](const auto& each) { return std::tuple(each.rank, each.window, each.cell); });
  fill(all_.blocks, by_block_,
       [](const auto& each) { return std::tuple(each.rank, each.task, each.block, each.part); });
  blocks_.reserve(by_block_.size());
  for (const auto& [key, index] : by_block_) blocks_.push_back(index);
}

std::uint32_t Situation::rank(int rank) const { return find(ranks_, rank); }
std::uint32_t Situation::task(int rank, std::int64_t task) const { return find(tasks_, std::pair(rank, task)); }
std::uint32_t Situation::core(int rank, std::int64_t core) const { return find(cores_, std::pair(rank, core)); }
std::uint32_t Situation::cell(int rank, const std::string& window, std::int64_t cell) const {
  return find(cells_, std::tuple(rank, window, cell));
}

std::pair<std::uint32_t, std::uint32_t> Situation::blocks_of(std::uint32_t task) const {
  const snapshot::Task& of = all_.tasks[task];
  return range(by_block_, std::pair(of.rank, of.task),
               [](const auto& key) { return std::pair(std::get<0>(key), std::get<1>(key)); });
}

std::pair<std::uint32_t, std::uint32_t> Situation::parts_of(const snapshot::Block& block) const {
  return range(by_block_, std::tuple(block.rank, block.task, block.block),
               [](const auto& key) { return std::tuple(std::get<0>(key), std::get<1>(key), std::get<2>(key)); });
}

std::uint32_t Situation::block(int rank, std::int64_t task, std::int64_t block, int part) const {
  return find(by_block_, std::tuple(rank, task, block, part));
}

bool Situation::is_lost(int rank) const {
  const std::uint32_t found = this->rank(rank);
  if (found == none) return false;
  return all_.ranks[found].state == RankState::dead || all_.ranks[found].state == RankState::failed;
}

bool Situation::is_over(const snapshot::Task& task) const { return task.state == TaskState::complete; }

bool Situation::holds_core(const snapshot::Block& block) const { return block.core >= 0 && !block.off_core; }

std::int64_t Situation::round_of(int rank) const {
  const std::uint32_t found = this->rank(rank);
  return found == none ? -1 : all_.ranks[found].round;
}

Party Situation::program(int rank) const {
  Party party;
  party.kind = Party::Kind::program;
  party.rank = rank;
  party.id = "r" + std::to_string(rank);
  party.text = "the program of rank " + std::to_string(rank);
  if (const std::uint32_t found = this->rank(rank); found != none) party.source = all_.ranks[found].source;
  return party;
}

Party Situation::of_task(std::uint32_t task) const {
  const snapshot::Task& of = all_.tasks[task];
  Party party;
  party.kind = Party::Kind::task;
  party.rank = of.rank;
  party.task = of.task;
  party.name = of.name;
  party.source = of.source;
  party.id = "r" + std::to_string(of.rank) + ".t" + std::to_string(of.task);
  party.text = (of.name.empty() ? "a task" : of.name) + " (rank " + std::to_string(of.rank) + ", task " +
               std::to_string(of.task) + ")";
  return party;
}

Party Situation::of_block(std::uint32_t block) const {
  const snapshot::Block& of = all_.blocks[block];
  const std::uint32_t task = this->task(of.rank, of.task);
  Party party;
  if (task != none) {
    party = of_task(task);
  } else {
    party.rank = of.rank;
    party.task = of.task;
    party.id = "r" + std::to_string(of.rank) + ".t" + number(of.task);
    party.text = "task " + number(of.task) + " of rank " + std::to_string(of.rank);
  }
  party.kind = Party::Kind::block;
  party.block = of.block;
  party.core = of.core;
  if (of.source.known()) party.source = of.source;
  party.id += ".b" + number(of.block);
  party.text += " block " + number(of.block);
  if (of.part < 0) return party;
  party.id += ".p" + std::to_string(of.part);
  party.text += " part " + std::to_string(of.part);
  return party;
}

std::string Situation::core_name(int rank, std::int64_t core) const {
  const std::string of = "rank " + std::to_string(rank) + " ";
  const std::uint32_t found = this->core(rank, core);
  return of + (found == none || all_.cores[found].name.empty() ? "core " + number(core) : all_.cores[found].name);
}

Party Situation::of_core(std::uint32_t core) const {
  const snapshot::Core& of = all_.cores[core];
  Party party;
  party.kind = Party::Kind::core;
  party.rank = of.rank;
  party.core = of.core;
  party.name = of.name;
  party.id = "r" + std::to_string(of.rank) + ".c" + number(of.core);
  party.text = core_name(of.rank, of.core);
  return party;
}

Party Situation::of_cell(int rank, const std::string& window, std::int64_t cell) const {
  Party party;
  party.kind = Party::Kind::cell;
  party.rank = rank;
  party.cell = cell;
  party.name = window;
  party.id = "r" + std::to_string(rank) + ".w." + window + "." + number(cell);
  party.text = "cell " + number(cell) + " of " + quoted(window) + " on rank " + std::to_string(rank);
  return party;
}

Party Situation::of_ring(int rank, int ring) const {
  Party party;
  party.kind = Party::Kind::ring;
  party.rank = rank;
  party.ring = ring;
  party.id = "r" + std::to_string(rank) + ".g" + number(ring);
  party.text = "ring " + number(ring) + " of rank " + std::to_string(rank);
  return party;
}

std::string Situation::cell_of(const snapshot::Wait& wait) const {
  if (wait.kind == snapshot::WaitKind::flag)
    return (wait.window.empty() ? "flag " + number(wait.cell) : wait.window) + " of cluster " + number(wait.cluster) +
           " on rank " + std::to_string(wait.rank);
  return of_cell(wait.rank, wait.window, wait.cell).text;
}

std::string Situation::condition(const snapshot::Wait& wait) const {
  std::string text = cell_of(wait);
  if (wait.needs) {
    text += " is " + (wait.compare.empty() ? "" : wait.compare + " ") + std::to_string(*wait.needs);
  } else {
    text += " is what it waits for";
  }
  return text + (wait.has ? "; it is " + std::to_string(*wait.has) : "; what it is was not recorded");
}

}  // namespace heddle::doctor
