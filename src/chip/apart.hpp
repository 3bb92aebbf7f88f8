// SPDX-License-Identifier: Apache-2.0
//
// The fault chip_halves_apart, which only tests put in: the vector halves of a mixed block are not placed with its cube
// half, but in a later turn, the newest first.
#pragma once

#include <cstdint>
#include <vector>

#include "chip/faulty.hpp"
#include "graph/slot.hpp"

namespace heddle::chip {

template <base::Environment E>
class HalvesApart {
 public:
  // Whether this half is kept back.
  bool keeps(graph::Slot<E>& slot, std::uint32_t block, std::uint32_t part, std::uint32_t cluster) {
    if (part == 0 || slot.cores.cubes == 0 || !faulty<E>("chip_halves_apart")) return false;
    kept_.push_back({&slot, block, part, cluster});
    return true;
  }
  // Places them with issue(slot, block, part, cluster), until that says that there is no room.
  template <class Issue>
  void place(Issue&& issue) {
    while (!kept_.empty()) {
      const Half last = kept_.back();
      if (!issue(*last.slot, last.block, last.part, last.cluster)) return;
      kept_.pop_back();
    }
  }

 private:
  struct Half {
    graph::Slot<E>* slot;
    std::uint32_t block, part, cluster;
  };
  std::vector<Half> kept_;
};

}  // namespace heddle::chip
