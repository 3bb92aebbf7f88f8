// SPDX-License-Identifier: Apache-2.0
//
// Something for each 64-byte line that was touched in a round. Looked up by address, visited by range; the pages stay
// for the next round.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace heddle::lab::checkers {

inline constexpr std::uintptr_t bytes_of_line = 64;

template <class T>
class LineMap {
 public:
  T& at(std::uintptr_t address) {
    const std::uintptr_t page = address / page_bytes;
    if (page != last_page_) {
      auto& place = pages_[page];
      if (place == nullptr) place = std::make_unique<Page>();
      last_page_ = page;
      last_ = place.get();
    }
    const std::size_t line = address / bytes_of_line % lines_of_page;
    const std::uint64_t bit = std::uint64_t{1} << line;
    if ((last_->used & bit) == 0) {
      if (last_->used == 0) touched_.push_back(last_);
      last_->used |= bit;
    }
    return last_->line[line];
  }

  // Calls visit(address, line) for each line in use that meets [begin, end).
  template <class Visit>
  void for_range(std::uintptr_t begin, std::uintptr_t end, Visit&& visit) {
    if (begin >= end || touched_.empty()) return;
    const std::uintptr_t first = begin / bytes_of_line, last = (end - 1) / bytes_of_line;
    for (auto at = pages_.lower_bound(begin / page_bytes); at != pages_.end() && at->first <= (end - 1) / page_bytes;
         ++at) {
      Page& page = *at->second;
      for (std::uint64_t used = page.used; used != 0; used &= used - 1) {
        const auto offset = static_cast<std::size_t>(__builtin_ctzll(used));
        const std::uintptr_t line = at->first * lines_of_page + offset;
        if (line >= first && line <= last) visit(line * bytes_of_line, page.line[offset]);
      }
    }
  }

  void clear() {
    for (Page* page : touched_) {
      for (std::uint64_t used = page->used; used != 0; used &= used - 1)
        page->line[static_cast<std::size_t>(__builtin_ctzll(used))] = T{};
      page->used = 0;
    }
    touched_.clear();
  }

 private:
  static constexpr std::size_t lines_of_page = 64;
  static constexpr std::uintptr_t page_bytes = bytes_of_line * lines_of_page;
  struct Page {
    std::uint64_t used = 0;
    std::array<T, lines_of_page> line{};
  };
  std::map<std::uintptr_t, std::unique_ptr<Page>> pages_;
  std::vector<Page*> touched_;
  std::uintptr_t last_page_ = UINTPTR_MAX;
  Page* last_ = nullptr;
};

}  // namespace heddle::lab::checkers
