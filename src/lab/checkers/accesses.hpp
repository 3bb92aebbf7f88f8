// SPDX-License-Identifier: Apache-2.0
//
// Who used which bytes in this round, found by the bytes. Bytes in the search are bounds; whoever asks decides exactly.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "graph/region.hpp"
#include "lab/checkers/happens_before.hpp"
#include "lab/checkers/line_map.hpp"

namespace heddle::lab::checkers {

using AccessIndex = std::uint32_t;

struct Access {
  enum class Kind : std::uint8_t { put, put_source, get, get_result, read, write_back, argument };
  Kind kind = Kind::read;
  bool write = false;
  bool read = false;      // both: an argument that is inout
  bool inferred = false;  // of an argument that inference orders, or inside of one
  bool loose = false;     // an argument without inference: read or written, nobody knows
  int rank = -1;          // whose memory it is
  int peer = -1;          // puts: whom it goes to
  TaskIndex task = none;
  BlockIndex block = none;  // none: an argument, of all blocks of its task
  std::uint32_t op = 0;
  std::int32_t argument = -1;
  Tick since = 0;       // began; an argument, when its task did
  Tick effective = 0;   // puts: arrived, 0 before that; others: when they were made
  Tick superseded = 0;  // when a later write covered it
  graph::Region region;
  const heddle::detail::WindowTable* window = nullptr;
  std::uint32_t id = 0;     // counts the accesses of the round
  AccessIndex next = none;  // in its place of the index
};

// The bytes of a piece.
inline graph::Region region_of(const Piece& piece) {
  // Strides that the region counts in elements are bytes here, so its elements are bytes: an element is one more
  // dimension of stride one, or the whole run where the last dimension is dense.
  std::int64_t shape[max_tensor_rank + 1], stride[max_tensor_rank + 1];
  int dims = 0;
  for (int d = 0; d < piece.dims; ++d) {
    if (piece.shape[d] == 1) continue;
    shape[dims] = piece.shape[d];
    stride[dims++] = piece.stride[d];
  }
  if (dims > 0 && stride[dims - 1] == static_cast<std::int64_t>(piece.element_bytes)) {
    shape[dims - 1] *= static_cast<std::int64_t>(piece.element_bytes);
    stride[dims - 1] = 1;
  } else if (dims < max_tensor_rank) {
    shape[dims] = static_cast<std::int64_t>(piece.element_bytes);
    stride[dims++] = 1;
  } else {
    // Five dimensions, none of them dense: in units of the elements, which all strides are multiples of.
    for (int d = 0; d < dims; ++d) stride[d] /= static_cast<std::int64_t>(piece.element_bytes);
    return graph::Region::from_view(piece.data, dims, shape, stride, piece.element_bytes);
  }
  return graph::Region::from_view(piece.data, dims, shape, stride, 1);
}

// Arguments name their strides in elements.
inline graph::Region region_of(const heddle::detail::ArgRecord& arg) {
  return graph::Region::from_view(arg.data, arg.rank, arg.shape, arg.stride, arg.element_bytes);
}

inline Piece piece_at(int rank, std::uintptr_t address, std::uint32_t bytes) {
  Piece piece;
  piece.rank = rank;
  piece.data = reinterpret_cast<const std::byte*>(address);
  piece.element_bytes = bytes;
  return piece;
}

// Items by their bytes. T has a region and `next`, the next item in the same place of the index.
template <class T>
class RegionIndex {
 public:
  explicit RegionIndex(std::vector<T>& items) : items_(items) {}

  void insert(std::uint32_t item) {
    T& entry = items_[item];
    if (entry.region.empty()) return;
    Head& head = place(entry.region);
    entry.next = head.first;
    head.first = item;
  }

  // Calls keep(item) for each item whose bounds meet those of the region; takes it out where that says no.
  template <class Keep>
  void visit(const graph::Region& region, Keep&& keep) {
    if (region.empty()) return;
    const std::uintptr_t begin = region.base, end = region.end();
    lines_.for_range(begin, end, [&](std::uintptr_t, Head& head) { visit_list(head.first, begin, end, keep); });
    std::uint64_t reach = bytes_of_line;
    for (auto& level : levels_) {
      reach *= level_factor;
      if (level.empty()) continue;
      for (auto at = level.lower_bound(begin < reach ? 0 : begin - reach); at != level.end() && at->first < end;) {
        visit_list(at->second.first, begin, end, keep);
        at = at->second.first == none ? level.erase(at) : std::next(at);
      }
    }
  }

  // The newest item in the place where such a region would go, or none.
  std::uint32_t newest_beside(const graph::Region& region) { return region.empty() ? none : place(region).first; }

  void clear() {
    lines_.clear();
    for (auto& level : levels_) level.clear();
  }

 private:
  static constexpr std::uint64_t level_factor = 16;
  struct Head {
    std::uint32_t first = none;
  };

  Head& place(const graph::Region& region) {
    if (region.base / bytes_of_line == (region.end() - 1) / bytes_of_line) return lines_.at(region.base);
    std::size_t level = 0;
    for (std::uint64_t reach = bytes_of_line * level_factor; region.extent > reach && level + 1 < levels_.size();
         reach *= level_factor)
      ++level;
    return levels_[level][region.base];
  }

  template <class Keep>
  void visit_list(std::uint32_t& first, std::uintptr_t begin, std::uintptr_t end, Keep& keep) {
    std::uint32_t* link = &first;
    while (*link != none) {
      T& entry = items_[*link];
      if (entry.region.base < end && begin < entry.region.end() && !keep(*link))
        *link = entry.next;
      else
        link = &entry.next;
    }
  }

  std::vector<T>& items_;
  LineMap<Head> lines_;
  std::array<std::map<std::uintptr_t, Head>, 13> levels_;  // by extent: up to 1 KiB, 16 KiB, …
};

}  // namespace heddle::lab::checkers
