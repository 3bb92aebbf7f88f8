// SPDX-License-Identifier: Apache-2.0
#include "lab/checkers/checker.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace heddle::lab::checkers {

void Context::learn(const heddle::detail::WindowTable* window) {
  if (window != nullptr && std::find(windows.begin(), windows.end(), window) == windows.end())
    windows.push_back(window);
}

const heddle::detail::WindowTable* Context::window_at(int rank, std::uintptr_t address) const {
  for (const auto* window : windows) {
    if (static_cast<std::size_t>(rank) >= window->part.size()) continue;
    const auto base = reinterpret_cast<std::uintptr_t>(window->part[static_cast<std::size_t>(rank)]);
    if (address >= base && address - base < window->bytes) return window;
  }
  return nullptr;
}

AccessIndex Context::record(Access access) {
  access.id = accesses_made_++;
  AccessIndex index;
  if (spare_accesses_.empty()) {
    index = static_cast<AccessIndex>(accesses.size());
    accesses.push_back(access);
  } else {
    index = spare_accesses_.back();
    spare_accesses_.pop_back();
    accesses[index] = access;
  }
  (access.write ? writes : reads).insert(index);
  return index;
}

void Context::forget_round() {
  reads.clear();
  writes.clear();
  accesses.clear();
  spare_accesses_.clear();
  accesses_made_ = 0;
  lines.clear();
  arguments.clear();
  first_argument_of.assign(1, 0);
}

Error Context::error_at(Code code, std::string message, TaskIndex task, BlockIndex block) const {
  Error error(code, std::move(message));
  if (task == none) return error;
  const TaskNode& node = order.task(task);
  error.at_rank(node.id.rank);
  error.at_task(node.name, block == none ? -1 : std::int64_t{order.block_number(block)}, node.location);
  return error;
}

AcquireIndex Context::known_wait(CellIndex cell) const {
  for (auto i = static_cast<AcquireIndex>(order.acquires()); i-- > 0;) {
    const AcquireNode& acquire = order.acquire(i);
    if (acquire.cell != cell) continue;
    const bool known =
        acquire.block == none ? order.knows_end_of(acquire.task) : order.knows(acquire.block, acquire.op);
    if (known) return i;
  }
  return none;
}

std::string Context::who(TaskIndex task, BlockIndex block) const {
  const TaskNode& node = order.task(task);
  return who({0, node.id.rank, block == none ? -1 : std::int64_t{order.block_number(block)}, node.name, node.location});
}

std::string Context::who(const Origin& origin) {
  std::string text = "rank " + std::to_string(origin.rank) + ", task " + origin.task;
  if (origin.location.file != nullptr) text += " (" + origin.location.text() + ")";
  if (origin.block >= 0) text += ", block " + std::to_string(origin.block);
  return text;
}

std::string Context::name_of(CellIndex index) const {
  const heddle::detail::SignalRef& signal = order.cell(index).signal;
  const std::string of = " of rank " + std::to_string(signal.rank);
  const auto rank = static_cast<std::size_t>(signal.rank);
  if (signal.window == nullptr || rank >= signal.window->part.size()) return "a cell" + of;
  const auto offset = static_cast<const std::byte*>(signal.cell) - signal.window->part[rank];
  return std::string(signal.window->name) + "[" + std::to_string(offset / (signal.wide ? 8 : 4)) + "]" + of;
}

std::string Context::condition_of(const AcquireNode& acquire) const {
  return name_of(acquire.cell) + " " + base::sign_of(acquire.compare) + " " + std::to_string(acquire.value);
}

std::string name_bytes(std::uintptr_t begin, std::uintptr_t end, int rank, const heddle::detail::WindowTable* window,
                       const char* fallback) {
  const auto part = static_cast<std::size_t>(rank);
  if (window == nullptr || rank < 0 || part >= window->part.size())
    return std::to_string(end - begin) + " bytes of " + fallback + " of rank " + std::to_string(rank);
  const auto base = reinterpret_cast<std::uintptr_t>(window->part[part]);
  return "bytes " + std::to_string(begin - base) + " to " + std::to_string(end - 1 - base) + " of window " +
         window->name + " of rank " + std::to_string(rank);
}

}  // namespace heddle::lab::checkers
