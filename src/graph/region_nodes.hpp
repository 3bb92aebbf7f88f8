// SPDX-License-Identifier: Apache-2.0
//
// The storage of a region map: one node for each distinct region in use, found by region or by address.
//
//   node      the last write of exactly this region and the reads since, plus up to twelve neighbours: the other nodes
//             that share a byte with it. A node with more is crowded, and surveys the index instead.
//   index     at level k are the regions of more than 2^(k-1) and at most 2^k bytes, in a hash table by the 2^k-byte
//             bucket of their first byte. What a query meets at a level starts in its own buckets or in the one before.
//   idle      a node without accesses. It is kept, since programs come back to the same regions, until its slot is
//             wanted: a hand goes round and takes nodes that stayed idle since it last passed.
//
// Neighbourhood is symmetric: for two nodes that share a byte, each is crowded or lists the other.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include "graph/memory.hpp"
#include "graph/region.hpp"

namespace heddle::graph {

/// Names a task for the map. Opaque, not zero, never reused.
using TaskRef = std::uint64_t;

enum class Access : std::uint8_t { read, write };

/// Says whether a task has not completed yet. The map forgets the accesses of completed tasks whenever it meets them.
template <class L>
concept Liveness = std::predicate<L&, TaskRef>;

template <class S>
concept TaskSink = std::invocable<S&, TaskRef>;

using NodeIndex = std::uint32_t;
inline constexpr NodeIndex no_node = 0;

class RegionNodes {
 public:
  static constexpr std::uint32_t entries_max = 1U << 26U;
  static constexpr unsigned neighbours_max = 12;
  static constexpr unsigned inline_readers = 3;

  // Two cache lines; an access of a region without neighbours touches the first only.
  struct alignas(64) Node {
    std::uintptr_t base;
    std::uint64_t extent;  // zero when the slot is free
    TaskRef writer;        // zero when no write is recorded
    std::array<TaskRef, inline_readers> readers;
    std::uint32_t chain_next;    // next in the slot of the address index; the free list when free
    std::uint32_t reader_block;  // reads beyond the inline ones
    std::uint32_t reader_count;  // of both
    std::uint8_t level;
    std::uint8_t rank;
    std::uint8_t neighbour_count;  // neighbours_max + 1 when crowded
    std::uint8_t passes;           // times found idle since it was last touched

    std::uint32_t readers_before_pruning;
    std::uint32_t level_next;
    std::uint32_t level_previous;
    std::uint32_t twin_next;                               // next in the slot of the strided regions' table
    std::array<std::uint32_t, neighbours_max> neighbours;  // index, and covers_bit when this node contains that one
  };
  static_assert(sizeof(Node) == 128);

  explicit RegionNodes(std::uint32_t entries);
  ~RegionNodes();
  RegionNodes(const RegionNodes&) = delete;
  RegionNodes& operator=(const RegionNodes&) = delete;

  std::uint32_t capacity() const { return capacity_; }
  std::uint32_t accesses() const { return accesses_; }
  std::uint32_t size() const { return size_; }
  const OverlapStatistics& overlap_statistics() const { return statistics_; }

  const Node& operator[](NodeIndex index) const { return nodes_[index]; }
  static NodeIndex index_of(std::uint32_t neighbour) { return neighbour & ~covers_bit; }
  bool crowded(NodeIndex index) const { return nodes_[index].neighbour_count > neighbours_max; }
  bool idle(NodeIndex index) const { return nodes_[index].writer == 0 && nodes_[index].reader_count == 0; }
  void touch(NodeIndex index) { nodes_[index].passes = 0; }

  NodeIndex find(const Region& region) const {
    if (region.rank != 0) return find_strided(region);
    const unsigned level = level_of(region.extent);
    NodeIndex index = chains_[slot_of(level, region.base >> level)];
    while (index != no_node) {
      const Node& node = nodes_[index];
      if (node.base == region.base && node.extent == region.extent && node.rank == 0) return index;
      index = node.chain_next;
    }
    return no_node;
  }

