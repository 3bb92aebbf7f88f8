// SPDX-License-Identifier: Apache-2.0
#include "doctor/state.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/text.hpp"
#include "doctor/why.hpp"
#include "snapshot/fields.hpp"

namespace heddle::doctor {

using snapshot::BlockState;
using snapshot::ChangeKind;
using snapshot::CoreState;
using snapshot::ProgramWait;
using snapshot::RankState;
using snapshot::TaskState;

namespace {

std::string words(std::string_view word) {
  std::string text(word);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

// "0-3, 5".
std::string ranges(std::vector<std::int64_t> numbers) {
  std::sort(numbers.begin(), numbers.end());
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (!text.empty()) text += ", ";
    text += std::to_string(numbers[i]);
    if (last > i) text += (last == i + 1 ? ", " : "-") + std::to_string(numbers[last]);
    i = last + 1;
  }
  return text;
}

std::string name_of_task(const Situation& situation, int rank, std::int64_t task) {
  const std::uint32_t found = situation.task(rank, task);
  return found == Situation::none || situation.all().tasks[found].name.empty() ? "a task"
                                                                               : situation.all().tasks[found].name;
}

std::string what_is_waited_for(const snapshot::Wait& wait) {
  return wait.kind == snapshot::WaitKind::flag ? "flag " + std::to_string(wait.cell) : quoted(wait.window);
}

// What each rank's blocks and conditions wait for, without the numbers in which ranks differ.
std::map<int, std::set<std::string>> waits_by_rank(const Situation& situation) {
  std::map<int, std::set<std::string>> waits;
  for (const snapshot::Block& block : situation.all().blocks) {
    if (block.state == BlockState::waiting && block.wait)
      waits[block.rank].insert(name_of_task(situation, block.rank, block.task) + " waits for " +
                               what_is_waited_for(*block.wait));
  }
  for (const snapshot::Task& task : situation.all().tasks)
    for (const snapshot::Wait& wait : task.conditions)
      waits[task.rank].insert(task.name + " completes with " + what_is_waited_for(wait));
  return waits;
}

void classes_of_ranks(const Situation& situation, std::vector<StateClass>& classes) {
  const auto waits = waits_by_rank(situation);
  std::map<std::string, StateClass> found;
  std::map<std::string, std::vector<std::int64_t>> numbers;
  for (const snapshot::Rank& rank : situation.all().ranks) {
    std::string state = words(word_of(rank.state));
    if (rank.state == RankState::unknown) state = "in a state that was not recorded";
    if (rank.round >= 0) state += ", round " + std::to_string(rank.round);
    if (rank.waits_for == ProgramWait::ring || rank.waits_for == ProgramWait::region_map ||
        rank.waits_for == ProgramWait::value)
      state += "; its program " + program_wait(rank);
    if (const auto of = waits.find(rank.rank); of != waits.end()) {
      std::size_t told = 0;
      for (const std::string& wait : of->second) state += (told++ == 0 ? "; " : ", ") + wait;
    }
    StateClass& same = found[state];
    same.of = Party::Kind::program;
    same.state = state;
    same.members.push_back(situation.program(rank.rank));
    numbers[state].push_back(rank.rank);
  }
  for (auto& [state, same] : found) {
    same.text = (same.members.size() == 1 ? "rank " : "ranks ") + ranges(numbers[state]);
    classes.push_back(std::move(same));
  }
}

std::string state_of(const Situation& situation, const snapshot::Core& core) {
  if (core.state == CoreState::unknown) return "in a state that was not recorded";
  std::string state = words(word_of(core.state));
  if (core.state == CoreState::finish_withheld) state = "finished, pending task not taken up";
  if (core.running) {
    state += core.state == CoreState::running ? " " : ", with ";
    state += name_of_task(situation, core.rank, core.running->task);
    const std::uint32_t block = situation.block(core.rank, core.running->task, core.running->block, core.running->part);
    if (block != Situation::none && situation.all().blocks[block].state == BlockState::waiting)
      state += ", which waits";
  }
  if (core.pending) state += "; pending " + name_of_task(situation, core.rank, core.pending->task);
  return state;
}

void classes_of_cores(const Situation& situation, std::vector<StateClass>& classes) {
  std::map<std::string, StateClass> found;
  std::map<std::string, std::map<int, std::int64_t>> numbers;
  for (std::uint32_t i = 0; i < situation.all().cores.size(); ++i) {
    const snapshot::Core& core = situation.all().cores[i];
    const std::string state = state_of(situation, core);
    StateClass& same = found[state];
    same.of = Party::Kind::core;
    same.state = state;
    same.members.push_back(situation.of_core(i));
    ++numbers[state][core.rank];
  }
  for (auto& [state, same] : found) {
    // Ranks with as many of them stand together.
    std::map<std::int64_t, std::vector<std::int64_t>> ranks;
    for (const auto& [rank, count] : numbers[state]) ranks[count].push_back(rank);
    for (const auto& [count, of] : ranks) {
      if (!same.text.empty()) same.text += "; ";
      same.text += base::counted(count, "core") + (of.size() == 1 ? " of rank " : " of each of ranks ") + ranges(of);
    }
    if (same.members.size() == 1) same.text = same.members.front().text;
    classes.push_back(std::move(same));
  }
}

void odd_cores(const Situation& situation, std::vector<Anomaly>& odd) {
  for (std::uint32_t i = 0; i < situation.all().cores.size(); ++i) {
    const snapshot::Core& core = situation.all().cores[i];
    const Party who = situation.of_core(i);
    if (core.state == CoreState::dead)
      odd.push_back({who, who.text + " does nothing with what it was given any more"});
    else if (core.state == CoreState::dispatched && situation.is_final())
      odd.push_back({who, who.text + " was given a task, and was not seen to take it up"});
    if (core.withheld > 0)
      odd.push_back({who, who.text + " ended a task, and did not take up the pending one in time, " +
                              base::counted(core.withheld, "time")});
    if (const std::int64_t other = core.anomalies - std::max<std::int64_t>(core.withheld, 0); other > 0)
      odd.push_back({who, who.text + " told " + base::counted(other, "status") + " that nothing explains"});
  }
}

// A cell whose whole history is there has the value that it makes.
void odd_cells(const Situation& situation, std::vector<Anomaly>& odd) {
  for (const snapshot::Cell& cell : situation.all().cells) {
    const Party who = situation.of_cell(cell.rank, cell.window, cell.cell);
    for (const snapshot::Change& change : cell.history) {
      if (change.lost)
        odd.push_back({who, "a notify of " + who.text + " by " + (change.name.empty() ? "a task" : change.name) +
                                " (rank " + std::to_string(change.rank) + ") was lost"});
    }
    if (cell.older != 0 || !cell.value) continue;
    std::int64_t value = 0;
    bool is_known = true;
    std::vector<const snapshot::Change*> arrived;
    for (const snapshot::Change& change : cell.history)
      if (change.arrived && !change.lost) arrived.push_back(&change);
    // By time; of those at the same one, as they stand in the history.
    std::sort(arrived.begin(), arrived.end(), [](const auto* left, const auto* right) {
      return *left->arrived != *right->arrived ? *left->arrived < *right->arrived : left < right;
    });
    for (const snapshot::Change* change : arrived) {
      if (!change->value && change->kind != ChangeKind::reset) is_known = false;
      const std::int64_t by = change->value.value_or(0);
      // Wraps as the cell does.
      value = change->op == "add"
                  ? static_cast<std::int64_t>(static_cast<std::uint64_t>(value) + static_cast<std::uint64_t>(by))
                  : by;
    }
    if (is_known && value != *cell.value)
      odd.push_back({who, who.text + " is " + std::to_string(*cell.value) + ", and what arrived makes it " +
                              std::to_string(value)});
  }
}

}  // namespace

std::vector<StateClass> classes_of(const Situation& situation) {
  std::vector<StateClass> classes;
  classes_of_ranks(situation, classes);
  classes_of_cores(situation, classes);
  return classes;
}

std::vector<Anomaly> anomalies_of(const Situation& situation) {
  std::vector<Anomaly> odd;
  for (const snapshot::Fault& fault : situation.all().faults) {
    Party who;
    who.kind = Party::Kind::fault;
    who.rank = fault.rank;
    who.name = fault.name;
    who.text = fault.name;
    odd.push_back({who, "put in on purpose: " + (fault.where.empty() ? fault.name : fault.where)});
  }
  odd_cores(situation, odd);
  odd_cells(situation, odd);
  for (const snapshot::Flag& flag : situation.all().flags) {
    if (flag.count <= 0) continue;
    Party who;
    who.rank = flag.rank;
    who.text = "flag " + std::to_string(flag.flag) + " of cluster " + std::to_string(flag.cluster) + " on rank " +
               std::to_string(flag.rank);
    odd.push_back({who, who.text + " stands at " + std::to_string(flag.count) +
                            (flag.side.empty() ? "" : ", for the " + flag.side)});
  }
  return odd;
}

std::uint32_t never_handed_out(const WaitModel& model, const WaitAnalysis& analysis) {
  const Situation& situation = model.situation;
  if (!situation.is_final() || !situation.all().has("cores")) return Situation::none;
  std::set<int> holding;  // ranks of which a core is held by a wait, or does not do its work
  for (const snapshot::Block& block : situation.all().blocks)
    if (situation.holds_core(block) && block.state == BlockState::waiting) holding.insert(block.rank);
  for (const snapshot::Core& core : situation.all().cores)
    if (core.state == CoreState::dead) holding.insert(core.rank);
  for (std::uint32_t i = 0; i < situation.all().tasks.size(); ++i) {
    const snapshot::Task& task = situation.all().tasks[i];
    if (task.state == TaskState::ready && task.begun <= 0 && !holding.contains(task.rank) &&
        analysis.goes_on[model.start[i]] != 0)
      return i;
  }
  return Situation::none;
}

}  // namespace heddle::doctor
