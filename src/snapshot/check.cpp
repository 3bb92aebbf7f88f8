// SPDX-License-Identifier: Apache-2.0
//
// Whether what a snapshot refers to is there, once, and in an order that can be.
#include <fmt/format.h>

#include <algorithm>
#include <heddle/error.hpp>
#include <tuple>
#include <utility>

#include "base/text.hpp"
#include "snapshot/cut.hpp"
#include "snapshot/json.hpp"

namespace heddle::snapshot {
namespace {

[[noreturn]] void refuse_at(const std::string& where, const std::string& why) {
  detail::throw_invalid(where + ": " + why);
}

std::string at(const char* list, std::size_t index, const char* field = nullptr) {
  return field == nullptr ? fmt::format("/{}/{}", list, index) : fmt::format("/{}/{}/{}", list, index, field);
}

// The records of a list by their keys.
template <class Key>
class Index {
 public:
  void add(Key key, std::size_t index) { all_.emplace_back(std::move(key), index); }
  // Throws when a key stands there twice.
  template <class Say>
  void close(Say&& say) {
    std::sort(all_.begin(), all_.end());
    for (std::size_t i = 1; i < all_.size(); ++i)
      if (all_[i].first == all_[i - 1].first) say(all_[i].second, all_[i - 1].second);
  }
  bool has(const Key& key) const { return find(key) != npos; }
  std::size_t find(const Key& key) const {
    const auto found =
        std::lower_bound(all_.begin(), all_.end(), key, [](const auto& each, const Key& k) { return each.first < k; });
    return found == all_.end() || found->first != key ? npos : found->second;
  }
  static constexpr std::size_t npos = SIZE_MAX;

 private:
  std::vector<std::pair<Key, std::size_t>> all_;
};

class Check {
 public:
  Check(Snapshot& snapshot, bool is_partial) : all_(snapshot), is_partial_(is_partial) {}

  void run() {
    index();
    places();
    tasks();
    order_of_tasks();
    blocks();
    cores();
    cells();
    for (std::size_t i = 0; i < all_.ranks.size(); ++i)
      task_of(at("ranks", i, "holder"), all_.ranks[i].rank, all_.ranks[i].holder);
    for (std::size_t i = 0; i < all_.rings.size(); ++i)
      task_of(at("rings", i, "oldest"), all_.rings[i].rank, all_.rings[i].oldest);
    for (std::size_t i = 0; i < all_.scopes.size(); ++i)
      task_of(at("scopes", i, "first"), all_.scopes[i].rank, all_.scopes[i].first);
    for (std::size_t i = 0; i < all_.queues.size(); ++i)
      for (std::size_t k = 0; k < all_.queues[i].entries.size(); ++k)
        task_of(fmt::format("{}/{}/task", at("queues", i, "entries"), k), all_.queues[i].rank,
                all_.queues[i].entries[k].task);
    if (dropped_ != 0)
      all_.notes.push_back(fmt::format("{} that the missing part would explain {} left out",
                                       base::counted(static_cast<std::int64_t>(dropped_), "reference"),
                                       dropped_ == 1 ? "is" : "are"));
  }

 private:
  void index() {
    add("ranks", all_.ranks, ranks_, [](const Rank& rank) { return rank.rank; });
    add("tasks", all_.tasks, tasks_, [](const Task& task) { return TaskRef{task.rank, task.task}; });
    add("cores", all_.cores, cores_, [](const Core& core) { return std::pair(core.rank, core.core); });
    Index<std::tuple<int, std::int64_t, std::int64_t, int>> blocks;
    add("blocks", all_.blocks, blocks,
        [](const Block& block) { return std::tuple(block.rank, block.task, block.block, block.part); });
    Index<std::pair<int, int>> rings;
    add("rings", all_.rings, rings, [](const Ring& ring) { return std::pair(ring.rank, ring.ring); });
    Index<std::tuple<int, std::string, std::int64_t>> cells;
    add("cells", all_.cells, cells, [](const Cell& cell) { return std::tuple(cell.rank, cell.window, cell.cell); });
  }
  template <class Record, class Key, class KeyOf>
  void add(const char* name, const std::vector<Record>& records, Index<Key>& index, KeyOf key_of) {
    for (std::size_t i = 0; i < records.size(); ++i) index.add(key_of(records[i]), i);
    index.close([&](std::size_t second, std::size_t first) {
      refuse_at(at(name, second), fmt::format("the same as {}: each is to stand there once", at(name, first)));
    });
  }

