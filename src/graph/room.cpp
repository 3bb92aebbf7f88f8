// SPDX-License-Identifier: Apache-2.0
#include "graph/room.hpp"

#include <algorithm>

namespace heddle::graph {

namespace {

void raise(RingRoom& room, const RingRoom& to) noexcept {
  room.tasks = std::max(room.tasks, to.tasks);
  room.heap_bytes = std::max(room.heap_bytes, to.heap_bytes);
  room.edges = std::max(room.edges, to.edges);
}

}  // namespace

std::uint32_t ScopeBook::opened(const ScopeFrame& frame) {
  const auto is_of = [&](const Entry& entry) {
    // Lines are told apart by the address of their file's name: equal names at two addresses are two entries.
    return entry.location.file == frame.location.file && entry.location.line == frame.location.line &&
           entry.ring == frame.ring && entry.manual == frame.manual;
  };
  if (last_ >= entries_.size() || !is_of(entries_[last_])) {
    const auto found = std::find_if(entries_.begin(), entries_.end(), is_of);
    const bool is_new = found == entries_.end();
    if (is_new && entries_.size() < entries_most) {
      entries_.push_back({frame.location, frame.ring, frame.manual, false, 0, {}});
      last_ = static_cast<std::uint32_t>(entries_.size() - 1);
    } else {
      last_ = static_cast<std::uint32_t>(std::min(found - entries_.begin(), std::ptrdiff_t{entries_most - 1}));
      entries_[last_].many |= is_new;
    }
  }
  ++entries_[last_].opened;
  return last_;
}

void ScopeBook::held(std::uint32_t entry, const RingRoom& room) noexcept { raise(entries_[entry].most, room); }

std::vector<ScopeUse> ScopeBook::uses() const {
  std::vector<ScopeUse> uses;
  for (const Entry& entry : entries_) {
    std::string where = entry.location.file == nullptr ? std::string() : entry.location.text();
    if (entry.many) where += " and others";
    uses.push_back({std::move(where), static_cast<int>(entry.ring), entry.manual, entry.opened, entry.most});
  }
  return uses;
}

void add(RoomUse& all, const RoomUse& more) {
  for (std::size_t i = 0; i < all.rings.size(); ++i) {
    raise(all.rings[i].most, more.rings[i].most);
    all.rings[i].waits += more.rings[i].waits;
  }
  for (const ScopeUse& scope : more.scopes) {
    const auto found = std::find_if(all.scopes.begin(), all.scopes.end(), [&](const ScopeUse& each) {
      return each.where == scope.where && each.ring == scope.ring && each.manual == scope.manual;
    });
    if (found == all.scopes.end()) {
      all.scopes.push_back(scope);
    } else {
      found->opened += scope.opened;
      raise(found->most, scope.most);
    }
  }
}

}  // namespace heddle::graph
