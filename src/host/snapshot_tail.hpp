// SPDX-License-Identifier: Apache-2.0
//
// The flight recorders' tail as a snapshot tells it: the last things that happened, and who notified the cells that are
// waited for.
#pragma once

#include <cstdint>

#include "host/snapshot_read.hpp"

namespace heddle::host {

// Adds the events, and to the cells that the snapshot has what the recorders still hold of their notifies.
void add_tail(snapshot::Snapshot& snapshot, HostEngine& engine, const ReadEngine& read, std::uint64_t began);

// The window, rank and cell that an address lies in.
class CellNames {
 public:
  explicit CellNames(HostEngine& engine);
  struct Name {
    const char* window = nullptr;  // null: none
    int rank = -1;
    std::int64_t cell = -1;
  };
  Name of(std::uint64_t address, bool wide) const;

 private:
  struct Part {
    std::uint64_t begin = 0, bytes = 0;
    const char* window = nullptr;
    int rank = -1;
  };
  std::vector<Part> parts_;  // by address
};

}  // namespace heddle::host