  /// An order of regions by address; where that is the same, by shape.
  bool before(NodeIndex a, NodeIndex b) const {
    if (nodes_[a].base != nodes_[b].base) return nodes_[a].base < nodes_[b].base;
    if (nodes_[a].extent != nodes_[b].extent) return nodes_[a].extent < nodes_[b].extent;
    if (nodes_[a].rank != nodes_[b].rank) return nodes_[a].rank < nodes_[b].rank;
    return nodes_[a].rank != 0 && shapes_[a].is_shaped_before(shapes_[b]);
  }

  /// Precondition: `find` finds none, and `make_room` was called since the last `create`.
  NodeIndex create(const Region& region);
  void remove(NodeIndex index);

  template <class Live>
  void make_room(Live& live);
  /// Forgets accesses of completed tasks until `wanted` more fit; false when they do not.
  template <class Live>
  bool forget_completed(std::uint32_t wanted, Live& live);

  /// Visits the neighbours of a crowded node, by the index. Takes idle ones that nobody touched for long, and lists the
  /// neighbours again when few are left.
  template <class Visit>
  void survey(NodeIndex index, Visit&& visit);

  void drop_writer(NodeIndex index) {
    nodes_[index].writer = 0;
    --accesses_;
  }
  void set_writer(NodeIndex index, TaskRef task) {
    if (!idle(index)) drop_accesses(index);
    nodes_[index].writer = task;
    ++accesses_;
  }
  template <class Live>
  void add_reader(NodeIndex index, TaskRef task, Live& live);
  /// Drops the reads of completed tasks, and names the others.
  template <class Live, class Sink>
  void prune_readers(NodeIndex index, Live& live, Sink&& sink);
  void drop_accesses(NodeIndex index);
  /// Drops the accesses of all neighbours that this node contains.
  void drop_covered(NodeIndex index);

  template <class Fn>
  void for_each_access(Fn&& fn) const;

 private:
  static constexpr std::uint32_t covers_bit = 1U << 31U;
  static constexpr unsigned passes_max = 3;
  static constexpr unsigned block_readers = 7;

  struct alignas(64) ReaderBlock {
    std::array<TaskRef, block_readers> readers;
    std::uint32_t next;
    std::uint32_t unused;
  };

  static unsigned level_of(std::uint64_t extent) { return static_cast<unsigned>(std::bit_width(extent - 1)); }

  // Sixteen consecutive buckets of a level share a cache line of the table, in an order that depends on the line, so
  // that neither dense nor power-of-two spaced regions crowd into few slots.
  std::uint32_t slot_of(unsigned level, std::uint64_t bucket) const {
    const std::uint64_t hash = ((bucket >> 4U) + (std::uint64_t{level} << 57U)) * 0x9E37'79B9'7F4A'7C15U;
    return static_cast<std::uint32_t>((hash >> chain_shift_) << 4U) |
           static_cast<std::uint32_t>((bucket ^ (hash >> 8U)) & 15U);
  }
  std::uint32_t& twin_slot(const Region& region) const;

  Region region_of(NodeIndex index) const {
    if (nodes_[index].rank != 0) return shapes_[index];
    Region region;
    region.base = nodes_[index].base;
    region.run = region.extent = nodes_[index].extent;
    return region;
  }
  bool share_a_byte(const Region& region, NodeIndex index) {
    const Node& node = nodes_[index];
    if (node.base >= region.end() || region.base >= node.base + node.extent) return false;
    if ((node.rank | region.rank) == 0) return true;
    return node.rank != 0 ? overlaps(region, shapes_[index], statistics_)
                          : overlaps(region, region_of(index), statistics_);
  }

  NodeIndex find_strided(const Region& region) const;
  void link(NodeIndex index);
  void unlink(NodeIndex index);
  void introduce(NodeIndex from, NodeIndex to, bool covers_it);
  void part(NodeIndex from, NodeIndex from_whom);

  /// Visits every node but `index` whose bounding box meets that of `region`. The visitor may remove the visited node.
  template <class Visit>
  void for_each_near(const Region& region, NodeIndex index, Visit&& visit);
  template <class Live>
  bool prune(NodeIndex index, Live& live);
  template <class Live>
  void advance_hand(std::uint32_t steps, Live& live);

