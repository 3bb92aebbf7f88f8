// SPDX-License-Identifier: Apache-2.0
#include "graph/region.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace heddle::graph {
namespace {

__extension__ typedef __int128 Int128;

// Sorts by ascending stride; at most five entries.
void sort_ascending(std::array<Region::Dim, Region::max_rank>& dims, std::size_t count) {
  for (std::size_t i = 1; i < count; ++i)
    for (std::size_t j = i; j > 0 && dims[j].stride < dims[j - 1].stride; --j) std::swap(dims[j], dims[j - 1]);
}

// Two progressions add up to one when the wider stride is a multiple of the finer and leaves no gap between repeats.
bool merge_into(Region::Dim& fine, const Region::Dim& wide) {
  if (wide.stride % fine.stride != 0) return false;
  const std::uint64_t ratio = wide.stride / fine.stride;
  if (ratio > fine.count) return false;
  fine.count += (wide.count - 1) * ratio;
  return true;
}

// Merges every pair that merges, until none does; keeps the ascending order.
std::size_t merge_all(std::array<Region::Dim, Region::max_rank>& dims, std::size_t count) {
  for (std::size_t fine = 0; fine < count; ++fine) {
    for (std::size_t wide = fine + 1; wide < count;) {
      if (!merge_into(dims[fine], dims[wide])) {
        ++wide;
        continue;
      }
      for (std::size_t d = wide; d + 1 < count; ++d) dims[d] = dims[d + 1];
      dims[--count] = {};
      wide = fine + 1;  // the grown dim may now reach one that it did not
    }
  }
  return count;
}

using Extents = std::array<std::int64_t, Region::max_rank + 1>;

// Bounding bytes of the part of a region that its dims from each level on describe.
Extents extents_by_level(const Region& region) {
  Extents extents{};
  std::int64_t extent = static_cast<std::int64_t>(region.run);
  extents[region.rank] = extent;
  for (std::size_t d = region.rank; d-- > 0;) {
    extent += static_cast<std::int64_t>((region.dims[d].count - 1) * region.dims[d].stride);
    extents[d] = extent;
  }
  return extents;
}

std::int64_t floor_divide(std::int64_t value, std::int64_t by) {
  return value / by - static_cast<std::int64_t>(value % by < 0);
}

// The inverse of `value` modulo `modulus`, which are coprime.
std::int64_t inverse_modulo(std::int64_t value, std::int64_t modulus) {
  std::int64_t r0 = modulus, r1 = value % modulus, t0 = 0, t1 = 1;
  while (r1 != 0) {
    const std::int64_t quotient = r0 / r1;
    r0 = std::exchange(r1, r0 - quotient * r1);
    t0 = std::exchange(t1, t0 - quotient * t1);
  }
  return t0 < 0 ? t0 + modulus : t0;
}

// Pairs (i, j) with i * stride_a - j * stride_b = t, 0 <= i < count_a, 0 <= j < count_b.
struct IndexPairs {
  std::int64_t stride_a, count_a, stride_b, count_b;  // strides divided by their greatest common divisor
  std::int64_t inverse;                               // of stride_a modulo stride_b

  IndexPairs(const Region::Dim& a, const Region::Dim& b, std::int64_t divisor)
      : stride_a(static_cast<std::int64_t>(a.stride) / divisor),
        count_a(static_cast<std::int64_t>(a.count)),
        stride_b(static_cast<std::int64_t>(b.stride) / divisor),
        count_b(static_cast<std::int64_t>(b.count)),
        inverse(stride_b == 1 ? 0 : inverse_modulo(stride_a, stride_b)) {}

  // `t` is divided by the common divisor as well.
  bool exists(std::int64_t t) const {
    const Int128 low = t <= 0 ? 0 : (Int128{t} + stride_a - 1) / stride_a;
    const Int128 reach = Int128{t} + Int128{stride_b} * (count_b - 1);
    if (reach < 0) return false;
    const Int128 high = std::min<Int128>(count_a - 1, reach / stride_a);
    if (low > high) return false;
    if (stride_b == 1) return true;
    std::int64_t residue = t % stride_b;
    if (residue < 0) residue += stride_b;
    const Int128 wanted = Int128{residue} * inverse % stride_b;
    Int128 gap = (wanted - low) % stride_b;
    if (gap < 0) gap += stride_b;
    return low + gap <= high;
  }
};

// Tiles and columns of one matrix: a row of the lower one meets the row of the other that starts in it, or the next.
bool same_stride_overlaps(const Region& low, const Region& high) {
  const std::uint64_t offset = high.base - low.base;
  const std::uint64_t stride = low.dims[0].stride;
  const std::uint64_t row = offset < stride ? 0 : offset / stride;
  const std::uint64_t phase = offset - row * stride;
  if (row < low.dims[0].count && phase < low.run) return true;
  return row + 1 < low.dims[0].count && stride - phase < high.run;
}

// Searches for a shared byte, widest dims first. Offsets are those of b's part relative to a's part.
class OverlapSearch {
 public:
  OverlapSearch(const Region& a, const Region& b)
      : a_(a), b_(b), extent_a_(extents_by_level(a)), extent_b_(extents_by_level(b)) {}

