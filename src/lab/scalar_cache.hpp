// SPDX-License-Identifier: Apache-2.0
//
// A core's scalar cache: not coherent, in 64-byte lines, written back by an explicit clean of the whole line and at the
// end of a block, stale until an explicit invalidate or the start of the next block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace heddle::lab {

inline constexpr std::size_t line_bytes = 64;

class ScalarCache {
 public:
  struct Line {
    std::byte* memory = nullptr;  // where it belongs; aligned
    std::uint64_t dirty = 0;      // a bit for each byte
    alignas(8) std::byte data[line_bytes];
  };

  static std::byte* line_of(const void* data) {
    return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(data) & ~std::uintptr_t{line_bytes - 1});
  }

  // The line, read from memory first if it is not here; `was_here` says which.
  Line& get(const void* data, bool& was_here) {
    std::byte* const memory = line_of(data);
    const auto [place, fresh] = index_.try_emplace(memory, lines_.size());
    was_here = !fresh;
    if (!fresh) return lines_[place->second];
    Line& line = lines_.emplace_back();
    line.memory = memory;
    copy_line(line.data, memory);
    return line;
  }

  // A whole line, though only part of it may belong to the program: as the hardware does, and unseen by the sanitizer.
  [[gnu::no_sanitize_address, gnu::noinline]] static void copy_line(std::byte* to, const std::byte* from) {
    using Word [[gnu::may_alias]] = std::uint64_t;
    for (std::size_t i = 0; i < line_bytes / sizeof(Word); ++i)
      reinterpret_cast<Word*>(to)[i] = reinterpret_cast<const Word*>(from)[i];
  }

  // Calls visit(line) for each line that meets [data, data + bytes), in the order in which they came.
  template <class Visit>
  void for_range(const void* data, std::size_t bytes, Visit&& visit) {
    const auto* const begin = line_of(data);
    const auto* const end = static_cast<const std::byte*>(data) + bytes;
    for (Line& line : lines_)
      if (line.memory >= begin && line.memory < end) visit(line);
  }
  template <class Visit>
  void for_all(Visit&& visit) {
    for (Line& line : lines_) visit(line);
  }

  // Forgets lines; what was dirty is lost.
  void drop(const void* data, std::size_t bytes) {
    const auto* const begin = line_of(data);
    const auto* const end = static_cast<const std::byte*>(data) + bytes;
    std::vector<Line> kept;
    for (const Line& line : lines_)
      if (line.memory < begin || line.memory >= end) kept.push_back(line);
    lines_ = std::move(kept);
    index_.clear();
    for (std::size_t i = 0; i < lines_.size(); ++i) index_.emplace(lines_[i].memory, i);
  }
  void clear() {
    if (lines_.empty()) return;
    lines_.clear();
    index_.clear();
  }
  bool empty() const { return lines_.empty(); }

 private:
  std::vector<Line> lines_;
  std::unordered_map<const std::byte*, std::size_t> index_;  // looked up only
};

}  // namespace heddle::lab
