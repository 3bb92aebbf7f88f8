// SPDX-License-Identifier: Apache-2.0
//
// The region map infers dependencies: it remembers which tasks accessed which bytes, and names those that a new access
// must wait for. It is keyed by bytes, not by allocation, view or element type. One orchestrator owns a map; nothing
// here is thread-safe. All memory is set aside when the map is made (and touched only when used).
//
// For each task: `reserve` the number of its accesses, `collect` for each of its arguments, then `record` each of them.
//
// How it works. Each distinct region in use is a node: its last write and the reads since. Equal regions share a node.
// A node lists the nodes whose bytes it shares, so that a repeated access costs what it conflicts with, not what is
// nearby. A node with too many such neighbours looks them up instead. The look-up is by address: a region of at most
// 2^k bytes sits at level k in the bucket of its first byte, so that a query visits few buckets at each level in use.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <vector>

#include "graph/region.hpp"
#include "graph/region_nodes.hpp"

namespace heddle::graph {

class RegionMap {
 public:
  static constexpr std::uint32_t default_entries = 65'536;
  static constexpr std::uint32_t entries_max = RegionNodes::entries_max;

  /// A map that holds up to `entries` accesses (at least 1, at most `entries_max`).
  /// Throws heddle::Error(invalid_argument) when the address space cannot be had.
  explicit RegionMap(std::uint32_t entries = default_entries) : nodes_(entries) {}

  /// Calls `sink(task)` for each live recorded access that conflicts with this one: a read with earlier writes, a write
  /// with everything. A task may be named more than once. Records nothing. `sink` must not use the map. What is asked
  /// of `live`, and in which order, does not depend on where memory lies: regions that meet this one go by their
  /// addresses within it.
  template <Liveness Live, TaskSink Sink>
  void collect(const Region& region, Access access, Live&& live, Sink&& sink) {
    if (region.empty()) return;
    const NodeIndex own = touched_node_of(region, live);
    collect_from(own, access, live, sink);
    if (nodes_[own].neighbour_count == 0) return;
    met_.clear();
    if (nodes_.crowded(own)) {
      nodes_.survey(own, [this](NodeIndex other) { met_.push_back(other); });
    } else {
      for (unsigned n = 0; n < nodes_[own].neighbour_count; ++n)
        met_.push_back(RegionNodes::index_of(nodes_[own].neighbours[n]));
    }
    if (met_.size() > 1)
      std::sort(met_.begin(), met_.end(), [this](NodeIndex a, NodeIndex b) { return nodes_.before(a, b); });
    for (const NodeIndex other : met_) collect_from(other, access, live, sink);
  }

  /// Records an access of `task`. A write supersedes every access it covers: whoever conflicts with those conflicts
  /// with the write, and the write comes after them (`collect` named them). False, with nothing recorded or superseded,
  /// when live accesses fill the map. `collect` for all of a task's accesses comes before `record` of its first.
  template <Liveness Live>
  bool record(const Region& region, Access access, TaskRef task, Live&& live) {
    if (region.empty()) return true;
    const NodeIndex own = node_of(region, live);
    const bool replaces = access == Access::write && !nodes_.idle(own);
    if (!replaces && nodes_.accesses() == nodes_.capacity() && !reserve(1, live)) return false;
    if (access == Access::read) {
      nodes_.add_reader(own, task, live);
    } else {
      if (nodes_[own].neighbour_count != 0) nodes_.drop_covered(own);
      nodes_.set_writer(own, task);
    }
    return true;
  }

  /// True when the next `accesses` calls of `record` will succeed; forgets accesses of completed tasks to make room.
  template <Liveness Live>
  bool reserve(std::uint32_t accesses, Live&& live) {
    if (accesses <= nodes_.capacity() - nodes_.accesses()) return true;
    if (accesses > nodes_.capacity()) return false;
    return nodes_.forget_completed(accesses, live);
  }

  /// Calls `holder(region, access, task)` for each live access, in no particular order.
  template <Liveness Live, class Holder>
    requires std::invocable<Holder&, const Region&, Access, TaskRef>
  void for_each_holder(Live&& live, Holder&& holder) const {
    nodes_.for_each_access([&](const Region& region, Access access, TaskRef task) {
      if (live(task)) holder(region, access, task);
    });
  }

  /// Accesses that the map can hold.
  std::uint32_t capacity() const { return nodes_.capacity(); }
  /// Accesses recorded and not yet forgotten; some may be of completed tasks.
  std::uint32_t in_use() const { return nodes_.accesses(); }
  /// Distinct regions remembered, in use or idle.
  std::uint32_t regions() const { return nodes_.size(); }
  const OverlapStatistics& overlap_statistics() const { return nodes_.overlap_statistics(); }

 private:
  // A region that comes back is worth remembering while idle; one that was seen once is not.
  template <class Live>
  NodeIndex touched_node_of(const Region& region, Live& live) {
    const NodeIndex known = nodes_.find(region);
    if (known == no_node) return new_node_of(region, live);
    nodes_.touch(known);
    return known;
  }
  template <class Live>
  NodeIndex node_of(const Region& region, Live& live) {
    const NodeIndex known = nodes_.find(region);
    return known != no_node ? known : new_node_of(region, live);
  }
  template <class Live>
  NodeIndex new_node_of(const Region& region, Live& live) {
    nodes_.make_room(live);
    return nodes_.create(region);
  }

  template <class Live, class Sink>
  void collect_from(NodeIndex index, Access access, Live& live, Sink& sink) {
    const TaskRef writer = nodes_[index].writer;
    if (writer != 0) {
      if (live(writer)) {
        sink(writer);
      } else {
        nodes_.drop_writer(index);
      }
    }
    if (access == Access::write && nodes_[index].reader_count != 0) nodes_.prune_readers(index, live, sink);
  }

  RegionNodes nodes_;
  std::vector<NodeIndex> met_;  // by one collect()
};

}  // namespace heddle::graph
