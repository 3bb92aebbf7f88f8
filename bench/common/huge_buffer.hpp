// SPDX-License-Identifier: Apache-2.0
// Memory of the floors in large pages, where the system gives them: a plain loop has nothing better to ask for.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

namespace heddle::bench {

template <class T>
struct HugePages {
  using value_type = T;
  static constexpr std::size_t page_bytes = std::size_t{2} << 20;

  T* allocate(std::size_t count) {
    const std::size_t bytes = (count * sizeof(T) + page_bytes - 1) / page_bytes * page_bytes;
    void* const memory = std::aligned_alloc(page_bytes, bytes);
    if (memory == nullptr) throw std::bad_alloc();
    (void)madvise(memory, bytes, MADV_HUGEPAGE);  // advice: small pages do as well
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t) { std::free(memory); }
  bool operator==(const HugePages&) const { return true; }
};

template <class T>
using HugeBuffer = std::vector<T, HugePages<T>>;

}  // namespace heddle::bench
