// SPDX-License-Identifier: Apache-2.0
#include "lab/checkers/flags.hpp"

#include "window/half_wait.hpp"

namespace heddle::lab::checkers {

namespace {

std::string times(std::uint32_t count) { return std::to_string(count) + (count == 1 ? " time" : " times"); }

std::string last_at(std::uint32_t count, const Location& where) {
  return count == 0 ? "" : ", last at " + where.text();
}

}  // namespace

void Flags::round_begins() {
  cores_.clear();
  running_.clear();
}

void Flags::submitted(TaskIndex, const TaskFacts& facts) { cores_.push_back(facts.cores); }

void Flags::half(BlockIndex index, const HalfEvent& event) {
  const TaskIndex task = context_.order.block(index).task;
  const auto parts = static_cast<std::uint32_t>(cores_[task].count());
  const std::uint32_t block = context_.order.block_number(index) / parts;
  Halves& halves = running_[{task, block}];
  if (event.kind == HalfEvent::Kind::ended) {
    if (++halves.ended != parts) return;
    compare(task, block, halves);
    running_.erase({task, block});
    return;
  }
  Count& count = halves.counts[{event.part, event.from_cube, event.tile, event.tile ? 0 : event.flag}];
  count.cluster = event.cluster;
  if (event.kind == HalfEvent::Kind::gave) {
    ++count.gave;
    count.gave_at = event.location;
  } else {
    ++count.took;
    count.took_at = event.location;
  }
}

void Flags::compare(TaskIndex task, std::uint32_t block, const Halves& halves) {
  for (const auto& [path, count] : halves.counts) {
    if (count.gave == count.took) continue;
    const TaskNode& node = context_.order.task(task);
    Error error(Code::flags_unbalanced, "rank " + std::to_string(node.id.rank) + ", task " + node.name + " (" +
                                            node.location.text() + "), block " + std::to_string(block) +
                                            " has ended, and " + describe(path, count, cores_[task].vectors));
    error.at_rank(node.id.rank).at_task(node.name, block, node.location);
    return context_.report("flags", std::move(error));
  }
}

std::string Flags::describe(const Path& path, const Count& count, std::uint32_t vectors) const {
  const std::string giver = window::name_of_half(path.from_cube, path.part, vectors);
  const std::string taker = window::name_of_half(!path.from_cube, path.part, vectors);
  const std::string what = path.tile ? "tiles" : "flag " + std::to_string(path.flag);
  const std::string gave = path.tile ? "pushed" : "set", took = path.tile ? "popped" : "waited for";
  std::string text = what + " of cluster " + std::to_string(count.cluster) + (path.tile ? " are" : " is") +
                     " not balanced: its " + giver + " " + gave + " " + times(count.gave) +
                     last_at(count.gave, count.gave_at) + ", its " + taker + " " + took + " " + times(count.took) +
                     last_at(count.took, count.took_at);
  if (count.gave > count.took)
    return text + "; " + std::to_string(count.gave - count.took) + " of them stay for the kernel that comes next there";
  return text + "; " + std::to_string(count.took - count.gave) + " of them had been left there by another kernel";
}

}  // namespace heddle::lab::checkers
