// SPDX-License-Identifier: Apache-2.0
#include "graph/ring_report.hpp"

#include <algorithm>
#include <string>

namespace heddle::graph {

namespace {

std::string count(std::uint64_t number, const char* what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

std::string in_ring(const StuckRing& stuck) { return " of ring " + std::to_string(stuck.ring); }

std::string holder(const StuckRing& stuck) {
  if (stuck.holder.file == nullptr) return "the round's own scope, which is still open";
  return std::string(stuck.one_scope ? "the open scope at " : "open scopes from ") + stuck.holder.text() +
         (stuck.one_scope ? "" : " inwards");
}

std::string least(const StuckRing& stuck, const char* setting, std::uint64_t size) {
  return std::string("; ") + setting + " = " + std::to_string(size) +
         (stuck.incomplete ? " is needed to get past this point" : " is the least with which this program ends");
}

std::string window_message(const StuckRing& stuck, const RingConfig& config) {
  return "the task window" + in_ring(stuck) + " (" + count(config.task_window, "slot") +
         ") is full: " + count(stuck.held_tasks, "task") + " held by " + holder(stuck) +
         least(stuck, "task_window", stuck.needed_window);
}

std::string heap_message(const StuckRing& stuck, const RingConfig& config) {
  const std::string asked = count(stuck.request.heap_bytes, "byte") + " asked for";
  const std::string size = "the heap" + in_ring(stuck) + " (" + count(config.heap_bytes, "byte") + ")";
  const std::string needed = least(stuck, "heap_bytes", stuck.needed_heap);
  if (stuck.exceeds) return asked + " at once, more than " + size + needed;
  return size + " cannot serve " + asked + ": " + count(stuck.held_heap, "byte") + " in " +
         count(stuck.held_tasks, "task") + " held by " + holder(stuck) + needed;
}

std::string pool_message(const StuckRing& stuck, const RingConfig& config) {
  const std::string size = "the dependency pool" + in_ring(stuck) + " (" + std::to_string(config.dep_pool) +
                           (config.dep_pool == 1 ? " entry)" : " entries)");
  const std::string asked = count(stuck.request.edges, "producer");
  const std::uint64_t needed = stuck.exceeds ? stuck.request.edges : stuck.held_edges + stuck.request.edges;
  const std::string sizing = "; dep_pool = " + std::to_string(needed) + " is needed to get past this point";
  if (stuck.exceeds) return "one task has " + asked + ", more than " + size + sizing;
  return size + " cannot serve " + asked + ": " + std::to_string(stuck.held_edges) + " held by " + holder(stuck) +
         sizing;
}

}  // namespace

Code code_of(const StuckRing& stuck) {
  switch (stuck.resource) {
    case Resource::heap:
      return Code::heap_ring_deadlock;
    case Resource::dep_pool:
      return Code::dep_pool_overflow;
    case Resource::task_window:
      return stuck.one_scope ? Code::scope_deadlock : Code::flow_control_deadlock;
    case Resource::none:
      break;
  }
  return Code::no_progress;
}

Error ring_deadlock(const StuckRing& stuck, const RingConfig& config) {
  std::string message;
  if (stuck.resource == Resource::task_window) message = window_message(stuck, config);
  if (stuck.resource == Resource::heap) message = heap_message(stuck, config);
  if (stuck.resource == Resource::dep_pool) message = pool_message(stuck, config);
  return Error(code_of(stuck), std::move(message)).at_task(stuck.task, -1, stuck.location);
}

Error region_map_too_small(std::uint64_t accesses, std::uint64_t capacity, const char* task, const Location& location) {
  return Error(Code::region_map_full, "one task has " + count(accesses, "argument") +
                                          " that take part in inference, more than the table (" +
                                          std::to_string(capacity) + "); region_entries = " + std::to_string(accesses) +
                                          " is needed to get past this point")
      .at_task(task, -1, location);
}

}  // namespace heddle::graph
