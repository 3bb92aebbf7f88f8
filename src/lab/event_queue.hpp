// SPDX-License-Identifier: Apache-2.0
//
// What may happen next, earliest first: a 4-ary heap ordered by time and, among equal times, by the order in which
// things were put in. Each thing knows its place, so that it can be taken out from the middle.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle::lab {

// Base of what can be queued. Not to be moved while queued; a copy is not queued.
class Queued {
 public:
  bool is_agent() const noexcept { return is_agent_; }

 protected:
  explicit Queued(bool is_agent = false) noexcept : is_agent_(is_agent) {}
  ~Queued() = default;

 private:
  friend class EventQueue;
  friend class Simulator;
  std::size_t place_ = 0;  // index in the heap, true only if that entry names this object
  std::uint64_t key_ = 0;  // for the simulator: what names it in every order of the same things
  bool is_agent_;
};

class EventQueue {
 public:
  struct Entry {
    std::uint64_t time;
    std::uint64_t sequence;
    Queued* item;
  };

  bool empty() const noexcept { return heap_.empty(); }
  std::size_t size() const noexcept { return heap_.size(); }
  const Entry& top() const noexcept { return heap_.front(); }
  bool holds(const Queued& item) const noexcept {
    return item.place_ < heap_.size() && heap_[item.place_].item == &item;
  }
  // Of an item that the queue holds.
  std::uint64_t time_of(const Queued& item) const noexcept { return heap_[item.place_].time; }

  // An item that is already queued is moved to the new time, behind what else has that time.
  void put(std::uint64_t time, Queued& item) {
    remove(item);
    heap_.push_back(Entry{time, next_sequence_++, &item});
    rise(heap_.size() - 1);
  }

  void remove(Queued& item) noexcept {
    if (!holds(item)) return;
    const std::size_t hole = item.place_;
    const Entry last = heap_.back();
    heap_.pop_back();
    if (hole == heap_.size()) return;
    set(hole, last);
    rise(hole);
    sink(last.item->place_);
  }

  // Whether more than one thing has the earliest time. Not of an empty queue.
  bool tie() const noexcept {
    const std::size_t end = std::min(heap_.size(), width + 1);
    for (std::size_t child = 1; child < end; ++child) {
      if (heap_[child].time == heap_.front().time) return true;
    }
    return false;
  }

  // The first `most` things in their order; only those that have the earliest time, if so wished.
  void earliest(std::size_t most, bool earliest_time_only, std::vector<Entry>& found) {
    found.clear();
    frontier_.clear();
    if (!heap_.empty()) frontier_.push_back(0);
    while (!frontier_.empty() && found.size() < most) {
      const auto first = std::min_element(frontier_.begin(), frontier_.end(),
                                          [this](std::size_t a, std::size_t b) { return before(heap_[a], heap_[b]); });
      const std::size_t at = *first;
      *first = frontier_.back();
      frontier_.pop_back();
      found.push_back(heap_[at]);
      const std::size_t end = std::min(heap_.size(), width * at + width + 1);
      for (std::size_t child = width * at + 1; child < end; ++child) {
        if (!earliest_time_only || heap_[child].time == heap_.front().time) frontier_.push_back(child);
      }
    }
  }

 private:
  static constexpr std::size_t width = 4;

  static bool before(const Entry& left, const Entry& right) noexcept {
    return left.time != right.time ? left.time < right.time : left.sequence < right.sequence;
  }
  void set(std::size_t place, const Entry& entry) noexcept {
    heap_[place] = entry;
    entry.item->place_ = place;
  }
  void rise(std::size_t place) noexcept {
    const Entry entry = heap_[place];
    while (place > 0) {
      const std::size_t parent = (place - 1) / width;
      if (!before(entry, heap_[parent])) break;
      set(place, heap_[parent]);
      place = parent;
    }
    set(place, entry);
  }
  void sink(std::size_t place) noexcept {
    const Entry entry = heap_[place];
    for (;;) {
      const std::size_t first = width * place + 1;
      if (first >= heap_.size()) break;
      const std::size_t end = std::min(heap_.size(), first + width);
      std::size_t least = first;
      for (std::size_t child = first + 1; child < end; ++child) {
        if (before(heap_[child], heap_[least])) least = child;
      }
      if (!before(heap_[least], entry)) break;
      set(place, heap_[least]);
      place = least;
    }
    set(place, entry);
  }

  std::vector<Entry> heap_;
  std::vector<std::size_t> frontier_;  // of earliest(), kept for its memory
  std::uint64_t next_sequence_ = 0;
};

}  // namespace heddle::lab
