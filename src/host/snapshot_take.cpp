// SPDX-License-Identifier: Apache-2.0
#include "host/snapshot_take.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/text.hpp"
#include "host/json_file.hpp"
#include "host/snapshot_parts.hpp"
#include "host/snapshot_read.hpp"
#include "host/snapshot_tail.hpp"
#include "snapshot/json.hpp"

namespace heddle::host {

namespace {

constexpr std::size_t cores_most = 65'536;  // one of each worker for each rank

class Taker {
 public:
  Taker(HostEngine& engine, snapshot::Taken when, std::uint64_t began) : engine_(engine), began_(began) {
    made_.backend = "host";
    made_.taken = when;
    made_.time = base::HostEnvironment::now() - began;
  }

  snapshot::Snapshot take() {
    read_ = read_engine(engine_, made_);
    std::size_t tasks_in_all = 0;
    for (const ReadRank& rank : read_.ranks) tasks_in_all += rank.tasks.size();
    made_.tasks.reserve(tasks_in_all);
    made_.recorded = {"ranks", "tasks", "blocks", "rings", "scopes", "windows", "cells", "events"};
    for (std::size_t r = 0; r < read_.ranks.size(); ++r) {
      sort(read_.ranks[r]);
      blocks(static_cast<int>(r));
      tasks(static_cast<int>(r));
    }
    cores();
    engine_.windows().for_each([&](const heddle::detail::WindowTable& window) {
      made_.windows.push_back({window.name, static_cast<std::int64_t>(window.bytes)});
    });
    add_tail(made_, engine_, read_, began_);
    if (made_.taken != snapshot::Taken::standstill)
      made_.notes.push_back("taken while the workers went on: what blocks do is of a span of " +
                            std::to_string(read_.took_ns / 1'000) + " us");
    return std::move(made_);
  }

 private:
  snapshot::Wait wait_of(int rank, const ReadWait& read) {
    snapshot::Wait wait;
    wait.rank = rank;
    wait.has = read.has;
    wait.needs = read.needs;
    wait.compare = base::sign_of(read.compare);
    if (read.half) {
      fill_half(wait, *read.half);
      return wait;
    }
    const auto& window = *read.signal.window;
    const auto* const part = window.part[static_cast<std::size_t>(rank)];
    wait.window = window.name;
    wait.cell = (static_cast<const std::byte*>(read.signal.cell) - part) / (read.signal.wide ? 8 : 4);
    if (cells_.emplace(rank, wait.window, wait.cell).second) {
      snapshot::Cell& cell = made_.cells.emplace_back();
      cell.rank = rank;
      cell.window = wait.window;
      cell.cell = wait.cell;
      cell.value = wait.has;
    }
    return wait;
  }

  // Those that wait, and those on workers; a block that went on in between is told as what it does now.
  void blocks(int rank) {
    const ReadRank& read = read_.ranks[static_cast<std::size_t>(rank)];
    begun_.clear();
    conditions_.clear();
    std::map<std::pair<std::uint32_t, std::int64_t>, snapshot::Block> made;
    for (const ReadWait& each : read.waits) {
      snapshot::Wait wait = wait_of(rank, each);
      if (each.deferred) {
        conditions_[each.task].push_back(std::move(wait));
        continue;
      }
      snapshot::Block& block = made[{each.task, each.index}];
      block.state = snapshot::BlockState::waiting;
      block.off_core = true;
      block.source = wait.source.known() ? wait.source : source_of(each.submitted);
      block.wait = std::move(wait);
      block.part = part_of(each.index, each.parts);
      block.block = block_of(each.index, each.parts);
    }
    for (const ReadBlock& each : read.blocks) {
      snapshot::Block block;
      block.state = snapshot::BlockState::running;
      block.worker = block.core = each.worker;
      block.source = source_of(each.submitted);
      block.part = part_of(each.index, each.parts);
      block.block = block_of(each.index, each.parts);
      made[{each.task, each.index}] = std::move(block);
    }
    for (auto& [key, block] : made) {
      if (!is_live(read, key.first)) continue;
      ++begun_[key.first];
      block.rank = rank;
      block.task = key.first;
      made_.blocks.push_back(std::move(block));
    }
    for (auto& [task, of] : conditions_) sort_conditions(of);
  }

  static void sort(ReadRank& read) {
    std::sort(read.tasks.begin(), read.tasks.end(),
              [](const auto& left, const auto& right) { return left.number < right.number; });
    std::sort(read.edges.begin(), read.edges.end(), [](const auto& left, const auto& right) {
      return std::pair(left.consumer, left.producer) < std::pair(right.consumer, right.producer);
    });
  }
  static bool is_live(const ReadRank& read, std::uint32_t number) {
    const auto found =
        std::lower_bound(read.tasks.begin(), read.tasks.end(), number,
                         [](const ReadTask& task, std::uint32_t wanted) { return task.number < wanted; });
    return found != read.tasks.end() && found->number == number && !found->is_complete;
  }

  void tasks(int rank) {
    const ReadRank& read = read_.ranks[static_cast<std::size_t>(rank)];
    auto edge = read.edges.begin();
    for (const ReadTask& of : read.tasks) {
      snapshot::Task& task = made_.tasks.emplace_back();
      task.rank = rank;
      task.task = of.number;
      task.name = of.name;
      task.source = source_of(of.location);
      task.ring = static_cast<int>(of.ring);
      task.round = engine_.rank(rank).round();
      task.cubes = of.cores.cubes;
      task.vectors = of.cores.vectors;
      task.blocks = of.parts;
      auto& producers = task.producers.emplace();
      while (edge != read.edges.end() && edge->consumer < of.number) ++edge;
      for (; edge != read.edges.end() && edge->consumer == of.number; ++edge)
        producers.push_back({rank, edge->producer});
      progress(task, of);
    }
  }
  void progress(snapshot::Task& task, const ReadTask& of) {
    const auto conditions = conditions_.find(of.number);
    const bool is_waiting = conditions != conditions_.end() && !of.is_complete;
    if (is_waiting) task.conditions = std::move(conditions->second);
    const auto found = begun_.find(of.number);
    const std::int64_t on_way = found == begun_.end() ? 0 : found->second;
    const bool counts = of.parts > 1 && of.left <= of.parts;
    task.ended = of.is_complete || is_waiting ? of.parts : counts ? of.parts - of.left : 0;
    task.begun = std::min<std::int64_t>(of.parts, task.ended + on_way);
    task.state = of.is_complete    ? snapshot::TaskState::complete
                 : is_waiting      ? snapshot::TaskState::waiting
                 : task.begun != 0 ? snapshot::TaskState::running
                 : of.is_ready     ? snapshot::TaskState::ready
                                   : snapshot::TaskState::submitted;
  }

  // Any worker serves any rank: each rank has all of them.
  void cores() {
    if (read_.ranks.size() * read_.workers.size() > cores_most) {
      made_.notes.emplace_back("what each worker does is not listed: there are too many of them");
      return;
    }
    made_.recorded.emplace_back("cores");
    std::set<std::pair<int, std::int64_t>> listed;
    for (const snapshot::Block& block : made_.blocks)
      if (block.worker >= 0) listed.emplace(block.rank, block.worker);
    for (int r = 0; r < engine_.ranks(); ++r) {
      for (std::size_t w = 0; w < read_.workers.size(); ++w) {
        const ReadWorker& worker = read_.workers[w];
        snapshot::Core& core = made_.cores.emplace_back();
        core.rank = r;
        core.core = static_cast<std::int64_t>(w);
        core.name = "worker " + std::to_string(w);
        core.state = worker.rank >= 0 ? snapshot::CoreState::running : snapshot::CoreState::idle;
        if (worker.block && worker.rank == r && listed.contains({r, core.core})) {
          const ReadBlock& block = *worker.block;
          core.running = {block.task, block_of(block.index, block.parts), part_of(block.index, block.parts), -1};
        }
      }
    }
  }

  HostEngine& engine_;
  std::uint64_t began_;
  ReadEngine read_;
  snapshot::Snapshot made_;
  std::set<std::tuple<int, std::string, std::int64_t>> cells_;
  // Of the rank at hand, by task.
  std::map<std::uint32_t, std::int64_t> begun_;  // parts that have not ended
  std::map<std::uint32_t, std::vector<snapshot::Wait>> conditions_;
};

}  // namespace

snapshot::Snapshot take_snapshot(HostEngine& engine, snapshot::Taken when, std::uint64_t began) {
  return Taker(engine, when, began).take();
}

void add_workers(snapshot::Snapshot& snapshot, const std::vector<WorkerRecord>& workers) {
  const auto of = [&](std::int64_t worker) -> const WorkerRecord* {
    return worker >= 0 && static_cast<std::size_t>(worker) < workers.size() ? &workers[static_cast<std::size_t>(worker)]
                                                                            : nullptr;
  };
  for (snapshot::Block& block : snapshot.blocks) {
    const WorkerRecord* const record = of(block.worker);
    if (record == nullptr || record->rank != block.rank || record->block != block.block) continue;
    if (record->at.file != nullptr) block.source = source_of(record->at);
    if (!record->stuck) continue;
    for (snapshot::Core& core : snapshot.cores)
      if (core.rank == block.rank && core.core == block.worker) core.state = snapshot::CoreState::dead;
  }
  for (const WorkerRecord& record : workers) {
    if (record.state != WorkerRecord::State::program || record.at.file == nullptr) continue;
    for (snapshot::Rank& rank : snapshot.ranks)
      if (rank.rank == record.rank && !rank.source.known()) rank.source = source_of(record.at);
  }
}

void write_snapshot(const std::string& path, const snapshot::Snapshot& snapshot) {
  JsonFile file(path);
  file.raw(snapshot::to_json(snapshot));
  file.close();
}

}  // namespace heddle::host
