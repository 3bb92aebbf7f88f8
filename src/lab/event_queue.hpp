// SPDX-License-Identifier: Apache-2.0
//
// What may happen next, earliest first and, among equal times, in the order in which things were put in. What comes
// soon stands in a wheel with a list for each nanosecond, so that putting, taking and going through equal times cost
// the same however much is on its way; the rest waits in a 4-ary heap until its time is near. Each thing knows its
// place, so that it can be taken out from the middle.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
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
  std::uint32_t place_ = 0;  // number of its node, true only if that node names this object
  bool is_agent_;
  std::uint64_t key_ = 0;  // for the simulator: what names it in every order of the same things
};

class EventQueue {
 public:
  struct Entry {
    std::uint64_t time;
    std::uint64_t sequence;
    Queued* item;
  };

  bool empty() const noexcept { return busy_words_ == 0 && heap_.empty(); }
  std::size_t size() const noexcept { return size_; }
  // The first of all. Not of an empty queue.
  Entry top() const noexcept { return entry_of(first()); }
  bool holds(const Queued& item) const noexcept {
    return item.place_ < nodes_.size() && nodes_[item.place_].item == &item;
  }
  // Of an item that the queue holds.
  std::uint64_t time_of(const Queued& item) const noexcept { return nodes_[item.place_].time; }

  // An item that is already queued is moved to the new time, behind what else has that time.
  void put(std::uint64_t time, Queued& item) {
    remove(item);
    const NodeNumber number = new_node();
    nodes_[number] = Node{time, next_sequence_++, &item, none, none};
    item.place_ = number;
    ++size_;
    is_near(time) ? append(number) : push(number);
  }

  void remove(Queued& item) noexcept {
    if (!holds(item)) return;
    const NodeNumber number = item.place_;
    Node& node = nodes_[number];
    node.next == in_heap ? take_from_heap(node.place) : unlink(number);
    node.item = nullptr;
    node.next = free_;
    free_ = number;
    --size_;
  }

  // Time has come to what is first: what is near is counted from there on. Only a matter of speed.
  void advance() {
    if (empty()) return;
    const std::uint64_t time = nodes_[first()].time;
    if (time <= begin_) return;
    begin_ = time;
    while (!heap_.empty() && is_near(heap_.front().time)) {
      const NodeNumber number = heap_.front().node;
      take_from_heap(0);
      append(number);
    }
  }

  // Whether more than one thing has the earliest time. Not of an empty queue.
  bool tie() const noexcept {
    const NodeNumber number = first();
    if (nodes_[number].next != in_heap) return nodes_[number].next != number;
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
    if (empty()) return;
    const auto later = [this](std::size_t a, std::size_t b) { return before(heap_[b], heap_[a]); };
    const std::uint64_t time = nodes_[first()].time;
    NodeNumber near = first_from(begin_);
    if (!heap_.empty()) frontier_.push_back(0);
    while (found.size() < most) {
      const bool from_heap = !frontier_.empty() && (near == none || heap_[frontier_.front()].time < nodes_[near].time);
      if (!from_heap && near == none) break;
      const NodeNumber next = from_heap ? heap_[frontier_.front()].node : near;
      if (earliest_time_only && nodes_[next].time != time) break;
      found.push_back(entry_of(next));
      if (!from_heap) {
        near = after(near);
        continue;
      }
      std::pop_heap(frontier_.begin(), frontier_.end(), later);
      const std::size_t at = frontier_.back();
      frontier_.pop_back();
      const std::size_t end = std::min(heap_.size(), width * at + width + 1);
      for (std::size_t child = width * at + 1; child < end; ++child) {
        if (earliest_time_only && heap_[child].time != time) continue;
        frontier_.push_back(child);
        std::push_heap(frontier_.begin(), frontier_.end(), later);
      }
    }
  }

 private:
  using NodeNumber = std::uint32_t;
  static constexpr NodeNumber none = 0;  // no item has node 0
  static constexpr NodeNumber in_heap = UINT32_MAX;
  static constexpr std::size_t width = 4;
  static constexpr std::uint64_t near_ns = 2048;
  static constexpr unsigned words = near_ns / 64;

  struct Node {
    std::uint64_t time;
    std::uint64_t sequence;
    Queued* item;      // null when the node is free
    NodeNumber next;   // in the ring of its time; in_heap; or the next free node
    NodeNumber place;  // the one before in the ring of its time; or the index in the heap
  };
  struct HeapEntry {
    std::uint64_t time;
    std::uint64_t sequence;
    NodeNumber node;
  };

  Entry entry_of(NodeNumber number) const noexcept {
    const Node& node = nodes_[number];
    return {node.time, node.sequence, node.item};
  }
  // Whether it stands in the wheel: in [begin_, begin_ + near_ns).
  bool is_near(std::uint64_t time) const noexcept { return time - begin_ < near_ns; }
  static std::size_t slot_of(std::uint64_t time) noexcept { return static_cast<std::size_t>(time % near_ns); }

  NodeNumber new_node() {
    const NodeNumber number = free_;
    if (number == none) {
      nodes_.emplace_back();
      return static_cast<NodeNumber>(nodes_.size() - 1);
    }
    free_ = nodes_[number].next;
    return number;
  }

