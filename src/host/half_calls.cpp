// SPDX-License-Identifier: Apache-2.0
#include "host/half_calls.hpp"

#include <string>

#include "base/refused.hpp"
#include "host/copy.hpp"

namespace heddle::host {

namespace {

std::string shape_of(const std::int64_t* shape, int rank, std::size_t element_bytes) {
  std::string text;
  for (int d = 0; d < rank; ++d) text += (d == 0 ? "" : " x ") + std::to_string(shape[d]);
  return text + " elements of " + std::to_string(element_bytes) + " bytes";
}

heddle::detail::CopyPlan plan_of(const heddle::detail::TileRef& tile) {
  heddle::detail::CopyPlan plan;
  plan.element_bytes = tile.element_bytes;
  plan.rank = tile.rank;
  for (int d = 0; d < tile.rank; ++d) plan.shape[d] = tile.shape[d];
  return plan;
}

std::uint64_t set_dense(std::int64_t* stride, const heddle::detail::TileRef& tile) {
  auto bytes = static_cast<std::int64_t>(tile.element_bytes);
  for (int d = tile.rank; d-- > 0;) {
    stride[d] = bytes;
    bytes *= tile.shape[d];
  }
  return static_cast<std::uint64_t>(bytes);
}

}  // namespace

HalfPlace place_of(const char* call, Cores cores, std::uint32_t number_of_part) {
  if (cores.cubes == 0 || cores.vectors == 0)
    throw base::Refused(
        std::string(call) +
        ": the task is not mixed: flags and tiles are between the cube core and the vector cores of one "
        "block, so submit it with mixed_cores or mixed_pair");
  const bool is_cube = number_of_part < cores.cubes;
  return {is_cube, is_cube ? 0 : number_of_part - cores.cubes, cores.vectors};
}

std::uint32_t checked_flag(const char* call, std::int64_t flag, const chip::Handovers& limits) {
  if (flag < 0 || flag >= static_cast<std::int64_t>(limits.flags))
    throw base::Refused(std::string(call) + ": there is no flag " + std::to_string(flag) +
                        "; they are numbered from 0 to " + std::to_string(limits.flags - 1));
  return static_cast<std::uint32_t>(flag);
}

std::uint32_t named_part(const HalfPlace& me, const char* call, int part) {
  if (part == heddle::detail::every_part) {
    if (me.is_cube && me.vectors > 1)
      throw base::Refused(std::string(call) + ": the block has " + std::to_string(me.vectors) +
                          " vector halves; a cube half names the one that it takes a tile from: pop_from");
    return me.part;
  }
  if (!me.is_cube)
    throw base::Refused(std::string(call) + ": a vector half has one other side, the cube half: call push or pop");
  if (part < 0 || static_cast<std::uint32_t>(part) >= me.vectors)
    throw base::Refused(std::string(call) + ": there is no vector half " + std::to_string(part) + "; the block has " +
                        std::to_string(me.vectors) + ", numbered from 0");
  return static_cast<std::uint32_t>(part);
}

void check_tile(const heddle::detail::TileRef& wanted, const chip::QueuedTile& got) {
  bool same = wanted.element_bytes == got.element_bytes && wanted.rank == got.rank;
  for (int d = 0; same && d < got.rank; ++d) same = wanted.shape[d] == got.shape[d];
  if (same) return;
  throw base::Refused("pop: the oldest tile has " + shape_of(got.shape, got.rank, got.element_bytes) +
                      "; the view that it is popped into has " +
                      shape_of(wanted.shape, wanted.rank, wanted.element_bytes));
}

std::string left_over(const chip::HalfLink& link, std::int64_t count) {
  const std::string cube = "the cube half", vector = "vector half " + std::to_string(link.half);
  const std::string& giver = link.from_cube ? cube : vector;
  const std::string& taker = link.from_cube ? vector : cube;
  if (link.id == chip::tile_link)
    return std::to_string(count) + (count == 1 ? " tile" : " tiles") + " that " + giver + " pushed and " + taker +
           " did not pop";
  return giver + " set flag " + std::to_string(link.id) + " " + std::to_string(count) +
         (count == 1 ? " time more" : " times more") + " than " + taker + " waited for it";
}

void fill(chip::QueuedTile& to, const heddle::detail::TileRef& from, bool values) {
  heddle::detail::CopyPlan plan = plan_of(from);
  to.element_bytes = from.element_bytes;
  to.rank = from.rank;
  for (int d = 0; d < from.rank; ++d) {
    to.shape[d] = from.shape[d];
    plan.from_stride[d] = from.stride[d];
  }
  const std::uint64_t bytes = set_dense(plan.to_stride, from);
  if (!values || bytes == 0) return;
  to.data.resize(bytes);
  plan.to = to.data.data();
  plan.from = from.data;
  copy(plan);
}

void empty(const chip::QueuedTile& from, const heddle::detail::TileRef& to, bool values) {
  heddle::detail::CopyPlan plan = plan_of(to);
  for (int d = 0; d < to.rank; ++d) plan.to_stride[d] = to.stride[d];
  const std::uint64_t bytes = set_dense(plan.from_stride, to);
  if (!values || bytes == 0) return;
  plan.to = to.data;
  plan.from = from.data.data();
  copy(plan);
}

}  // namespace heddle::host
