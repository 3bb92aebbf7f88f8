// SPDX-License-Identifier: Apache-2.0
#include "graph/region_nodes.hpp"

#include <algorithm>

namespace heddle::graph {
namespace {

constexpr unsigned slots_per_line_bits = 4;

template <class T>
LazyMemory table_of(std::size_t count, Contents contents) {
  return LazyMemory(count * sizeof(T), "the region map", contents);
}

template <class T>
T* entries_of(const LazyMemory& memory) {
  return reinterpret_cast<T*>(memory.data());
}

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9E37'79B9'7F4A'7C15U;
  return hash ^ (hash >> 29U);
}

}  // namespace

RegionNodes::RegionNodes(std::uint32_t entries) : capacity_(std::clamp(entries, 1U, entries_max)) {
  nodes_max_ = 2 * capacity_ + 64;
  idle_kept_ = capacity_ / 32 + 32;
  const auto slot_bits = static_cast<unsigned>(std::bit_width(capacity_ + 16));
  chain_shift_ = 64 - (slot_bits - slots_per_line_bits);
  twin_mask_ = (1U << slot_bits) - 1;
  const std::size_t slots = std::size_t{twin_mask_} + 1;
  node_memory_ = table_of<Node>(nodes_max_ + 1, Contents::any);
  shape_memory_ = table_of<Region>(nodes_max_ + 1, Contents::any);
  block_memory_ = table_of<ReaderBlock>(capacity_ + 1, Contents::any);
  chain_memory_ = table_of<std::uint32_t>(slots, Contents::zero);
  twin_memory_ = table_of<std::uint32_t>(slots, Contents::zero);
  nodes_ = entries_of<Node>(node_memory_);
  shapes_ = entries_of<Region>(shape_memory_);
  blocks_ = entries_of<ReaderBlock>(block_memory_);
  chains_ = entries_of<std::uint32_t>(chain_memory_);
  twins_ = entries_of<std::uint32_t>(twin_memory_);
}

// A node's chain starts in its slot: zeroing the slots of all nodes leaves nothing in the tables.
RegionNodes::~RegionNodes() {
  if (!MemoryReuse::active()) return;
  for (NodeIndex index = 1; index <= high_water_; ++index) {
    const Node& node = nodes_[index];
    if (node.extent == 0) continue;
    chains_[slot_of(node.level, node.base >> node.level)] = no_node;
    if (node.rank != 0) twin_slot(shapes_[index]) = no_node;
  }
  chain_memory_.was_zeroed();
  twin_memory_.was_zeroed();
}

std::uint32_t& RegionNodes::twin_slot(const Region& region) const {
  std::uint64_t hash = mix(region.base, region.run);
  for (std::size_t d = 0; d < region.rank; ++d) hash = mix(mix(hash, region.dims[d].count), region.dims[d].stride);
  return twins_[(hash >> 16U) & twin_mask_];
}

NodeIndex RegionNodes::find_strided(const Region& region) const {
  NodeIndex index = twin_slot(region);
  while (index != no_node && (nodes_[index].base != region.base || shapes_[index] != region))
    index = nodes_[index].twin_next;
  return index;
}

NodeIndex RegionNodes::create(const Region& region) {
  NodeIndex index = free_node_;
  if (index != no_node) {
    free_node_ = nodes_[index].chain_next;
  } else {
    index = ++high_water_;
  }
  ++size_;
  Node& node = nodes_[index];
  node.base = region.base;
  node.extent = region.extent;
  node.writer = 0;
  node.reader_block = node.reader_count = node.readers_before_pruning = 0;
  node.level = static_cast<std::uint8_t>(level_of(region.extent));
  node.rank = region.rank;
  node.neighbour_count = 0;
  node.passes = passes_max;
  if (region.rank != 0) shapes_[index] = region;

  for_each_near(region, index, [&](NodeIndex other) {
    if (!share_a_byte(region, other)) return;
    const Region its = region_of(other);
    introduce(index, other, covers(region, its));
    introduce(other, index, covers(its, region));
  });
  link(index);
  return index;
}