  // Every record that belongs to a rank names one that is there.
  void places() {
    const auto each = [&](const char* name, const auto& records) {
      for (std::size_t i = 0; i < records.size(); ++i) rank_of(at(name, i, "rank"), records[i].rank, true);
    };
    each("ranks", all_.ranks);
    each("tasks", all_.tasks);
    each("blocks", all_.blocks);
    each("cores", all_.cores);
    each("flags", all_.flags);
    each("queues", all_.queues);
    each("rings", all_.rings);
    each("scopes", all_.scopes);
    each("cells", all_.cells);
    for (std::size_t i = 0; i < all_.events.size(); ++i) rank_of(at("events", i, "rank"), all_.events[i].rank, false);
  }
  void rank_of(const std::string& where, int rank, bool is_needed) {
    if (rank < 0) {
      if (is_needed) refuse_at(where, "it is missing: whose record is this?");
      return;
    }
    if (all_.ranks.empty() || is_partial_ || ranks_.has(rank)) return;
    refuse_at(where, fmt::format("there is no rank {} in /ranks", rank));
  }
  // A task of this rank, or none.
  void task_of(const std::string& where, int rank, std::int64_t& task) {
    if (task < 0 || tasks_.has({rank, task})) return;
    if (all_.tasks.empty() && !all_.has("tasks")) return;  // none was recorded
    if (!is_partial_) refuse_at(where, fmt::format("there is no task {} of rank {} in /tasks", task, rank));
    task = -1;
    ++dropped_;
  }
  void task_refs(const std::string& where, std::vector<TaskRef>& refs) {
    for (std::size_t i = 0; i < refs.size(); ++i) {
      const std::string place = fmt::format("{}/{}", where, i);
      if (refs[i].rank < 0 || refs[i].task < 0) refuse_at(place, "a rank and a task are expected");
      task_of(place, refs[i].rank, refs[i].task);
    }
    std::erase_if(refs, [](const TaskRef& ref) { return ref.task < 0; });
  }
  void wait(const std::string& where, Wait& wait, int rank) {
    if (wait.rank < 0) wait.rank = rank;
    rank_of(where + "/rank", wait.rank, true);
    static constexpr std::pair<std::string_view, std::string_view> words[] = {{"eq", "=="}, {"ne", "!="}, {"ge", ">="},
                                                                              {"gt", ">"},  {"le", "<="}, {"lt", "<"}};
    if (wait.compare.empty()) return;
    for (const auto& [word, sign] : words) {
      if (wait.compare == word) wait.compare = sign;
      if (wait.compare == sign) return;
    }
    refuse_at(where + "/compare",
              base::quoted(cut(wait.compare, message_bytes_most)) + " is no comparison; there are == != >= > <= <");
  }

  void tasks() {
    for (std::size_t i = 0; i < all_.tasks.size(); ++i) {
      Task& task = all_.tasks[i];
      if (task.task < 0) refuse_at(at("tasks", i, "task"), "it is missing: tasks are told apart by it");
      if (task.producers) task_refs(at("tasks", i, "producers"), *task.producers);
      for (std::size_t k = 0; k < task.conditions.size(); ++k)
        wait(fmt::format("{}/{}", at("tasks", i, "conditions"), k), task.conditions[k], task.rank);
    }
  }

  // No task is a producer of its own producers.
  void order_of_tasks() {
    std::vector<std::uint32_t> left(all_.tasks.size(), 0), ready;
    std::vector<std::vector<std::uint32_t>> consumers(all_.tasks.size());
    for (std::uint32_t i = 0; i < all_.tasks.size(); ++i) {
      if (!all_.tasks[i].producers) continue;
      for (const TaskRef& producer : *all_.tasks[i].producers) consumers[tasks_.find(producer)].push_back(i);
      left[i] = static_cast<std::uint32_t>(all_.tasks[i].producers->size());
    }
    for (std::uint32_t i = 0; i < left.size(); ++i)
      if (left[i] == 0) ready.push_back(i);
    for (std::size_t next = 0; next < ready.size(); ++next)
      for (const std::uint32_t consumer : consumers[ready[next]])
        if (--left[consumer] == 0) ready.push_back(consumer);
    if (ready.size() == left.size()) return;
    const auto first = static_cast<std::size_t>(
        std::find_if(left.begin(), left.end(), [](std::uint32_t count) { return count != 0; }) - left.begin());
    refuse_at(at("tasks", first, "producers"), "these tasks are producers of each other, in a circle");
  }

  void blocks() {
    for (std::size_t i = 0; i < all_.blocks.size(); ++i) {
      Block& block = all_.blocks[i];
      task_of(at("blocks", i, "task"), block.rank, block.task);
      if (block.wait) wait(at("blocks", i, "wait"), *block.wait, block.rank);
      if (block.core < 0 || !all_.has("cores") || cores_.has({block.rank, block.core})) continue;
      if (!is_partial_)
        refuse_at(at("blocks", i, "core"),
                  fmt::format("there is no core {} of rank {} in /cores", block.core, block.rank));
      block.core = -1;
      ++dropped_;
    }
  }

  void cores() {
    for (std::size_t i = 0; i < all_.cores.size(); ++i) {
      Core& core = all_.cores[i];
      if (core.running) task_of(at("cores", i, "running/task"), core.rank, core.running->task);
      if (core.pending) task_of(at("cores", i, "pending/task"), core.rank, core.pending->task);
    }
  }

  void cells() {
    for (std::size_t i = 0; i < all_.cells.size(); ++i) {
      Cell& cell = all_.cells[i];
      if (cell.notifiers) task_refs(at("cells", i, "notifiers"), *cell.notifiers);
      for (std::size_t k = 0; k < cell.history.size(); ++k)
        rank_of(fmt::format("{}/{}/rank", at("cells", i, "history"), k), cell.history[k].rank, false);
    }
  }

  Snapshot& all_;
  bool is_partial_;
  Index<int> ranks_;
  Index<TaskRef> tasks_;
  Index<std::pair<int, std::int64_t>> cores_;
  std::uint64_t dropped_ = 0;
};

}  // namespace

void check_references(Snapshot& snapshot, bool is_partial) { Check(snapshot, is_partial).run(); }

}  // namespace heddle::snapshot
