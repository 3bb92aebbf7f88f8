// SPDX-License-Identifier: Apache-2.0
//
// The calls by which the halves of a mixed block talk, the same on every backend. A backend's block B gives
//
//   const chip::Handovers& limits()
//   Cores cores(), std::uint32_t number_of_part()     of its task, of itself in its block
//   std::uint32_t half_of(part, HalfWait)             where the counts of a vector half are; may wait until that is
//   known chip::Handover<E>& handover() void until(link, HalfWait, Compare, value)        parks until the count
//   compares true, or throws base::Cancelled void changed(link, bool gave, part, Location)     after a count has
//   changed bool values()                                     whether tiles have contents
//
// Directions. A cube's set adds one to the count of each vector half; a vector's set adds one to its own count at the
// cube, and a cube's wait takes one of each. So n sets on one side are balanced by n waits on the other, however many
// vector halves there are.
#pragma once

#include <cstdint>
#include <heddle/block.hpp>
#include <string>

#include "chip/handover.hpp"
#include "window/half_wait.hpp"

namespace heddle::host {

struct HalfPlace {
  bool is_cube = false;
  std::uint32_t part = 0;     // of the vector halves
  std::uint32_t vectors = 1;  // of the block

  // The vector halves that a call concerns: [first, last).
  std::uint32_t first() const { return is_cube ? 0 : part; }
  std::uint32_t last() const { return is_cube ? vectors : part + 1; }
  window::HalfWait wait(window::HalfWait::What what, std::uint32_t flag, std::uint32_t concerned,
                        const Location& here) const {
    return {what, is_cube, flag, concerned, vectors, here};
  }
};

// They throw base::Refused.
HalfPlace place_of(const char* call, Cores cores, std::uint32_t number_of_part);
std::uint32_t checked_flag(const char* call, std::int64_t flag, const chip::Handovers& limits);
// The vector half that a call names, or means where it names none.
std::uint32_t named_part(const HalfPlace& me, const char* call, int part);
void check_tile(const heddle::detail::TileRef& wanted, const chip::QueuedTile& got);

std::string left_over(const chip::HalfLink& link, std::int64_t count);
void fill(chip::QueuedTile& to, const heddle::detail::TileRef& from, bool values);
void empty(const chip::QueuedTile& from, const heddle::detail::TileRef& to, bool values);

// What the halves of a block have left in counts that began at zero, in words; empty when they are zero again.
template <class H>
std::string left_by_halves(H& handover) {
  std::string text;
  handover.for_each([&](const chip::HalfLink& link) {
    if (const std::int64_t left = handover.count(link); left != 0)
      text += (text.empty() ? "" : "; ") + left_over(link, left);
  });
  return text;
}

// What is waited for holds when the wait returns, except where a rehearsal lets every wait pass: then counts keep to
// their bounds all the same.
template <class B>
void give(B& block, const chip::HalfLink& link, std::int64_t most, std::uint32_t part, const Location& here) {
  if (block.handover().count(link) < most) block.handover().add(link);
  block.changed(link, true, part, here);
}
template <class B>
void take(B& block, const chip::HalfLink& link, std::uint32_t part, const Location& here) {
  if (block.handover().count(link) > 0) block.handover().take(link);
  block.changed(link, false, part, here);
}

template <class B>
void set_flag(B& block, std::int64_t number, const Location& here) {
  const HalfPlace me = place_of("flag_set", block.cores(), block.number_of_part());
  const std::uint32_t flag = checked_flag("flag_set", number, block.limits());
  const std::int64_t most = block.limits().flag_most;
  for (std::uint32_t part = me.first(); part < me.last(); ++part) {
    const auto wait = me.wait(window::HalfWait::What::flag_room, flag, part, here);
    block.until({block.half_of(part, wait), me.is_cube, flag}, wait, Compare::lt, most);
  }
  for (std::uint32_t part = me.first(); part < me.last(); ++part)
    give(block, {block.half_of(part, {}), me.is_cube, flag}, most, part, here);
}

template <class B>
void wait_flag(B& block, std::int64_t number, const Location& here) {
  const HalfPlace me = place_of("flag_wait", block.cores(), block.number_of_part());
  const std::uint32_t flag = checked_flag("flag_wait", number, block.limits());
  for (std::uint32_t part = me.first(); part < me.last(); ++part) {
    const auto wait = me.wait(window::HalfWait::What::flag, flag, part, here);
    block.until({block.half_of(part, wait), !me.is_cube, flag}, wait, Compare::ge, 1);
  }
  for (std::uint32_t part = me.first(); part < me.last(); ++part)
    take(block, {block.half_of(part, {}), !me.is_cube, flag}, part, here);
}

template <class B>
void push_tile(B& block, const heddle::detail::TileRef& tile, int to, const Location& here) {
  const HalfPlace me = place_of("push", block.cores(), block.number_of_part());
  const bool to_one = to != heddle::detail::every_part;
  const std::uint32_t first = to_one ? named_part(me, "push_to", to) : me.first();
  const std::uint32_t last = to_one ? first + 1 : me.last();
  const std::int64_t most = block.limits().tiles;
  for (std::uint32_t part = first; part < last; ++part) {
    const auto wait = me.wait(window::HalfWait::What::tile_room, 0, part, here);
    block.until({block.half_of(part, wait), me.is_cube, chip::tile_link}, wait, Compare::lt, most);
  }
  for (std::uint32_t part = first; part < last; ++part) {
    const chip::HalfLink link{block.half_of(part, {}), me.is_cube, chip::tile_link};
    if (block.handover().count(link) < most) fill(block.handover().pushed(link), tile, block.values());
    give(block, link, most, part, here);
  }
}

template <class B>
void pop_tile(B& block, const heddle::detail::TileRef& tile, int from, const Location& here) {
  const HalfPlace me = place_of("pop", block.cores(), block.number_of_part());
  const std::uint32_t part = named_part(me, from == heddle::detail::every_part ? "pop" : "pop_from", from);
  const auto wait = me.wait(window::HalfWait::What::tile, 0, part, here);
  const chip::HalfLink link{block.half_of(part, wait), !me.is_cube, chip::tile_link};
  block.until(link, wait, Compare::ge, 1);
  if (block.handover().count(link) > 0) {
    const chip::QueuedTile& oldest = block.handover().oldest(link);
    check_tile(tile, oldest);
    empty(oldest, tile, block.values());
    block.handover().popped(link);
  }
  take(block, link, part, here);
}

}  // namespace heddle::host