  // Equal times are never on both sides: what is near has left the heap.
  NodeNumber first() const noexcept {
    const NodeNumber near = first_from(begin_);
    if (heap_.empty()) return near;
    return near == none || heap_.front().time < nodes_[near].time ? heap_.front().node : near;
  }

  // ---- the wheel

  // The first at this near time or later.
  NodeNumber first_from(std::uint64_t time) const noexcept {
    if (busy_words_ == 0) return none;
    const std::size_t from = slot_of(time);
    const std::size_t word = from / 64;
    std::size_t slot = 0;
    if (const std::uint64_t here = busy_slots_[word] & (~std::uint64_t{0} << (from % 64)); here != 0) {
      slot = word * 64 + static_cast<std::size_t>(std::countr_zero(here));
    } else {  // around the wheel, and in this word last
      const auto ahead = static_cast<std::size_t>(std::countr_zero(std::rotr(busy_words_, static_cast<int>(word) + 1)));
      const std::size_t found = (word + 1 + ahead) % words;
      slot = found * 64 + static_cast<std::size_t>(std::countr_zero(busy_slots_[found]));
    }
    const NodeNumber number = slots_[slot];
    return nodes_[number].time >= time ? number : none;
  }

  NodeNumber after(NodeNumber number) const noexcept {
    const Node& node = nodes_[number];
    if (node.next != slots_[slot_of(node.time)]) return node.next;
    return is_near(node.time + 1) ? first_from(node.time + 1) : none;
  }

  void append(NodeNumber number) noexcept {
    Node& node = nodes_[number];
    const std::size_t slot = slot_of(node.time);
    const NodeNumber head = slots_[slot];
    if (head == none) {
      node.next = node.place = number;
      slots_[slot] = number;
      busy_slots_[slot / 64] |= std::uint64_t{1} << (slot % 64);
      busy_words_ |= std::uint32_t{1} << (slot / 64);
      return;
    }
    node.next = head;
    node.place = nodes_[head].place;
    nodes_[node.place].next = number;
    nodes_[head].place = number;
  }

  void unlink(NodeNumber number) noexcept {
    const Node& node = nodes_[number];
    const std::size_t slot = slot_of(node.time);
    if (node.next == number) {
      slots_[slot] = none;
      busy_slots_[slot / 64] &= ~(std::uint64_t{1} << (slot % 64));
      if (busy_slots_[slot / 64] == 0) busy_words_ &= ~(std::uint32_t{1} << (slot / 64));
      return;
    }
    nodes_[node.next].place = node.place;
    nodes_[node.place].next = node.next;
    if (slots_[slot] == number) slots_[slot] = node.next;
  }

  // ---- the heap

  static bool before(const HeapEntry& left, const HeapEntry& right) noexcept {
    return left.time != right.time ? left.time < right.time : left.sequence < right.sequence;
  }
  void set(std::size_t place, const HeapEntry& entry) noexcept {
    heap_[place] = entry;
    nodes_[entry.node].place = static_cast<std::uint32_t>(place);
  }
  void push(NodeNumber number) {
    nodes_[number].next = in_heap;
    heap_.push_back({nodes_[number].time, nodes_[number].sequence, number});
    rise(heap_.size() - 1);
  }
  void take_from_heap(std::size_t hole) noexcept {
    const HeapEntry last = heap_.back();
    heap_.pop_back();
    if (hole == heap_.size()) return;
    set(hole, last);
    rise(hole);
    sink(nodes_[last.node].place);
  }
  void rise(std::size_t place) noexcept {
    const HeapEntry entry = heap_[place];
    while (place > 0) {
      const std::size_t parent = (place - 1) / width;
      if (!before(entry, heap_[parent])) break;
      set(place, heap_[parent]);
      place = parent;
    }
    set(place, entry);
  }
  void sink(std::size_t place) noexcept {
    const HeapEntry entry = heap_[place];
    for (;;) {
      const std::size_t first_child = width * place + 1;
      if (first_child >= heap_.size()) break;
      const std::size_t end = std::min(heap_.size(), first_child + width);
      std::size_t least = first_child;
      for (std::size_t child = first_child + 1; child < end; ++child) {
        if (before(heap_[child], heap_[least])) least = child;
      }
      if (!before(heap_[least], entry)) break;
      set(place, heap_[least]);
      place = least;
    }
    set(place, entry);
  }

  std::vector<Node> nodes_ = std::vector<Node>(1);
  NodeNumber free_ = none;
  std::size_t size_ = 0;
  std::uint64_t begin_ = 0;
  std::array<NodeNumber, near_ns> slots_{};  // by the time: the first of a ring of nodes, in the order put in
  std::array<std::uint64_t, words> busy_slots_{};
  std::uint32_t busy_words_ = 0;
  std::vector<HeapEntry> heap_;
  std::vector<std::size_t> frontier_;  // of earliest(): a heap of places in the heap; kept for its memory
  std::uint64_t next_sequence_ = 0;
};

}  // namespace heddle::lab
