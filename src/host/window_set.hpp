// SPDX-License-Identifier: Apache-2.0
//
// The symmetric windows of a session. The n-th allocation of every rank is the same window: the rank that comes first
// makes the parts of all, zeroed, so that nobody waits for anybody; those that follow are held to its size.
#pragma once

#include <cstdint>
#include <heddle/window.hpp>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/lock.hpp"
#include "graph/memory.hpp"

namespace heddle::host {

struct WindowEntry {
  heddle::detail::WindowTable table;
  std::string name;
  std::vector<graph::LazyMemory> memory;
  int first_rank = 0;
};

class WindowList {
 public:
  explicit WindowList(int ranks) : ranks_(ranks), count_(static_cast<std::size_t>(ranks), 0) {}

  // The rank's next window. Throws window_mismatch when the ranks that came before made another one.
  const heddle::detail::WindowTable* allocate(int rank, std::string_view name, std::uint64_t bytes,
                                              const Location& location);
  // Throws invalid_argument, naming the windows that there are.
  const heddle::detail::WindowTable* find(std::string_view name) const;
  // After every rank's plan: what the plans have made stays; what rounds allocate is counted anew in each of them.
  void end_of_plans() { planned_ = count_.front(); }
  void begin_round() { count_.assign(count_.size(), planned_); }
  // Whether every rank has made the same number; and the window_mismatch when not.
  bool all_equal() const;
  Error mismatch() const;
  bool covers(int rank, const void* data) const { return at(rank, data) != nullptr; }
  // The window whose part on this rank the address lies in, or null.
  const heddle::detail::WindowTable* at(int rank, const void* data) const;
  void zero();
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const auto& entry : windows_) visit(entry->table);
  }
  std::uint64_t bytes() const;

 private:
  int ranks_;
  std::vector<std::unique_ptr<WindowEntry>> windows_;
  std::vector<std::size_t> count_;  // per rank
  std::size_t planned_ = 0;
};

// The same for ranks that allocate at the same time.
template <base::Environment E>
class WindowSet {
 public:
  explicit WindowSet(int ranks) : list_(ranks) {}
  const heddle::detail::WindowTable* allocate(int rank, std::string_view name, std::uint64_t bytes,
                                              const Location& location) {
    const std::lock_guard guard(lock_);
    any_.store(1, std::memory_order_relaxed);  // relaxed: see covers()
    return list_.allocate(rank, name, bytes, location);
  }
  const heddle::detail::WindowTable* find(std::string_view name) const {
    const std::lock_guard guard(lock_);
    return list_.find(name);
  }
  bool covers(int rank, const void* data) const {
    // relaxed: whoever names a window's memory got it from a call that took the lock.
    if (any_.load(std::memory_order_relaxed) == 0) return false;
    const std::lock_guard guard(lock_);
    return list_.covers(rank, data);
  }
  // While ranks may allocate more.
  template <class Visit>
  void for_each(Visit&& visit) const {
    const std::lock_guard guard(lock_);
    list_.for_each(visit);
  }
  // Between rounds, or when nothing runs.
  WindowList& list() { return list_; }

 private:
  mutable base::SpinLock<E> lock_;
  typename E::template Atomic<std::uint32_t> any_{0};
  WindowList list_;
};

}  // namespace heddle::host
