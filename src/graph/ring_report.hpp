// SPDX-License-Identifier: Apache-2.0
//
// Words for a ring or an inference table that can never have the room that a submit asks for.
#pragma once

#include <cstdint>
#include <heddle/error.hpp>
#include <heddle/session.hpp>

namespace heddle::graph {

enum class Resource : std::uint8_t { none, task_window, heap, dep_pool };

// What a task takes from a ring besides its slot.
struct RingRequest {
  std::uint64_t heap_bytes = 0;  // a multiple of the ring's alignment
  std::uint64_t edges = 0;
};

// A deadlock as it stood when it was found, and what the rest of the program would have needed.
struct StuckRing {
  Resource resource = Resource::none;
  std::uint32_t ring = 0;
  RingRequest request;
  bool exceeds = false;     // the one request is larger than the ring
  bool one_scope = true;    // a single open scope holds what is held
  bool incomplete = false;  // the program read a value that it could not have: the sizes are lower bounds
  std::uint64_t held_tasks = 0;
  std::uint64_t held_heap = 0;
  std::uint64_t held_edges = 0;
  std::uint64_t needed_window = 0;
  std::uint64_t needed_heap = 0;
  const char* task = "";
  Location location;
  Location holder;  // unknown: the round's own scope
};

Code code_of(const StuckRing& stuck);
Error ring_deadlock(const StuckRing& stuck, const RingConfig& config);
Error region_map_too_small(std::uint64_t accesses, std::uint64_t capacity, const char* task, const Location& location);

}  // namespace heddle::graph
