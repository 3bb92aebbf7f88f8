// SPDX-License-Identifier: Apache-2.0
#include "host/window_set.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace heddle::host {

namespace {

constexpr std::uint64_t window_bytes_most = 1ULL << 40U;

std::string describe(std::string_view name, std::uint64_t bytes) {
  return "\"" + std::string(name) + "\" of " + std::to_string(bytes) + " bytes";
}

}  // namespace

const heddle::detail::WindowTable* WindowList::allocate(int rank, std::string_view name, std::uint64_t bytes,
                                                        const Location& location) {
  if (bytes == 0 || bytes > window_bytes_most)
    throw Error(Code::invalid_argument, "window " + describe(name, bytes) + ": allowed are 1 byte to 1 TiB")
        .at_rank(rank)
        .at_location(location);
  std::size_t& mine = count_[static_cast<std::size_t>(rank)];
  if (mine < windows_.size()) {
    const WindowEntry& entry = *windows_[mine];
    if (entry.table.bytes != bytes || entry.name != name)
      throw Error(Code::window_mismatch, "window " + std::to_string(mine) + " is " + describe(name, bytes) +
                                             " on rank " + std::to_string(rank) + ", but " +
                                             describe(entry.name, entry.table.bytes) + " on rank " +
                                             std::to_string(entry.first_rank))
          .at_rank(rank)
          .at_location(location);
    ++mine;
    return &entry.table;
  }
  auto entry = std::make_unique<WindowEntry>();
  entry->name = name;
  entry->first_rank = rank;
  entry->table.bytes = bytes;
  for (int r = 0; r < ranks_; ++r) {
    entry->memory.emplace_back(bytes, "a window");
    entry->table.part.push_back(entry->memory.back().data());
  }
  entry->table.name = entry->name.c_str();
  windows_.push_back(std::move(entry));
  ++mine;
  return &windows_.back()->table;
}

const heddle::detail::WindowTable* WindowList::find(std::string_view name) const {
  std::string known;
  for (const auto& entry : windows_) {
    if (entry->name == name) return &entry->table;
    known += (known.empty() ? "" : ", ") + entry->name;
  }
  throw Error(Code::invalid_argument,
              "no window is named \"" + std::string(name) + "\"; there are: " + (known.empty() ? "none" : known));
}

bool WindowList::all_equal() const {
  return std::all_of(count_.begin(), count_.end(), [this](std::size_t count) { return count == count_.front(); });
}

Error WindowList::mismatch() const {
  const auto [fewest, most] = std::minmax_element(count_.begin(), count_.end());
  const auto without = static_cast<int>(fewest - count_.begin());
  const auto with = static_cast<int>(most - count_.begin());
  const WindowEntry& entry = *windows_[*fewest];
  return Error(Code::window_mismatch, "rank " + std::to_string(with) + " allocates window " + std::to_string(*fewest) +
                                          ", " + describe(entry.name, entry.table.bytes) + "; rank " +
                                          std::to_string(without) + " does not")
      .at_rank(without);
}

const heddle::detail::WindowTable* WindowList::at(int rank, const void* data) const {
  const auto* byte = static_cast<const std::byte*>(data);
  const auto found = std::find_if(windows_.begin(), windows_.end(), [&](const auto& entry) {
    const std::byte* part = entry->table.part[static_cast<std::size_t>(rank)];
    return byte >= part && byte < part + entry->table.bytes;
  });
  return found == windows_.end() ? nullptr : &(*found)->table;
}

void WindowList::zero() {
  for (const auto& entry : windows_)
    for (std::byte* part : entry->table.part) std::memset(part, 0, entry->table.bytes);
}

std::uint64_t WindowList::bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& entry : windows_) bytes += entry->table.bytes * entry->table.part.size();
  return bytes;
}

}  // namespace heddle::host