void RegionNodes::remove(NodeIndex index) {
  if (crowded(index)) {
    for_each_near(region_of(index), index, [&](NodeIndex other) { part(other, index); });
  } else {
    for (unsigned n = 0; n < nodes_[index].neighbour_count; ++n) part(index_of(nodes_[index].neighbours[n]), index);
  }
  drop_accesses(index);
  unlink(index);
  nodes_[index].extent = 0;
  nodes_[index].chain_next = free_node_;
  free_node_ = index;
  --size_;
}

void RegionNodes::link(NodeIndex index) {
  Node& node = nodes_[index];
  std::uint32_t& chain = chains_[slot_of(node.level, node.base >> node.level)];
  node.chain_next = chain;
  chain = index;
  std::uint32_t& head = level_head_[node.level];
  node.level_next = head;
  node.level_previous = no_node;
  if (head != no_node) nodes_[head].level_previous = index;
  head = index;
  ++level_count_[node.level];
  levels_ |= std::uint64_t{1} << node.level;
  if (node.rank == 0) return;
  std::uint32_t& twin = twin_slot(shapes_[index]);
  node.twin_next = twin;
  twin = index;
}

void RegionNodes::unlink(NodeIndex index) {
  const Node& node = nodes_[index];
  std::uint32_t* chain = &chains_[slot_of(node.level, node.base >> node.level)];
  while (*chain != index) chain = &nodes_[*chain].chain_next;
  *chain = node.chain_next;
  (node.level_previous != no_node ? nodes_[node.level_previous].level_next : level_head_[node.level]) = node.level_next;
  if (node.level_next != no_node) nodes_[node.level_next].level_previous = node.level_previous;
  if (--level_count_[node.level] == 0) levels_ &= ~(std::uint64_t{1} << node.level);
  if (node.rank == 0) return;
  std::uint32_t* twin = &twin_slot(shapes_[index]);
  while (*twin != index) twin = &nodes_[*twin].twin_next;
  *twin = node.twin_next;
}

void RegionNodes::introduce(NodeIndex from, NodeIndex to, bool covers_it) {
  Node& node = nodes_[from];
  if (crowded(from)) return;
  if (node.neighbour_count < neighbours_max) node.neighbours[node.neighbour_count] = to | (covers_it ? covers_bit : 0);
  ++node.neighbour_count;
}

void RegionNodes::part(NodeIndex from, NodeIndex from_whom) {
  if (crowded(from)) return;
  Node& node = nodes_[from];
  for (unsigned n = 0; n < node.neighbour_count; ++n) {
    if (index_of(node.neighbours[n]) != from_whom) continue;
    node.neighbours[n] = node.neighbours[--node.neighbour_count];
    return;
  }
}

void RegionNodes::drop_accesses(NodeIndex index) {
  Node& node = nodes_[index];
  accesses_ -= node.reader_count + static_cast<std::uint32_t>(node.writer != 0);
  node.writer = 0;
  node.reader_count = node.readers_before_pruning = 0;
  while (node.reader_block != 0) {
    const std::uint32_t block = node.reader_block;
    node.reader_block = blocks_[block].next;
    blocks_[block].next = free_block_;
    free_block_ = block;
  }
}

void RegionNodes::drop_covered(NodeIndex index) {
  if (!crowded(index)) {
    for (unsigned n = 0; n < nodes_[index].neighbour_count; ++n) {
      const std::uint32_t neighbour = nodes_[index].neighbours[n];
      if ((neighbour & covers_bit) != 0) drop_accesses(index_of(neighbour));
    }
    return;
  }
  const Region region = region_of(index);
  for_each_near(region, index, [&](NodeIndex other) {
    if (!idle(other) && covers(region, region_of(other))) drop_accesses(other);
  });
}

}  // namespace heddle::graph
