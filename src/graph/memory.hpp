// SPDX-License-Identifier: Apache-2.0
//
// Address space that a rank's rings live in: zeroed on first touch, given back as a whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace heddle::graph {

// While one lives, this thread keeps the address space that it would give back, and uses it again: for who makes and
// drops thousands of sessions.
class MemoryReuse {
 public:
  MemoryReuse();
  ~MemoryReuse();
  MemoryReuse(const MemoryReuse&) = delete;
  MemoryReuse& operator=(const MemoryReuse&) = delete;

  // Whether one lives on this thread.
  static bool active() noexcept;
};

// Whether somebody reads memory before it is written.
enum class Contents : bool { any, zero };

// Pages that become resident when touched. Throws heddle::Error(invalid_argument) when the system refuses.
class LazyMemory {
 public:
  LazyMemory() = default;
  LazyMemory(std::size_t bytes, const char* what, Contents contents = Contents::zero);
  LazyMemory(LazyMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)),
        contents_(other.contents_),
        zeroed_(other.zeroed_) {}
  LazyMemory& operator=(LazyMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(contents_, other.contents_);
    std::swap(zeroed_, other.zeroed_);
    return *this;
  }
  ~LazyMemory();
  // The owner has zeroed all that it wrote and writes no more: who uses this memory next finds zeroes without a sweep
  // over all of it. Worth doing while MemoryReuse::active().
  void was_zeroed() noexcept { zeroed_ = true; }
  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  Contents contents_ = Contents::zero;
  bool zeroed_ = false;
};

// The same pages mapped twice in a row: a block of up to `bytes` that starts anywhere in the first copy is contiguous.
// A ring over it never wraps inside an allocation and wastes nothing at its end.
class MirroredMemory {
 public:
  MirroredMemory() = default;
  // `bytes` is rounded up to whole pages. Throws heddle::Error(invalid_argument) when the system refuses.
  MirroredMemory(std::uint64_t bytes, const char* what);
  MirroredMemory(MirroredMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  MirroredMemory& operator=(MirroredMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~MirroredMemory();
  // The memory at a position of an endless tape.
  std::byte* at(std::uint64_t position) const { return data_ + position % bytes_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace heddle::graph
