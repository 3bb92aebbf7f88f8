// SPDX-License-Identifier: Apache-2.0
#include "lab/checkers/visibility.hpp"

#include <algorithm>

namespace heddle::lab::checkers {
namespace {

// The bounds of what was stored into a line.
graph::Region bytes_of(std::uintptr_t line, std::uint64_t bytes) {
  const auto first = static_cast<unsigned>(__builtin_ctzll(bytes));
  const auto last = 63U - static_cast<unsigned>(__builtin_clzll(bytes));
  return graph::Region::contiguous(reinterpret_cast<const void*>(line + first), last - first + 1);
}

std::string how(const Access& reader) {
  switch (reader.kind) {
    case Access::Kind::get:
      return "the get of ";
    case Access::Kind::put_source:
      return "the put of ";
    case Access::Kind::argument:
      return "argument " + std::to_string(reader.argument) + " of ";
    default:
      return "a load of ";
  }
}

}  // namespace

void Visibility::round_begins() {
  copies_by_line_.clear();
  copies_.clear();
}

void Visibility::accessed(const Access& access) {
  if (access.read && access.kind != Access::Kind::read) find_unpublished(access);
}

// What the reader comes after, though not after its being written back.
void Visibility::find_unpublished(const Access& reader) {
  HappensBefore& order = context_.order;
  found_.clear();
  Tick horizon = order.now();
  context_.lines.for_range(reader.region.base, reader.region.end(), [&](std::uintptr_t line, const LineStore& store) {
    if (store.bytes == 0) return;
    const bool own = reader.block == none ? order.block(store.block).task == reader.task : store.block == reader.block;
    // Its own stores are in its own cache, which bulk copies pass by.
    if (own && (reader.kind != Access::Kind::put_source || store.back_tick != 0)) return;
    const graph::Region bytes = bytes_of(line, store.bytes);
    if (!graph::overlaps(bytes, reader.region, context_.overlaps)) return;
    if (reader.block == none && order.has_notified_cell(bytes.base, bytes.end())) return;
    found_.push_back({line, store});
    horizon = std::min(horizon, store.tick);
  });
  if (found_.empty()) return;
  context_.look_from(reader, horizon);
  std::erase_if(found_, [&](const Unpublished& entry) {
    const LineStore& store = entry.store;
    if (!order.knows(store.block, store.op)) return true;
    return store.back_tick != 0 && order.knows(store.block, store.back_op);
  });
  if (!found_.empty()) report_unpublished(reader);
}

void Visibility::report_unpublished(const Access& reader) {
  const auto oldest = std::min_element(found_.begin(), found_.end(), [](const Unpublished& a, const Unpublished& b) {
    return a.store.tick < b.store.tick;
  });
  const BlockIndex writer = oldest->store.block;
  std::erase_if(found_, [&](const Unpublished& entry) { return entry.store.block != writer; });
  std::uintptr_t first = UINTPTR_MAX;
  for (const Unpublished& entry : found_) first = std::min(first, entry.line);
  const std::string count = std::to_string(found_.size());
  const std::string lines = found_.size() == 1 ? "1 line was not published" : count + " lines were not published";
  context_.report("visibility",
                  context_.error_at(Code::stale_read,
                                    lines + ": " + how(reader) + context_.who(reader.task, reader.block) +
                                        " reads what " + context_.who(context_.order.block(writer).task, writer) +
                                        " stored and did not write back before; the first is " +
                                        name_bytes(first, first + bytes_of_line, reader.rank, reader.window, "memory"),
                                    reader.task, reader.block));
}

Visibility::Copy& Visibility::copy_of(BlockIndex block, std::uintptr_t line, bool& is_new) {
  Head& head = copies_by_line_.at(line);
  is_new = false;
  for (std::uint32_t i = head.first; i != none; i = copies_[i].next)
    if (copies_[i].block == block) return copies_[i];
  is_new = true;
  copies_.push_back({block, context_.order.now(), head.first});
  head.first = static_cast<std::uint32_t>(copies_.size() - 1);
  return copies_.back();
}

void Visibility::scalar_read(BlockIndex block, std::uint32_t op, const graph::Region& bytes, bool from_cache) {
  bool is_new;
  Copy& copy = copy_of(block, bytes.base, is_new);
  if (from_cache && !is_new)
    check_copy(block, op, bytes, copy.loaded);
  else
    copy.loaded = context_.order.now();
  if (from_cache) return;
  Access reader;
  reader.kind = Access::Kind::read;
  reader.task = context_.order.block(block).task;
  reader.block = block;
  reader.op = op;
  reader.rank = context_.order.task(reader.task).id.rank;
  reader.region = bytes;
  find_unpublished(reader);
}

// A store brings the line in when it is not there, which the feed does not tell: it may have been invalidated before.
void Visibility::scalar_write(BlockIndex block, std::uint32_t, std::uintptr_t line, std::uint64_t) {
  bool is_new;
  copy_of(block, line, is_new).loaded = context_.order.now();
}

// Whether memory has changed since the line was loaded, by something that the reader comes after.
void Visibility::check_copy(BlockIndex block, std::uint32_t op, const graph::Region& bytes, Tick loaded) {
  HappensBefore& order = context_.order;
  notifies_.clear();
  writes_.clear();
  Tick horizon = order.now();
  order.for_cells(bytes.base < 7 ? 0 : bytes.base - 7, bytes.end(), [&](CellIndex index) {
    const CellNode& cell = order.cell(index);
    if (reinterpret_cast<std::uintptr_t>(cell.signal.cell) + (cell.signal.wide ? 8 : 4) <= bytes.base) return;
    for (NotifyIndex i = cell.head; i != none && order.notify(i).arrived > loaded;
         i = order.notify(i).previous_of_value) {
      notifies_.push_back(i);
      horizon = std::min(horizon, order.notify(i).issued);
    }
  });
  context_.writes.visit(bytes, [&](AccessIndex i) {
    const Access& write = context_.accesses[i];
    const bool in_memory = write.kind == Access::Kind::put || write.kind == Access::Kind::write_back;
    if (!in_memory || write.block == block || write.effective <= loaded) return true;
    if (!graph::overlaps(write.region, bytes, context_.overlaps)) return true;
    writes_.push_back(i);
    horizon = std::min(horizon, write.since);
    return true;
  });
  if (notifies_.empty() && writes_.empty()) return;
  std::sort(writes_.begin(), writes_.end(), [this](AccessIndex left, AccessIndex right) {
    return context_.accesses[left].id < context_.accesses[right].id;
  });
  order.look_from(block, op, horizon);
  for (const AccessIndex i : writes_) {
    const Access& write = context_.accesses[i];
    if (!context_.is_before(write)) continue;
    const char* const verb = write.kind == Access::Kind::put ? "the put of " : "a store of ";
    return report_stale_copy(block, bytes, verb + context_.who(write.task, write.block));
  }
  for (const NotifyIndex i : notifies_)
    if (order.saw(i)) return report_stale_copy(block, bytes, "the notify of " + context_.who(i));
}

void Visibility::report_stale_copy(BlockIndex block, const graph::Region& bytes, const std::string& by) {
  const TaskIndex task = context_.order.block(block).task;
  const int rank = context_.order.task(task).id.rank;
  const auto* const window = context_.window_at(rank, bytes.base);
  const std::string where = window == nullptr ? "" : "; it is " + name_bytes(bytes.base, bytes.end(), rank, window, "");
  context_.report("visibility",
                  context_.error_at(Code::stale_read,
                                    "a load of " + std::to_string(bytes.extent) + " bytes by " +
                                        context_.who(task, block) + " was served from its cache, which had the line " +
                                        "from before " + by + " changed it: the line was not invalidated" + where,
                                    task, block));
}

}  // namespace heddle::lab::checkers
