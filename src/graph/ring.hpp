// SPDX-License-Identifier: Apache-2.0
//
// A ring: the slots, the heap and the edges of the tasks of one scope depth, each bounded, handed out together and
// given back in order. Only the rank's orchestrator touches the cursors; workers touch slots.
//
//   tail            open_from        head
//    | may retire ...| held by an open scope |
//
// What an open scope submitted, and all after it, stays until that scope ends. What lies before retires when it is
// complete and nobody uses its memory. So a request that would not fit into the ring with [open_from, head) still there
// can never be met while the orchestrator waits: that is a deadlock, known at once.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <heddle/session.hpp>
#include <new>

#include "base/faulty.hpp"
#include "graph/memory.hpp"
#include "graph/ring_report.hpp"
#include "graph/slot.hpp"

namespace heddle::graph {

inline constexpr std::uint64_t heap_alignment = 1024;

template <base::Environment E>
class Ring {
 public:
  Ring(const RingConfig& config, std::uint32_t index)
      : config_(config),
        index_(index),
        slot_mask_(std::bit_ceil(std::uint64_t{config.task_window}) - 1),
        edge_mask_(std::bit_ceil(std::uint64_t{config.dep_pool}) - 1) {}

  ~Ring() {
    for (std::uint64_t serial = 1; serial < constructed_; ++serial) slot(serial).~Slot<E>();
  }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  Slot<E>& slot(std::uint64_t serial) const {
    return *std::launder(reinterpret_cast<Slot<E>*>(slot_memory_.data() + (serial & slot_mask_) * sizeof(Slot<E>)));
  }

  // The scarce resource when the request does not fit now.
  Resource lacking(const RingRequest& request) const { return lacking_with(request, tail_, heap_tail_, edge_tail_); }

  // The same as if everything that can retire without the orchestrator had retired.
  Resource lacking_for_good(const RingRequest& request) const {
    if (open_from_ >= head_) return lacking_with(request, head_, heap_head_, edge_head_);
    return lacking_with(request, open_from_, heap_start(open_from_), edge_start(open_from_));
  }

  // Larger than the ring: no waiting could help.
  Resource exceeding(const RingRequest& request) const {
    if (request.heap_bytes > config_.heap_bytes) return Resource::heap;
    return request.edges > config_.dep_pool ? Resource::dep_pool : Resource::none;
  }

  // Takes the ring's address space, heap apart, which most rings never need: only some programs open scopes. Throws
  // heddle::Error(invalid_argument) when the system refuses.
  void map() {
    if (mapped()) return;
    edge_memory_ = LazyMemory((edge_mask_ + 1) * sizeof(Edge<E>), "the dependency pool", Contents::any);
    mark_memory_ = LazyMemory((slot_mask_ + 1) * sizeof(Mark), "the task window", Contents::any);
    slot_memory_ = LazyMemory((slot_mask_ + 1) * sizeof(Slot<E>), "the task window", Contents::any);
  }
  bool mapped() const { return slot_memory_.data() != nullptr; }

  // Takes slot, heap and edges. Only when nothing is lacking.
  Slot<E>& take(const RingRequest& request, void* rank) {
    map();
    if (request.heap_bytes > 0) map_heap();
    if (head_ == tail_ && request.heap_bytes > 0) {  // empty: start over at the pages that are resident already
      if (heap_head_ % heap_.bytes() != 0) E::mark("ring_rebased");
      heap_head_ = heap_tail_ = (heap_head_ + heap_.bytes() - 1) / heap_.bytes() * heap_.bytes();
    }
    const std::uint64_t serial = head_++;
    void* place = slot_memory_.data() + (serial & slot_mask_) * sizeof(Slot<E>);
    if (serial >= constructed_ && constructed_ <= slot_mask_ + 1) {
      new (place) Slot<E>();
      constructed_ = serial + 1;
    } else {
      E::mark("ring_wrapped");
    }
    Slot<E>& taken = slot(serial);
    taken.ref = (std::uint64_t{index_} << ring_shift) | serial;
    taken.rank = rank;
    taken.edges = reinterpret_cast<Edge<E>*>(edge_memory_.data());
    taken.edge_mask = edge_mask_;
    taken.first_edge = edge_head_;
    taken.memory = request.heap_bytes > 0 ? heap_.at(heap_head_) : nullptr;
    heap_head_ += request.heap_bytes;
    edge_head_ += request.edges;
    mark(serial) = {heap_head_, edge_head_};
    return taken;
  }

  // Gives back what can be given back. True when anything was.
  bool advance() {
    most_ = taken_at_most();  // it only grows until something is given back
    const std::uint64_t before = tail_;
    const std::uint64_t end = std::min(open_from_, head_);
    while (tail_ < end && retired(slot(tail_))) {
      heap_tail_ = mark(tail_).heap_end;
      edge_tail_ = mark(tail_).edge_end;
      ++tail_;
    }
    return tail_ != before;
  }

  static bool retired(const Slot<E>& slot) {
    if (!slot.complete()) return false;
    // acquire: partner is the unpinning in complete() of the last reader.
    return (slot.flags & slot_owns_memory) == 0 ||
           slot.pins.load(E::order("retire_acquire", std::memory_order_acquire)) == 0;
  }

