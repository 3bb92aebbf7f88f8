// SPDX-License-Identifier: Apache-2.0
//
// What the cube core of a cluster and its vector cores hand each other: counting flags, and queues of tiles. The counts
// stand in memory as signal cells do, so that waiting for them, cancelling the wait and telling of it are what they are
// for signals. A chip has one of these for each cluster, and counts stay there from kernel to kernel; the host has one
// for each mixed block that runs.
//
// Between the cube core and each vector core there is a count for either direction of each flag, and one for the tiles
// in either queue. Each has one core that adds and one that takes: what one of them has seen to be so, it finds so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <heddle/block.hpp>
#include <vector>

#include "base/environment.hpp"
#include "chip/geometry.hpp"
#include "window/signal.hpp"

namespace heddle::chip {

// One count.
struct HalfLink {
  std::uint32_t half = 0;  // of the vector core
  bool from_cube = false;
  std::uint32_t id = 0;  // a flag, or tile_link
};
inline constexpr std::uint32_t flag_ids_most = 16;
inline constexpr std::uint32_t tile_link = flag_ids_most;

// Contiguous, whatever its strides were.
struct QueuedTile {
  std::vector<std::byte> data;
  std::size_t element_bytes = 0;
  int rank = 0;
  std::int64_t shape[max_tensor_rank]{};
};

// The block that ended with more given than taken, while the count has not been zero since.
struct LeftBy {
  const char* task = nullptr;
  Location location;
  std::uint32_t block = 0;
};

template <base::Environment E>
class Handover {
 public:
  static constexpr std::uint32_t halves_most = Geometry::most_lanes - 1;

  // `halves`: vector cores, at most halves_most.
  Handover(std::uint32_t halves, std::uint32_t tiles) : halves_(halves), depth_(tiles == 0 ? 1 : tiles) {
    table_.part.push_back(reinterpret_cast<std::byte*>(counts_));
    table_.bytes = sizeof counts_;
    table_.name = "flags";
  }
  Handover(const Handover&) = delete;
  Handover& operator=(const Handover&) = delete;

  heddle::detail::SignalRef cell(const HalfLink& link) { return {&counts_[number(link)], &table_, 0, false}; }
  std::int64_t count(const HalfLink& link) { return window::load<E>(cell(link)); }
  void add(const HalfLink& link) { window::update<E>(cell(link), 1, Notify::add); }
  void take(const HalfLink& link) { window::update<E>(cell(link), -1, Notify::add); }

  // Of the core that pushes, while the count is not full, before it adds; of the core that pops, while the count is not
  // zero, before it takes.
  QueuedTile& pushed(const HalfLink& link) { return tile(link, queue(link).in++); }
  QueuedTile& oldest(const HalfLink& link) { return tile(link, queue(link).out); }
  void popped(const HalfLink& link) { ++queue(link).out; }

  LeftBy& left_by(const HalfLink& link) { return left_[number(link)]; }

  // For reports, and for who starts anew when no half runs.
  template <class Visit>
  void for_each(Visit&& visit) {
    for (std::uint32_t half = 0; half < halves_; ++half)
      for (const bool from_cube : {true, false})
        for (std::uint32_t id = 0; id <= tile_link; ++id) visit(HalfLink{half, from_cube, id});
  }
  void clear() {
    // relaxed: no half runs, and what makes it known to the next ones orders it.
    for_each([this](const HalfLink& link) {
      if (count(link) != 0) E::atomic_ref(counts_[number(link)]).store(0, std::memory_order_relaxed);
    });
    for (Queue& queue : queues_) queue.in = queue.out = 0;
  }

 private:
  struct Queue {
    std::vector<QueuedTile> tiles;
    std::uint64_t in = 0;   // of the core that pushes
    std::uint64_t out = 0;  // of the core that pops
  };
  static constexpr std::uint32_t counts = halves_most * 2 * (tile_link + 1);

  static std::uint32_t number(const HalfLink& link) {
    return (link.half * 2 + (link.from_cube ? 0 : 1)) * (tile_link + 1) + link.id;
  }
  Queue& queue(const HalfLink& link) { return queues_[link.half * 2 + (link.from_cube ? 0 : 1)]; }
  QueuedTile& tile(const HalfLink& link, std::uint64_t index) {
    Queue& of = queue(link);
    if (of.tiles.empty()) of.tiles.resize(depth_);  // before the first add
    return of.tiles[index % depth_];
  }

  // Where a wait is kept depends on the address: so it does not depend on where this was allocated.
  alignas(256) std::int32_t counts_[counts]{};
  LeftBy left_[counts];
  Queue queues_[halves_most * 2];
  std::uint32_t halves_;
  std::uint32_t depth_;
  heddle::detail::WindowTable table_;
};

}  // namespace heddle::chip
