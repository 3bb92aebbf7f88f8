// SPDX-License-Identifier: Apache-2.0
//
// What blocks stored into lines in this round, through the caches of their cores, and what of it memory has.
#pragma once

#include <cstdint>
#include <vector>

#include "lab/checkers/happens_before.hpp"
#include "lab/checkers/line_map.hpp"

namespace heddle::lab::checkers {

// Bytes that one block stored into one line, from its first store until they were written back.
struct LineStore {
  BlockIndex block = none;
  std::uint32_t op = 0;     // of the first store
  Tick tick = 0;            // of the first store
  std::uint64_t bytes = 0;  // a bit for each
  std::uint32_t back_op = 0;
  Tick back_tick = 0;  // 0: not yet
  std::uint32_t next = none;
};

class LinesWritten {
 public:
  void store(BlockIndex block, std::uint32_t op, Tick now, std::uintptr_t line, std::uint64_t bytes) {
    std::uint32_t& head = heads_.at(line).first;
    for (std::uint32_t i = head; i != none; i = stores_[i].next) {
      LineStore& entry = stores_[i];
      if (entry.block != block || entry.back_tick != 0) continue;
      entry.bytes |= bytes;
      return;
    }
    stores_.push_back({block, op, now, bytes, 0, 0, head});
    head = static_cast<std::uint32_t>(stores_.size() - 1);
  }

  void write_back(BlockIndex block, std::uint32_t op, Tick now, std::uintptr_t line, std::uint64_t bytes) {
    std::uint32_t& head = heads_.at(line).first;
    for (std::uint32_t i = head; i != none; i = stores_[i].next) {
      LineStore& entry = stores_[i];
      if (entry.block != block || entry.back_tick != 0) continue;
      const std::uint64_t left = entry.bytes & ~bytes;
      entry.bytes &= bytes;
      entry.back_op = op;
      entry.back_tick = now;
      if (left == 0) return;
      LineStore rest{block, entry.op, entry.tick, left, 0, 0, head};
      stores_.push_back(rest);
      head = static_cast<std::uint32_t>(stores_.size() - 1);
      return;
    }
  }

  // Calls visit(line, store) for each store into a line that meets [begin, end).
  template <class Visit>
  void for_range(std::uintptr_t begin, std::uintptr_t end, Visit&& visit) {
    heads_.for_range(begin, end, [&](std::uintptr_t line, const Head& head) {
      for (std::uint32_t i = head.first; i != none; i = stores_[i].next) visit(line, stores_[i]);
    });
  }

  void clear() {
    heads_.clear();
    stores_.clear();
  }

 private:
  struct Head {
    std::uint32_t first = none;
  };
  LineMap<Head> heads_;
  std::vector<LineStore> stores_;
};

}  // namespace heddle::lab::checkers