  bool out_of_budget() const { return budget_ < 0; }

  bool meet(std::int64_t offset, std::size_t level_a, std::size_t level_b) {
    if (offset >= extent_a_[level_a] || -offset >= extent_b_[level_b]) return false;
    if (offset == 0 || --budget_ < 0) return true;
    const bool dense_a = level_a == a_.rank;
    const bool dense_b = level_b == b_.rank;
    if (dense_a && dense_b) return true;
    if (!dense_a && !dense_b && a_.dims[level_a].stride == b_.dims[level_b].stride)
      return meet_pairs(offset, level_a, level_b, static_cast<std::int64_t>(a_.dims[level_a].stride));

    const Range in_a =
        dense_a ? Range{} : meeting(offset, a_.dims[level_a], extent_a_[level_a + 1], extent_b_[level_b]);
    const Range in_b =
        dense_b ? Range{} : meeting(-offset, b_.dims[level_b], extent_b_[level_b + 1], extent_a_[level_a]);
    if (dense_a) return meet_each_b(offset, level_a, level_b, in_b);
    if (dense_b) return meet_each_a(offset, level_a, level_b, in_a);

    const std::int64_t fewest = std::min(in_a.size(), in_b.size());
    if (fewest > cheap_enumeration) {
      if (out_of_phase(offset, level_a, level_b)) return false;
      const auto divisor = static_cast<std::int64_t>(std::gcd(a_.dims[level_a].stride, b_.dims[level_b].stride));
      if ((extent_a_[level_a + 1] + extent_b_[level_b + 1]) / divisor < fewest)
        return meet_pairs(offset, level_a, level_b, divisor);
    }
    return in_a.size() <= in_b.size() ? meet_each_a(offset, level_a, level_b, in_a)
                                      : meet_each_b(offset, level_a, level_b, in_b);
  }

 private:
  static constexpr std::int64_t cheap_enumeration = 4;

  struct Range {
    std::int64_t first = 0, last = -1;
    std::int64_t size() const { return last - first + 1; }
  };

  // The indices of `dim` whose inner part meets the interval [offset, offset + other).
  static Range meeting(std::int64_t offset, const Region::Dim& dim, std::int64_t inner, std::int64_t other) {
    const auto stride = static_cast<std::int64_t>(dim.stride);
    const std::int64_t first = offset < inner ? 0 : (offset - inner) / stride + 1;
    const std::int64_t last =
        std::min(static_cast<std::int64_t>(dim.count) - 1, floor_divide(offset + other - 1, stride));
    return {first, last};
  }

  bool meet_each_a(std::int64_t offset, std::size_t level_a, std::size_t level_b, Range range) {
    const auto stride = static_cast<std::int64_t>(a_.dims[level_a].stride);
    for (std::int64_t i = range.first; i <= range.last; ++i)
      if (meet(offset - i * stride, level_a + 1, level_b)) return true;
    return false;
  }

  bool meet_each_b(std::int64_t offset, std::size_t level_a, std::size_t level_b, Range range) {
    const auto stride = static_cast<std::int64_t>(b_.dims[level_b].stride);
    for (std::int64_t j = range.first; j <= range.last; ++j)
      if (meet(offset + j * stride, level_a, level_b + 1)) return true;
    return false;
  }

  // Every distance between runs is the offset plus a multiple of the divisor that all remaining strides share.
  bool out_of_phase(std::int64_t offset, std::size_t level_a, std::size_t level_b) const {
    std::uint64_t shared = 0;
    for (std::size_t d = level_a; d < a_.rank; ++d) shared = std::gcd(shared, a_.dims[d].stride);
    for (std::size_t d = level_b; d < b_.rank; ++d) shared = std::gcd(shared, b_.dims[d].stride);
    const auto divisor = static_cast<std::int64_t>(shared);
    const std::int64_t phase = offset - floor_divide(offset, divisor) * divisor;
    return phase >= static_cast<std::int64_t>(a_.run) && divisor - phase >= static_cast<std::int64_t>(b_.run);
  }

  // Visits the distances at which an inner part of b can lie from one of a and still meet it: they differ by multiples
  // of the strides' common divisor.
  bool meet_pairs(std::int64_t offset, std::size_t level_a, std::size_t level_b, std::int64_t divisor) {
    const IndexPairs pairs(a_.dims[level_a], b_.dims[level_b], divisor);
    const std::int64_t inner_a = extent_a_[level_a + 1];
    const std::int64_t inner_b = extent_b_[level_b + 1];
    const std::int64_t lowest = 1 - inner_b;
    std::int64_t ahead = (offset - lowest) % divisor;
    if (ahead < 0) ahead += divisor;
    for (std::int64_t distance = lowest + ahead; distance < inner_a; distance += divisor) {
      if (--budget_ < 0) return true;
      if (pairs.exists((offset - distance) / divisor) && meet(distance, level_a + 1, level_b + 1)) return true;
    }
    return false;
  }