  std::uint32_t capacity_;
  std::uint32_t accesses_ = 0;
  std::uint32_t size_ = 0;
  std::uint32_t nodes_max_;       // twice the accesses: when all are taken, half are idle
  std::uint32_t idle_kept_;       // contiguous regions remembered before the hand starts to take idle ones
  std::uint32_t high_water_ = 0;  // nodes [1, high_water_] have been used
  std::uint32_t free_node_ = no_node;
  std::uint32_t hand_ = 0;
  std::uint32_t free_block_ = 0;
  std::uint32_t blocks_high_water_ = 0;
  unsigned chain_shift_;  // the table of chains has 16 << (64 - chain_shift_) slots
  std::uint32_t twin_mask_;
  std::uint64_t levels_ = 0;  // levels with nodes
  std::array<std::uint32_t, 64> level_head_{};
  std::array<std::uint32_t, 64> level_count_{};
  // Nodes, shapes and blocks are written before they are read; of the slots, only those of nodes are not zero.
  LazyMemory node_memory_;
  LazyMemory shape_memory_;
  LazyMemory block_memory_;
  LazyMemory chain_memory_;
  LazyMemory twin_memory_;
  Node* nodes_;
  Region* shapes_;  // of strided nodes
  ReaderBlock* blocks_;
  std::uint32_t* chains_;
  std::uint32_t* twins_;
  OverlapStatistics statistics_;
};

template <class Visit>
void RegionNodes::for_each_near(const Region& region, NodeIndex index, Visit&& visit) {
  const std::uintptr_t last = region.end() - 1;
  const auto consider = [&](NodeIndex other) {
    const Node& node = nodes_[other];
    if (other != index && node.base <= last && region.base < node.base + node.extent) visit(other);
  };
  for (std::uint64_t remaining = levels_; remaining != 0; remaining &= remaining - 1) {
    const auto level = static_cast<unsigned>(std::countr_zero(remaining));
    const std::uint64_t first_bucket = (region.base >> level) - static_cast<std::uint64_t>(region.base >> level != 0);
    const std::uint64_t last_bucket = last >> level;
    if (last_bucket - first_bucket >= level_count_[level]) {
      for (NodeIndex other = level_head_[level]; other != no_node;) {
        const NodeIndex next = nodes_[other].level_next;
        consider(other);
        other = next;
      }
      continue;
    }
    for (std::uint64_t bucket = first_bucket; bucket <= last_bucket; ++bucket) {
      for (NodeIndex other = chains_[slot_of(level, bucket)]; other != no_node;) {
        const NodeIndex next = nodes_[other].chain_next;
        if (nodes_[other].level == level && nodes_[other].base >> level == bucket) consider(other);
        other = next;
      }
    }
  }
}

template <class Visit>
void RegionNodes::survey(NodeIndex index, Visit&& visit) {
  const Region region = region_of(index);
  std::array<NodeIndex, neighbours_max> found{};
  unsigned count = 0;
  for_each_near(region, index, [&](NodeIndex other) {
    if (idle(other)) {
      if (++nodes_[other].passes > passes_max) return remove(other);
    }
    if (count > neighbours_max / 2 && idle(other)) {  // nothing to name, and the list is too long already
      ++count;
      return;
    }
    if (!share_a_byte(region, other)) return;
    if (count < neighbours_max) found[count] = other;
    ++count;
    visit(other);
  });
  if (count > neighbours_max / 2) return;
  nodes_[index].neighbour_count = 0;
  for (unsigned n = 0; n < count; ++n) introduce(index, found[n], covers(region, region_of(found[n])));
}

template <class Live>
void RegionNodes::add_reader(NodeIndex index, TaskRef task, Live& live) {
  Node& node = nodes_[index];
  if (node.reader_count >= inline_readers && node.reader_count >= node.readers_before_pruning) {
    prune_readers(index, live, [](TaskRef) {});
    // Half of what is pruned next time came since: pruning costs each read a constant.
    node.readers_before_pruning = node.reader_count < inline_readers ? inline_readers : 2 * node.reader_count;
  }
  const std::uint32_t position = node.reader_count++;
  ++accesses_;
  if (position < inline_readers) {
    node.readers[position] = task;
    return;
  }
  const std::uint32_t offset = (position - inline_readers) % block_readers;
  if (offset == 0) {
    std::uint32_t block = free_block_;
    if (block != 0) {
      free_block_ = blocks_[block].next;
    } else {
      block = ++blocks_high_water_;
    }
    blocks_[block].next = node.reader_block;
    node.reader_block = block;
  }
  blocks_[node.reader_block].readers[offset] = task;
}

template <class Live, class Sink>
void RegionNodes::prune_readers(NodeIndex index, Live& live, Sink&& sink) {
  Node& node = nodes_[index];
  const std::uint32_t before = node.reader_count;
  if (before <= inline_readers) {
    std::uint32_t kept = 0;
    for (std::uint32_t n = 0; n < before; ++n) {
      if (!live(node.readers[n])) continue;
      sink(node.readers[n]);
      node.readers[kept++] = node.readers[n];
    }
    node.reader_count = kept;
    accesses_ -= before - kept;
    return;
  }
  // From the last reader to the first: a dead one is replaced by the last.
  std::uint32_t position_block = node.reader_block;
  for (std::uint32_t position = before; position-- > 0;) {
    const bool in_line = position < inline_readers;
    const std::uint32_t offset = in_line ? position : (position - inline_readers) % block_readers;
    TaskRef& reader = in_line ? node.readers[offset] : blocks_[position_block].readers[offset];
    const std::uint32_t next_block = !in_line && offset == 0 ? blocks_[position_block].next : position_block;
    if (live(reader)) {
      sink(reader);
    } else {
      const std::uint32_t last = --node.reader_count;
      if (last < inline_readers) {
        reader = node.readers[last];
      } else {
        const std::uint32_t last_offset = (last - inline_readers) % block_readers;
        const std::uint32_t last_block = node.reader_block;
        reader = blocks_[last_block].readers[last_offset];
        if (last_offset == 0) {
          node.reader_block = blocks_[last_block].next;
          blocks_[last_block].next = free_block_;
          free_block_ = last_block;
        }
      }
    }
    position_block = next_block;
  }
  accesses_ -= before - node.reader_count;
}

template <class Live>
bool RegionNodes::prune(NodeIndex index, Live& live) {
  if (nodes_[index].writer != 0 && !live(nodes_[index].writer)) drop_writer(index);
  if (nodes_[index].reader_count != 0) prune_readers(index, live, [](TaskRef) {});
  return idle(index);
}

template <class Live>
void RegionNodes::advance_hand(std::uint32_t steps, Live& live) {
  for (std::uint32_t step = 0; step < steps; ++step) {
    hand_ = hand_ >= high_water_ ? 1 : hand_ + 1;
    Node& node = nodes_[hand_];
    if (node.extent == 0 || (node.rank != 0 && size_ < capacity_)) continue;
    if (prune(hand_, live) && ++node.passes > passes_max) remove(hand_);
  }
}

template <class Live>
void RegionNodes::make_room(Live& live) {
  if (size_ <= idle_kept_) return;
  advance_hand(2, live);
  if (size_ < nodes_max_) return;
  // At most `capacity` nodes have live accesses, so more than half are idle: a few rounds find them. An eighth of them
  // are taken at once, so that the search costs each of as many creations a constant.
  while (size_ > nodes_max_ - nodes_max_ / 8) advance_hand(64, live);
}

template <class Live>
bool RegionNodes::forget_completed(std::uint32_t wanted, Live& live) {
  for (std::uint32_t step = 0; step < high_water_ && capacity_ - accesses_ < wanted; ++step) {
    hand_ = hand_ >= high_water_ ? 1 : hand_ + 1;
    if (nodes_[hand_].extent != 0) prune(hand_, live);
  }
  return capacity_ - accesses_ >= wanted;
}

template <class Fn>
void RegionNodes::for_each_access(Fn&& fn) const {
  for (NodeIndex index = 1; index <= high_water_; ++index) {
    if (nodes_[index].extent == 0 || idle(index)) continue;
    const Node& node = nodes_[index];
    const Region region = region_of(index);
    if (node.writer != 0) fn(region, Access::write, node.writer);
    std::uint32_t block = node.reader_block;
    for (std::uint32_t position = node.reader_count; position-- > 0;) {
      if (position < inline_readers) {
        fn(region, Access::read, node.readers[position]);
        continue;
      }
      const std::uint32_t offset = (position - inline_readers) % block_readers;
      fn(region, Access::read, blocks_[block].readers[offset]);
      if (offset == 0) block = blocks_[block].next;
    }
  }
}

}  // namespace heddle::graph
