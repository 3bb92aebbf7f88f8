// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <heddle/error.hpp>

namespace heddle::graph {

struct ScopeFrame {
  std::uint64_t serial = 0;  // unique within the session; its low bits are the depth
  std::uint64_t first = 0;   // the first task that it submitted in its ring; 0: none yet
  std::uint32_t ring = 0;
  std::uint32_t use = 0;  // its entry in the ScopeBook
  bool manual = false;
  Location location;
};

// The open scopes of an orchestrator: the round's own, and those that the program opened inside it.
class Scopes {
 public:
  static constexpr std::size_t deepest = 64;  // nested scopes of the program's own
  static constexpr std::uint32_t last_ring = 3;

  void open_root() {
    depth_ = 0;
    open(false, {});
  }

  std::uint64_t open(bool manual, const Location& location) {
    ScopeFrame& frame = frames_[depth_];
    frame.serial = (++counter_ << depth_bits) | depth_;
    frame.first = 0;
    frame.ring = std::min(static_cast<std::uint32_t>(depth_), last_ring);
    frame.manual = manual;
    frame.location = location;
    ++depth_;
    return frame.serial;
  }

  // Closes a scope and what was left open inside it. Returns the rings, as bits, that it had tasks in.
  std::uint32_t close(std::uint64_t serial) noexcept {
    if (!is_open(serial)) return 0;
    std::uint32_t touched = 0;
    const std::size_t to = serial & depth_mask;
    while (depth_ > to) touched |= frames_[--depth_].first != 0 ? 1U << frames_[depth_].ring : 0U;
    return touched;
  }
  void close_all() { depth_ = 0; }

  bool is_open(std::uint64_t serial) const {
    const std::size_t at = serial & depth_mask;
    return at < depth_ && frames_[at].serial == serial;
  }

  // The open scopes from the one of this depth on, the innermost first.
  template <class Visit>
  void for_each_from(std::size_t depth, Visit&& visit) const {
    for (std::size_t i = depth_; i > depth; --i) visit(frames_[i - 1]);
  }
  std::size_t depth_of(std::uint64_t serial) const { return is_open(serial) ? serial & depth_mask : depth_; }

  ScopeFrame& innermost() { return frames_[depth_ - 1]; }
  const ScopeFrame& innermost() const { return frames_[depth_ - 1]; }
  // Open scopes, the round's own included.
  std::size_t depth() const { return depth_; }

  // The outermost open scope that has tasks in a ring; null when there is none.
  const ScopeFrame* holder(std::uint32_t ring) const {
    for (std::size_t i = 0; i < depth_; ++i)
      if (frames_[i].ring == ring && frames_[i].first != 0) return &frames_[i];
    return nullptr;
  }
  std::uint64_t first_in(std::uint32_t ring) const {
    const ScopeFrame* frame = holder(ring);
    return frame == nullptr ? 0 : frame->first;
  }
  // Open scopes that have tasks in a ring.
  std::size_t holders(std::uint32_t ring) const {
    return static_cast<std::size_t>(
        std::count_if(frames_.begin(), frames_.begin() + static_cast<std::ptrdiff_t>(depth_),
                      [&](const ScopeFrame& frame) { return frame.ring == ring && frame.first != 0; }));
  }

 private:
  static constexpr std::uint32_t depth_bits = 7;
  static constexpr std::uint64_t depth_mask = (1U << depth_bits) - 1;
  std::array<ScopeFrame, deepest + 1> frames_;
  std::size_t depth_ = 0;
  std::uint64_t counter_ = 0;
};

}  // namespace heddle::graph
