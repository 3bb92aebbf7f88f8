// SPDX-License-Identifier: Apache-2.0
#include "base/fiber.hpp"

#include <cxxabi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <boost/context/detail/fcontext.hpp>
#include <cstdio>
#include <cstring>
#include <exception>

#include "base/sanitizer.hpp"

#if HEDDLE_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if HEDDLE_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace heddle::base {

namespace fcontext = boost::context::detail;

namespace {

// The head of the C++ runtime's per-thread exception state, which has to move with the context.
struct ExceptionState {
  void* caught = nullptr;
  unsigned int uncaught = 0;
};

// The runtime declares __cxa_get_globals const, so a compiler may keep its result across a switch that changes the
// thread. The barrier keeps this function from being taken for const as well.
[[gnu::noinline]] void* thread_exception_state() noexcept {
  asm volatile("" ::: "memory");
  return abi::__cxa_get_globals();
}

ExceptionState save_exceptions() noexcept {
  ExceptionState state;
  const char* const from = static_cast<const char*>(thread_exception_state());
  std::memcpy(&state.caught, from, sizeof state.caught);
  std::memcpy(&state.uncaught, from + sizeof state.caught, sizeof state.uncaught);
  return state;
}

void restore_exceptions(const ExceptionState& state) noexcept {
  char* const to = static_cast<char*>(thread_exception_state());
  std::memcpy(to, &state.caught, sizeof state.caught);
  std::memcpy(to + sizeof state.caught, &state.uncaught, sizeof state.uncaught);
}

[[noreturn]] void die(const char* message) noexcept {
  std::fprintf(stderr, "heddle: %s\n", message);
  std::terminate();
}

std::size_t page_bytes() noexcept {
  static const std::size_t bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

// Instrumented frames are larger; the address space is free and untouched pages are not resident.
constexpr std::size_t stack_factor = (HEDDLE_ASAN || HEDDLE_TSAN) ? 2 : 1;

// Stacks this large could be backed by huge pages, which would make untouched parts resident.
constexpr std::size_t huge_page_bytes = std::size_t{2} << 20U;

}  // namespace

// What the side that leaves tells the side that arrives; lives on the stack that is left.
struct Fiber::Arrival {
  Fiber* from;  // where to keep the context that was left; null when it was left for good
  Fiber* to;
};

struct FiberStart {
  static void trampoline(fcontext::transfer_t transfer) {
    Fiber::run_entry(transfer.fctx, *static_cast<const Fiber::Arrival*>(transfer.data));
  }
};

Fiber::Fiber(std::size_t stack_bytes, void (*entry)(void*), void* argument) : entry_(entry), argument_(argument) {
  const std::size_t page = page_bytes();
  if (stack_bytes > (std::size_t{1} << 40U)) throw FiberStackError();
  const std::size_t pages = (stack_bytes * stack_factor + page - 1) / page;
  const std::size_t bytes = (pages < 2 ? 2 : pages) * page;
  void* const mapping = ::mmap(nullptr, bytes + page, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (mapping == MAP_FAILED) throw FiberStackError();
  if (::mprotect(mapping, page, PROT_NONE) != 0) {
    ::munmap(mapping, bytes + page);
    throw FiberStackError();
  }
  mapping_ = mapping;
  mapping_bytes_ = bytes + page;
  char* const stack = static_cast<char*>(mapping) + page;
  if (bytes >= huge_page_bytes) (void)::madvise(stack, bytes, MADV_NOHUGEPAGE);
  context_ = fcontext::make_fcontext(stack + bytes, bytes, &FiberStart::trampoline);
  context_stack_ = stack;
  context_stack_bytes_ = bytes;
#if HEDDLE_TSAN
  owned_tsan_ = __tsan_create_fiber(0);
  context_tsan_ = owned_tsan_;
#endif
}

Fiber::~Fiber() {
  if (mapping_ == nullptr) return;
#if HEDDLE_ASAN
  char* const stack = static_cast<char*>(mapping_) + page_bytes();
  __asan_unpoison_memory_region(stack, mapping_bytes_ - page_bytes());  // frames that were never left
#endif
#if HEDDLE_TSAN
  __tsan_destroy_fiber(owned_tsan_);
#endif
  ::munmap(mapping_, mapping_bytes_);
}

// First thing on the side that arrives: completes the handle of the side that was left.
void Fiber::arrive(void* suspended, const Arrival& arrival, [[maybe_unused]] void* fake_stack) noexcept {
#if HEDDLE_ASAN
  const void* stack = nullptr;
  std::size_t bytes = 0;
  __sanitizer_finish_switch_fiber(fake_stack, &stack, &bytes);
  if (arrival.from != nullptr) {
    arrival.from->context_stack_ = stack;
    arrival.from->context_stack_bytes_ = bytes;
  }
#endif
  if (arrival.from != nullptr) arrival.from->context_ = suspended;
}

// Not instrumented: leaving for good frees the address sanitizer's shadow frames at once, this function's among them.
[[gnu::noinline, gnu::no_sanitize_address]] void Fiber::jump(Fiber* from, Fiber& to) noexcept {
  void* const target = to.context_;
  if (target == nullptr) die("switch to a fiber that holds no suspended context");
  to.context_ = nullptr;
  const ExceptionState exceptions = save_exceptions();
  Arrival departure{from, &to};
  void* fake_stack = nullptr;
#if HEDDLE_ASAN
  __sanitizer_start_switch_fiber(from != nullptr ? &fake_stack : nullptr, to.context_stack_, to.context_stack_bytes_);
#endif
#if HEDDLE_TSAN
  if (from != nullptr) from->context_tsan_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(to.context_tsan_, 0);
#endif
  const fcontext::transfer_t transfer = fcontext::jump_fcontext(target, &departure);
  // Possibly another thread from here on.
  arrive(transfer.fctx, *static_cast<const Arrival*>(transfer.data), fake_stack);
  restore_exceptions(exceptions);
}

void Fiber::switch_to(Fiber& from, Fiber& to) noexcept { jump(&from, to); }

void Fiber::exit_to(Fiber& to) noexcept {
  jump(nullptr, to);
  die("a fiber was continued that had been left for good");
}

void Fiber::run_entry(void* suspended, const Arrival& arrival) noexcept {
  Fiber& self = *arrival.to;
  arrive(suspended, arrival, nullptr);
  restore_exceptions(ExceptionState{});
  self.entry_(self.argument_);
  die("the entry of a fiber returned");
}

}  // namespace heddle::base
