// SPDX-License-Identifier: Apache-2.0
//
// What scopes and rings held at most, for whoever sizes them.
#pragma once

#include <cstdint>
#include <heddle/session.hpp>
#include <vector>

#include "graph/scopes.hpp"

namespace heddle::graph {

// What was held at most by the scopes that each line opens. What an open scope holds only grows, so that it is enough
// to look when it ends.
class ScopeBook {
 public:
  // The entry of a scope that was opened now.
  std::uint32_t opened(const ScopeFrame& frame);
  void held(std::uint32_t entry, const RingRoom& room) noexcept;
  std::vector<ScopeUse> uses() const;

  // A program that makes up lines of its own has the last entry for all that come later.
  static constexpr std::size_t entries_most = 256;

 private:
  struct Entry {
    Location location;
    std::uint32_t ring = 0;
    bool manual = false;
    bool many = false;  // of many lines
    std::uint64_t opened = 0;
    RingRoom most;
  };
  std::vector<Entry> entries_;
  std::uint32_t last_ = 0;  // that was asked for
};

// The larger of each, for the whole of several ranks. Scopes are of one line, ring and kind; `opened` is summed up.
void add(RoomUse& all, const RoomUse& more);

}  // namespace heddle::graph