  // While a deadlock is sized: moves the cursors as take() would in a ring without bounds.
  void begin_pretending() {
    real_ = {head_, heap_head_};
    pretending_ = true;
    needed_window_ = needed_heap_ = 0;
    held_heap_from_ = open_from_ < head_ ? heap_start(open_from_) : heap_head_;
  }
  void pretend(const RingRequest& request) {
    ++head_;
    heap_head_ += request.heap_bytes;
    needed_window_ = std::max(needed_window_, head_ - std::min(open_from_, head_ - 1));
    needed_heap_ = std::max(needed_heap_, heap_head_ - held_heap_from_);
  }
  void stop_pretending() {
    head_ = open_from_ = real_.head;
    heap_head_ = real_.heap_end;
    pretending_ = false;
  }
  std::uint64_t needed_window() const { return needed_window_; }
  std::uint64_t needed_heap() const { return needed_heap_; }

  // The first task that a scope still open has submitted here; head() when there is none.
  void set_open_from(std::uint64_t serial) {
    if (pretending_ && serial >= head_) held_heap_from_ = heap_head_;
    open_from_ = serial;
  }
  std::uint64_t open_from() const { return open_from_; }
  std::uint64_t head() const { return head_; }
  // The end of the tasks that have a slot, also while a deadlock is sized.
  std::uint64_t filled() const { return pretending_ ? real_.head : head_; }
  std::uint64_t tail() const { return tail_; }
  bool empty() const { return head_ == tail_; }
  std::uint64_t heap_held() const { return heap_head_ - (open_from_ < head_ ? heap_start(open_from_) : heap_tail_); }
  std::uint64_t edges_held() const { return edge_head_ - (open_from_ < head_ ? edge_start(open_from_) : edge_tail_); }
  std::uint64_t heap_used() const { return heap_head_ - heap_tail_; }
  std::uint64_t edges_used() const { return edge_head_ - edge_tail_; }
  // ---- for statistics ----
  RingRoom taken_at_most() const {
    return {std::max(most_.tasks, head_ - tail_), std::max(most_.heap_bytes, heap_used()),
            std::max(most_.edges, edges_used())};
  }
  // What a scope that is still open, and submitted this task first, has taken with all after it.
  RingRoom taken_from(std::uint64_t serial) const {
    return {head_ - serial, heap_head_ - heap_start(serial), edge_head_ - edge_start(serial)};
  }
  void count_wait() { ++waits_; }
  std::uint64_t waits() const { return waits_; }

  std::byte* heap_base() {
    map_heap();
    return heap_.at(0);
  }
  const RingConfig& config() const { return config_; }
  std::uint32_t index() const { return index_; }

  static constexpr std::uint32_t ring_shift = 62;
  static std::uint64_t serial_of(TaskRef ref) { return ref & ((std::uint64_t{1} << ring_shift) - 1); }
  static std::uint32_t ring_of(TaskRef ref) { return static_cast<std::uint32_t>(ref >> ring_shift); }

 private:
  void map_heap() {
    if (heap_.bytes() == 0) heap_ = MirroredMemory(config_.heap_bytes, "the heap");
  }

  struct Mark {
    std::uint64_t heap_end;
    std::uint64_t edge_end;
  };
  struct Cursors {
    std::uint64_t head = 0;
    std::uint64_t heap_end = 0;
  };
  Mark& mark(std::uint64_t serial) const { return reinterpret_cast<Mark*>(mark_memory_.data())[serial & slot_mask_]; }
  std::uint64_t heap_start(std::uint64_t serial) const {
    return serial <= tail_ ? heap_tail_ : mark(serial - 1).heap_end;
  }
  std::uint64_t edge_start(std::uint64_t serial) const {
    return serial <= tail_ ? edge_tail_ : mark(serial - 1).edge_end;
  }

  // The fault: what a heap that is mapped once loses at its end, when a block does not fit there.
  std::uint64_t before_wrap(std::uint64_t bytes) const {
    const std::uint64_t left = config_.heap_bytes - heap_head_ % config_.heap_bytes;
    return bytes > left ? left : 0;
  }

  Resource lacking_with(const RingRequest& request, std::uint64_t tail, std::uint64_t heap_tail,
                        std::uint64_t edge_tail) const {
    if (head_ - tail >= config_.task_window) return Resource::task_window;
    const std::uint64_t skipped = base::faulty<E>("ring_parked") ? before_wrap(request.heap_bytes) : 0;
    if (heap_head_ - heap_tail + skipped + request.heap_bytes > config_.heap_bytes) return Resource::heap;
    return edge_head_ - edge_tail + request.edges > config_.dep_pool ? Resource::dep_pool : Resource::none;
  }

  RingConfig config_;
  std::uint32_t index_;
  std::uint64_t slot_mask_;
  std::uint64_t edge_mask_;
  std::uint64_t head_ = 1;
  std::uint64_t tail_ = 1;
  std::uint64_t open_from_ = 1;
  std::uint64_t constructed_ = 1;
  std::uint64_t heap_head_ = 0;
  std::uint64_t heap_tail_ = 0;
  std::uint64_t edge_head_ = 0;
  std::uint64_t edge_tail_ = 0;
  std::uint64_t needed_window_ = 0;
  std::uint64_t needed_heap_ = 0;
  std::uint64_t held_heap_from_ = 0;
  bool pretending_ = false;
  RingRoom most_;
  std::uint64_t waits_ = 0;
  Cursors real_;
  LazyMemory slot_memory_;
  LazyMemory edge_memory_;
  LazyMemory mark_memory_;
  MirroredMemory heap_;
};

}  // namespace heddle::graph
