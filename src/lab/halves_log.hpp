// SPDX-License-Identifier: Apache-2.0
//
// Where the halves of a rank's mixed blocks are, from their being handed out to the end of the last one: for the halves
// themselves, which share counts with each other's cores, and for reports.
#pragma once

#include <cstdint>
#include <heddle/block.hpp>
#include <map>
#include <tuple>
#include <utility>

#include "chip/handover.hpp"

namespace heddle::lab {

struct BlockHalves {
  enum class State : std::uint8_t { nowhere, placed, begun, ended };
  struct Half {
    State state = State::nowhere;
    std::uint32_t core = 0;  // of the device
  };

  BlockHalves() {
    window.part.push_back(reinterpret_cast<std::byte*>(is_placed));
    window.bytes = sizeof is_placed;
    window.name = "halves";
  }
  BlockHalves(const BlockHalves&) = delete;
  BlockHalves& operator=(const BlockHalves&) = delete;
  heddle::detail::SignalRef cell(std::uint32_t part) { return {&is_placed[part], &window, 0, false}; }
  std::int32_t& tally(const chip::HalfLink& link) { return tallies[{link.half, link.from_cube, link.id}]; }

  static constexpr std::uint32_t most = chip::Geometry::most_lanes;
  Half halves[most];  // by part: the cube half is the first
  std::uint32_t ended = 0;
  bool is_awaited = false;  // a half waits for another to be placed
  std::map<std::tuple<std::uint32_t, bool, std::uint32_t>, std::int32_t> tallies;  // given less taken, by this block
  alignas(256) std::int32_t is_placed[most]{};  // as cells: where a wait is kept depends on the address
  heddle::detail::WindowTable window;
};

class HalvesLog {
 public:
  using State = BlockHalves::State;

  BlockHalves& handed_over(std::int64_t round, std::uint32_t task, std::uint32_t block, std::uint32_t part,
                           std::uint32_t core) {
    if (std::exchange(round_, round) != round) blocks_.clear();  // of a round that was cancelled
    BlockHalves& halves = blocks_[{task, block}];
    halves.halves[part] = {State::placed, core};
    halves.is_placed[part] = 1;
    return halves;
  }
  // Null: handed out in a round that was cancelled, or not mixed.
  BlockHalves* find(std::uint32_t task, std::uint32_t block) {
    const auto found = blocks_.find({task, block});
    return found == blocks_.end() ? nullptr : &found->second;
  }
  void begun(std::uint32_t task, std::uint32_t block, std::uint32_t part) {
    if (BlockHalves* const halves = find(task, block)) halves->halves[part].state = State::begun;
  }
  // Calls last(halves) when that was the last one, and forgets them.
  template <class Last>
  void ended(std::uint32_t task, std::uint32_t block, std::uint32_t part, std::uint32_t parts, Last&& last) {
    BlockHalves* const halves = find(task, block);
    if (halves == nullptr) return;
    halves->halves[part].state = State::ended;
    if (++halves->ended != parts) return;
    last(*halves);
    blocks_.erase({task, block});
  }

 private:
  std::int64_t round_ = -1;
  std::map<std::pair<std::uint32_t, std::uint32_t>, BlockHalves> blocks_;
};

}  // namespace heddle::lab
