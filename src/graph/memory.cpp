// SPDX-License-Identifier: Apache-2.0
#include "graph/memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <heddle/error.hpp>
#include <string>

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

}  // namespace

LazyMemory::LazyMemory(std::size_t bytes, const char* what) : bytes_(round_to_pages(bytes)) {
  void* memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) refuse(what, bytes);
  data_ = static_cast<std::byte*>(memory);
}

LazyMemory::~LazyMemory() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

MirroredMemory::MirroredMemory(std::uint64_t bytes, const char* what) : bytes_(round_to_pages(bytes)) {
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
  if (data_ != nullptr) ::munmap(data_, 2 * bytes_);
}

}  // namespace heddle::graph
