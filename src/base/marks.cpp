// SPDX-License-Identifier: Apache-2.0
#include "base/marks.hpp"

#include <array>
#include <atomic>
#include <map>

namespace heddle::base::marks {

namespace {

struct Entry {
  std::atomic<const char*> name{nullptr};
  std::atomic<std::uint64_t> count{0};
};

std::array<Entry, 256>& table() noexcept {
  static std::array<Entry, 256> entries;
  return entries;
}

}  // namespace

// relaxed: the literals are constants and the counts are read after the threads were joined.
void reach(const char* name) noexcept {
  for (Entry& entry : table()) {
    const char* found = entry.name.load(std::memory_order_relaxed);
    if (found == nullptr &&
        entry.name.compare_exchange_strong(found, name, std::memory_order_relaxed, std::memory_order_relaxed)) {
      found = name;
    }
    if (found == name) {
      entry.count.fetch_add(1, std::memory_order_relaxed);
      return;
    }
  }
}

// The same text may stand in several translation units: their literals are summed.
std::uint64_t count(std::string_view name) noexcept {
  std::uint64_t sum = 0;
  for (const Entry& entry : table()) {
    const char* const found = entry.name.load(std::memory_order_relaxed);
    if (found == nullptr) break;
    if (name == found) sum += entry.count.load(std::memory_order_relaxed);
  }
  return sum;
}

std::vector<std::pair<std::string_view, std::uint64_t>> all() {
  std::map<std::string_view, std::uint64_t> sums;
  for (const Entry& entry : table()) {
    const char* const found = entry.name.load(std::memory_order_relaxed);
    if (found == nullptr) break;
    sums[found] += entry.count.load(std::memory_order_relaxed);
  }
  return {sums.begin(), sums.end()};
}

void clear() noexcept {
  for (Entry& entry : table()) {
    entry.name.store(nullptr, std::memory_order_relaxed);
    entry.count.store(0, std::memory_order_relaxed);
  }
}

}  // namespace heddle::base::marks