  const Region& a_;
  const Region& b_;
  Extents extent_a_;
  Extents extent_b_;
  int budget_ = overlap_budget;
};

// Proves that a contains b, or gives up.
class CoverProof {
 public:
  CoverProof(const Region& a, const Region& b)
      : a_(a), b_(b), extent_a_(extents_by_level(a)), extent_b_(extents_by_level(b)) {}

  bool contains(std::int64_t offset, std::size_t level_a, std::size_t level_b) {
    if (offset < 0 || offset + extent_b_[level_b] > extent_a_[level_a]) return false;
    if (level_a == a_.rank) return true;
    if (--budget_ < 0) return false;
    const auto stride_a = static_cast<std::int64_t>(a_.dims[level_a].stride);
    const auto count_a = static_cast<std::int64_t>(a_.dims[level_a].count);
    const std::int64_t index = std::min(offset / stride_a, count_a - 1);
    const std::int64_t inner = offset - index * stride_a;
    if (inner + extent_b_[level_b] <= extent_a_[level_a + 1]) return contains(inner, level_a + 1, level_b);
    if (level_b == b_.rank) return false;

    const auto stride_b = static_cast<std::int64_t>(b_.dims[level_b].stride);
    const auto count_b = static_cast<std::int64_t>(b_.dims[level_b].count);
    if (stride_b % stride_a == 0 && index + (count_b - 1) * (stride_b / stride_a) < count_a &&
        contains(inner, level_a + 1, level_b + 1))
      return true;
    for (std::int64_t j = 0; j < count_b; ++j)
      if (!contains(offset + j * stride_b, level_a, level_b + 1)) return false;
    return true;
  }

 private:
  const Region& a_;
  const Region& b_;
  Extents extent_a_;
  Extents extent_b_;
  int budget_ = 256;
};

}  // namespace

Region Region::clamped(std::uintptr_t base) {
  Region region;
  region.base = std::min<std::uint64_t>(base, address_limit - 1);
  region.run = address_limit - region.base;
  region.extent = region.run;
  return region;
}

Region Region::from_strided(const void* data, int rank, const std::int64_t* shape, const std::int64_t* strides,
                            std::uint64_t element_bytes) {
  Region region;
  region.base = reinterpret_cast<std::uintptr_t>(data);
  std::array<Dim, max_rank> dims{};
  std::size_t count = 0;
  std::uint64_t extent = element_bytes;
  bool too_large = false;
  bool none = element_bytes == 0;
  for (int d = 0; d < rank; ++d) {
    none |= shape[d] <= 0;
    if (shape[d] <= 1) continue;
    Dim dim{static_cast<std::uint64_t>(shape[d]), 0};
    std::uint64_t reach = 0;
    too_large |= __builtin_mul_overflow(static_cast<std::uint64_t>(strides[d]), element_bytes, &dim.stride);
    too_large |= __builtin_mul_overflow(dim.count - 1, dim.stride, &reach);
    too_large |= __builtin_add_overflow(extent, reach, &extent);
    dims[count++] = dim;
  }
  if (none) return {};
  if (too_large || extent > address_limit || region.base > address_limit - extent) return clamped(region.base);

  sort_ascending(dims, count);
  region.run = element_bytes;
  std::size_t folded = 0;
  while (folded < count && dims[folded].stride <= region.run) {
    region.run += (dims[folded].count - 1) * dims[folded].stride;
    ++folded;
  }
  std::rotate(dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(folded), dims.end());
  count = merge_all(dims, count - folded);
  for (std::size_t d = 0; d < count; ++d) region.dims[d] = dims[count - 1 - d];
  region.rank = static_cast<std::uint8_t>(count);
  region.extent = extent;
  return region;
}

namespace detail {

bool strided_overlaps(const Region& a, const Region& b, OverlapStatistics& statistics) {
  ++statistics.searches;
  if (a.rank == 1 && b.rank == 1 && a.dims[0].stride == b.dims[0].stride)
    return a.base <= b.base ? same_stride_overlaps(a, b) : same_stride_overlaps(b, a);
  OverlapSearch search(a, b);
  const bool result = search.meet(static_cast<std::int64_t>(b.base) - static_cast<std::int64_t>(a.base), 0, 0);
  statistics.conservative += search.out_of_budget() ? 1U : 0U;
  return result;
}

bool strided_covers(const Region& a, const Region& b) {
  if (a == b) return true;
  return CoverProof(a, b).contains(static_cast<std::int64_t>(b.base) - static_cast<std::int64_t>(a.base), 0, 0);
}

}  // namespace detail
}  // namespace heddle::graph
