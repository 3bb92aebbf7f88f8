// SPDX-License-Identifier: Apache-2.0
#include "lab/checkers/lines.hpp"

#include <optional>

namespace heddle::lab::checkers {

// One of the two has to have written back: whoever did so first is found by the other's store, or by this write-back.
void Lines::scalar_write(BlockIndex block, std::uint32_t op, std::uintptr_t line, std::uint64_t bytes) {
  compare(block, op, line, bytes, false);
}

void Lines::written_back(BlockIndex block, std::uint32_t op, std::uintptr_t line, std::uint64_t bytes) {
  compare(block, op, line, bytes, true);
}

void Lines::compare(BlockIndex block, std::uint32_t op, std::uintptr_t line, std::uint64_t bytes, bool with_dirty) {
  HappensBefore& order = context_.order;
  std::optional<LineStore> found;
  context_.lines.for_range(line, line + bytes_of_line, [&](std::uintptr_t, const LineStore& other) {
    if (other.block == block || (other.back_tick == 0) != with_dirty) return;
    if (order.block(other.block).core == order.block(block).core) return;
    if (other.bytes == 0 || other.bytes == bytes) return;
    order.look_from(block, op, other.tick);
    const bool ordered = order.knows(other.block, other.back_tick == 0 ? other.op : other.back_op);
    if (!ordered && (!found || other.tick < found->tick)) found = other;
  });
  if (!found) return;
  const TaskIndex task = order.block(block).task;
  const TaskIndex other_task = order.block(found->block).task;
  const auto arguments = context_.arguments_of(task);
  std::string name = "a line";
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const graph::Region& region = arguments[i].region;
    if (region.empty() || region.base >= line + bytes_of_line || region.end() <= line) continue;
    const auto offset = static_cast<std::int64_t>(line) - static_cast<std::int64_t>(region.base);
    name = "the line at byte " + std::to_string(offset) + " of argument " + std::to_string(i);
    break;
  }
  const int rank = order.task(task).id.rank;
  if (const auto* const window = context_.window_at(rank, line); window != nullptr)
    name = "the line of " + name_bytes(line, line + bytes_of_line, rank, window, "");
  context_.report("lines", context_.error_at(Code::race,
                                             name + " is stored into by " + context_.who(task, block) + " and by " +
                                                 context_.who(other_task, found->block) +
                                                 ", on two cores, different bytes of it; nothing orders the two, and "
                                                 "one write-back undoes the other",
                                             task, block));
}

}  // namespace heddle::lab::checkers
