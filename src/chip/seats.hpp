// SPDX-License-Identifier: Apache-2.0
//
// What a scheduler knows of its cores, and where the next block may go. Only the scheduler touches it; reports read it
// when no agent runs.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "chip/core.hpp"
#include "chip/geometry.hpp"
#include "chip/protocol.hpp"
#include "chip/ready_queue.hpp"

namespace heddle::chip {

// A part of a block that a core was given.
template <base::Environment E>
struct Assignment {
  Token token = no_token;
  graph::Slot<E>* slot = nullptr;
  std::uint32_t block = 0;
  std::uint32_t part = 0;
  explicit operator bool() const { return token != no_token; }
};

template <base::Environment E>
struct Seat {
  explicit Seat(Core<E>& its_core) : core(&its_core) {}

  Core<E>* core;
  Assignment<E> running;  // handed out first; `acknowledged` once the core was seen to have taken it up
  Assignment<E> pending;
  Token token = no_token;  // the last one handed out
  std::uint32_t seen = 0;  // the status that was concluded from last
  bool acknowledged = false;
  bool gated = false;              // the running task waits for ring_gates()
  bool started = false;            // core_needed() was told
  bool waits_for_pending = false;  // the running task was seen to finish, the pending one not to start
  std::uint64_t waits_since = 0;   // virtual or steady time
  std::uint32_t anomalies = 0;
  std::uint32_t withheld = 0;      // of these, waits for a pending task that were given up
  const char* withheld_task = "";  // whose end was then taken for told
  std::uint32_t withheld_block = 0;
  std::uint32_t busy_at = 0;  // place in the list of busy seats
};

// Where a block may go: to cores that do nothing, or also to pending slots.
enum class Where : std::uint8_t { idle, open };

// The lanes of each cluster by what they can take: a bit each, the cube core's is bit 0.
class Lanes {
 public:
  Lanes(const Geometry& geometry, std::uint32_t clusters) {
    Cluster empty;
    empty.idle = static_cast<std::uint8_t>((1U << geometry.lanes()) - 1U);
    clusters_.assign(clusters, empty);
  }

  static constexpr std::uint32_t nowhere = UINT32_MAX;

  void set_idle(std::uint32_t cluster, std::uint32_t lane) { set(cluster, lane, true, false, false); }
  void set_open(std::uint32_t cluster, std::uint32_t lane) { set(cluster, lane, false, true, false); }
  void set_taken(std::uint32_t cluster, std::uint32_t lane) { set(cluster, lane, false, false, false); }
  void set_full(std::uint32_t cluster, std::uint32_t lane) { set(cluster, lane, false, false, true); }
  void set_suspect(std::uint32_t cluster) { clusters_[cluster].suspect = true; }

  // Blocks of a shape that can be placed now.
  std::uint32_t room(std::uint32_t shape, Where where) const {
    std::uint32_t sum = 0;
    for (std::uint32_t i = 0; i < clusters_.size(); ++i) sum += fit(shapes[shape], mask(i, shape, where));
    return sum;
  }
  std::uint32_t candidates(std::uint32_t shape, Where where) const {
    std::uint32_t sum = 0;
    for (std::uint32_t i = 0; i < clusters_.size(); ++i) sum += fit(shapes[shape], mask(i, shape, where)) != 0 ? 1 : 0;
    return sum;
  }
  std::uint32_t candidate(std::uint32_t shape, Where where, std::uint32_t which) const {
    for (std::uint32_t i = 0; i < clusters_.size(); ++i)
      if (fit(shapes[shape], mask(i, shape, where)) != 0 && which-- == 0) return i;
    return nowhere;
  }
  // A vector lane that can take a part, an idle one if there is one.
  std::uint32_t vector_lane(std::uint32_t cluster, Where where) const {
    const Cluster& lanes = clusters_[cluster];
    const std::uint32_t idle = lanes.idle & ~1U;
    const std::uint32_t any = where == Where::idle || idle != 0 ? idle : lanes.open & ~1U;
    return static_cast<std::uint32_t>(std::countr_zero(any));
  }

  // A mixed block that finds no place would be overtaken for ever by single ones that take its lanes one by one. One
  // cluster is kept for it: its pending slots are not filled, and so run dry; once only acknowledges are missing, which
  // come by themselves, its idle lanes are held, too. Neither can keep a task from a core that never comes free.
  void reserve() {
    const auto full = [&](std::uint32_t i) { return std::popcount(clusters_[i].full); };
    std::uint32_t best = reserved_ != nowhere && !clusters_[reserved_].suspect ? reserved_ : nowhere;
    for (std::uint32_t i = 0; i < clusters_.size(); ++i)
      if (!clusters_[i].suspect && (best == nowhere || full(i) < full(best))) best = i;
    reserved_ = best;
    holds_ = best != nowhere;
  }
  void release() { holds_ = false; }
  bool holds() const { return holds_; }

 private:
  struct Cluster {
    std::uint8_t idle = 0;
    std::uint8_t open = 0;  // the running task was taken up and nothing is pending
    std::uint8_t full = 0;  // something is pending
    bool suspect = false;   // a core of it was seen to withhold
  };

  void set(std::uint32_t cluster, std::uint32_t lane, bool idle, bool open, bool full) {
    const auto change = [bit = 1U << lane](std::uint8_t& mask, bool on) {
      mask = static_cast<std::uint8_t>(on ? mask | bit : mask & ~bit);
    };
    change(clusters_[cluster].idle, idle);
    change(clusters_[cluster].open, open);
    change(clusters_[cluster].full, full);
  }

  // A mixed block may also start on the idle lanes of a cluster and stand pending on the others.
  std::uint32_t mask(std::uint32_t cluster, std::uint32_t shape, Where where) const {
    const Cluster& lanes = clusters_[cluster];
    if (shape < mixed_shape_count) return where == Where::idle ? lanes.idle : lanes.idle | lanes.open;
    if (!holds_ || cluster != reserved_) return where == Where::idle ? lanes.idle : lanes.open;
    return where == Where::idle && lanes.full != 0 ? lanes.idle : 0U;
  }

  static std::uint32_t fit(Cores cores, std::uint32_t mask) {
    const auto vectors = static_cast<std::uint32_t>(std::popcount(mask >> 1U));
    if (cores.cubes == 0) return vectors / cores.vectors;
    return (mask & 1U) != 0 && vectors >= cores.vectors ? 1 : 0;
  }

  std::vector<Cluster> clusters_;
  std::uint32_t reserved_ = nowhere;  // kept from turn to turn, so that it does run dry
  bool holds_ = false;
};

}  // namespace heddle::chip
