// SPDX-License-Identifier: Apache-2.0
#include "graph/memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <heddle/error.hpp>
#include <string>
#include <vector>

namespace heddle::graph {

namespace {

[[noreturn]] void refuse(const char* what, std::uint64_t bytes) {
  throw Error(Code::invalid_argument, std::string("no memory for ") + what + ": " + std::to_string(bytes) + " bytes (" +
                                          std::strerror(errno) + ")")
      .with_hint("configure smaller rings or fewer ranks");
}

std::uint64_t round_to_pages(std::uint64_t bytes) {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

enum class Kind : std::uint8_t { written, zeroed, mirrored };

// Address space kept for later, by its kind and size.
struct KeptMemory {
  struct Range {
    std::byte* data;
    std::uint64_t bytes;
    Kind kind;
  };
  static constexpr std::size_t most = 4096;
  static constexpr std::uint64_t zeroed_most = 1U << 20U;  // to zero more by hand costs as much as new pages

  ~KeptMemory() { drop(); }
  void drop() {
    for (const Range& range : ranges)
      ::munmap(range.data, range.kind == Kind::mirrored ? 2 * range.bytes : range.bytes);
    ranges.clear();
  }
  std::byte* take(std::uint64_t bytes, Kind kind) {
    for (std::size_t i = ranges.size(); i-- > 0;) {
      if (ranges[i].bytes != bytes || ranges[i].kind != kind) continue;
      std::byte* const data = ranges[i].data;
      ranges[i] = ranges.back();
      ranges.pop_back();
      return data;
    }
    return nullptr;
  }
  bool keep(std::byte* data, std::uint64_t bytes, Kind kind) {
    if (users == 0 || ranges.size() == most) return false;
    ranges.push_back({data, bytes, kind});
    return true;
  }

  int users = 0;
  std::vector<Range> ranges;
};

KeptMemory& kept() {
  static thread_local KeptMemory memory;
  return memory;
}

}  // namespace

MemoryReuse::MemoryReuse() { ++kept().users; }
MemoryReuse::~MemoryReuse() {
  if (--kept().users == 0) kept().drop();
}
bool MemoryReuse::active() noexcept { return kept().users != 0; }

LazyMemory::LazyMemory(std::size_t bytes, const char* what, Contents contents)
    : bytes_(round_to_pages(bytes)), contents_(contents) {
  const bool wants_zeroes = contents == Contents::zero;
  data_ = kept().take(bytes_, wants_zeroes ? Kind::zeroed : Kind::written);
  if (data_ == nullptr && wants_zeroes && bytes_ <= KeptMemory::zeroed_most) {
    data_ = kept().take(bytes_, Kind::written);
    if (data_ != nullptr) std::memset(data_, 0, bytes_);
  }
  if (data_ != nullptr) return;
  void* memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) refuse(what, bytes);
  data_ = static_cast<std::byte*>(memory);
}

LazyMemory::~LazyMemory() {
  if (data_ == nullptr) return;
  const bool costly = contents_ == Contents::zero && !zeroed_ && bytes_ > KeptMemory::zeroed_most;
  if (costly || !kept().keep(data_, bytes_, zeroed_ ? Kind::zeroed : Kind::written)) ::munmap(data_, bytes_);
}

MirroredMemory::MirroredMemory(std::uint64_t bytes, const char* what) : bytes_(round_to_pages(bytes)) {
  data_ = kept().take(bytes_, Kind::mirrored);
  if (data_ != nullptr) return;
  const int file = ::memfd_create("heddle-ring", MFD_CLOEXEC);
  if (file < 0) refuse(what, bytes_);
  void* range = MAP_FAILED;
  if (::ftruncate(file, static_cast<off_t>(bytes_)) == 0)
    range = ::mmap(nullptr, 2 * bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  bool mapped = range != MAP_FAILED;
  for (std::uint64_t copy = 0; mapped && copy < 2; ++copy) {
    void* at = static_cast<std::byte*>(range) + copy * bytes_;
    mapped = ::mmap(at, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file, 0) == at;
  }
  const int reason = errno;
  ::close(file);
  if (!mapped) {
    if (range != MAP_FAILED) ::munmap(range, 2 * bytes_);
    errno = reason;
    refuse(what, bytes_);
  }
  data_ = static_cast<std::byte*>(range);
}

MirroredMemory::~MirroredMemory() {
  if (data_ != nullptr && !kept().keep(data_, bytes_, Kind::mirrored)) ::munmap(data_, 2 * bytes_);
}

}  // namespace heddle::graph
