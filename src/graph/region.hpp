// SPDX-License-Identifier: Apache-2.0
//
// A region is the set of bytes that a strided view names, in one canonical form: views of the same bytes compare equal
// whatever their element type, dimension order or shape. Dependency inference asks two questions of regions: do they
// share a byte, and does one contain the other.
//
// A region is the Minkowski sum of a contiguous run and up to five arithmetic progressions:
//   { base + i0 * stride0 + ... + i4 * stride4 + b  |  0 <= ik < countk, 0 <= b < run }
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace heddle::graph {

struct Region {
  static constexpr int max_rank = 5;
  /// Every region ends at or below this address, so that sums and differences of offsets fit 63 bits. User space ends
  /// far below. A view that does not fit becomes a contiguous region that contains all of it that does.
  static constexpr std::uint64_t address_limit = std::uint64_t{1} << 62U;

  struct Dim {
    std::uint64_t count = 0;   ///< at least 2
    std::uint64_t stride = 0;  ///< bytes, more than `run`
    friend bool operator==(const Dim&, const Dim&) = default;
  };

  std::uintptr_t base = 0;           ///< lowest byte
  std::uint64_t run = 0;             ///< contiguous innermost bytes; zero for the empty region
  std::uint64_t extent = 0;          ///< bytes from the lowest to the highest, both included
  std::uint8_t rank = 0;             ///< dims in use; zero for a contiguous region
  std::array<Dim, max_rank> dims{};  ///< by descending stride

  /// The bytes of a view. `rank` is 0 to 5, strides count elements and are not negative. A view with an extent of zero
  /// (or less) gives the empty region.
  static Region from_view(const void* data, int rank, const std::int64_t* shape,
                          const std::int64_t* strides_in_elements, std::uint64_t element_bytes) {
    std::uint64_t elements = 1;
    bool too_large = false;
    for (int d = rank; d-- > 0;) {
      if (shape[d] == 1) continue;
      if (shape[d] <= 0 || static_cast<std::uint64_t>(strides_in_elements[d]) != elements)
        return from_strided(data, rank, shape, strides_in_elements, element_bytes);
      too_large |= __builtin_mul_overflow(elements, static_cast<std::uint64_t>(shape[d]), &elements);
    }
    too_large |= __builtin_mul_overflow(elements, element_bytes, &elements);
    return contiguous(data, too_large ? address_limit : elements);
  }

  static Region contiguous(const void* data, std::uint64_t bytes) {
    Region region;
    region.base = reinterpret_cast<std::uintptr_t>(data);
    if (bytes > address_limit || region.base > address_limit - bytes) [[unlikely]]
      return clamped(region.base);
    region.run = bytes;
    region.extent = bytes;
    return region;
  }

  bool empty() const { return extent == 0; }
  std::uintptr_t end() const { return base + extent; }

  /// The same bytes. Dims beyond `rank` are zero, so equal regions are equal member by member.
  friend bool operator==(const Region& a, const Region& b) {
    if (a.base != b.base || a.run != b.run || a.extent != b.extent || a.rank != b.rank) return false;
    for (std::size_t d = 0; d < a.rank; ++d)
      if (a.dims[d] != b.dims[d]) return false;
    return true;
  }

  /// An order of the strided regions of one base, extent and rank.
  bool is_shaped_before(const Region& other) const {
    if (run != other.run) return run < other.run;
    for (std::size_t d = 0; d < rank; ++d) {
      if (dims[d].stride != other.dims[d].stride) return dims[d].stride < other.dims[d].stride;
      if (dims[d].count != other.dims[d].count) return dims[d].count < other.dims[d].count;
    }
    return false;
  }

 private:
  static Region clamped(std::uintptr_t base);
  static Region from_strided(const void* data, int rank, const std::int64_t* shape, const std::int64_t* strides,
                             std::uint64_t element_bytes);
};

/// How the overlap questions were answered.
struct OverlapStatistics {
  std::uint64_t searches = 0;      ///< questions that bounding boxes alone did not settle
  std::uint64_t conservative = 0;  ///< searches that ran out of budget and were answered "yes"
};

/// Steps that one overlap question may take before it is answered "yes" unproved.
inline constexpr int overlap_budget = 4096;

namespace detail {
bool strided_overlaps(const Region& a, const Region& b, OverlapStatistics& statistics);
bool strided_covers(const Region& a, const Region& b);
}  // namespace detail

/// True when the regions share a byte. Exact unless the search exceeds `overlap_budget`, which regular lattices (each
/// stride at least the extent of what it repeats) of related strides never do.
inline bool overlaps(const Region& a, const Region& b, OverlapStatistics& statistics) {
  if (a.base >= b.end() || b.base >= a.end()) return false;
  if (a.extent == 0 || b.extent == 0) return false;
  if ((a.rank | b.rank) == 0) return true;
  return detail::strided_overlaps(a, b, statistics);
}

/// True when `a` contains every byte of `b`. Never wrongly true. Exact when `a` is contiguous, when both are the same,
/// and for nested rectangles of related strides; otherwise it may say no to a containment that needs a long proof.
inline bool covers(const Region& a, const Region& b) {
  if (b.extent == 0) return true;
  if (b.base < a.base || b.end() > a.end()) return false;
  if (a.rank == 0) return true;
  return detail::strided_covers(a, b);
}

}  // namespace heddle::graph
