// SPDX-License-Identifier: Apache-2.0
#include "host/thread_sample.hpp"

#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "base/sanitizer.hpp"

#if HEDDLE_TSAN
// The thread sanitizer keeps a signal back until the thread calls something that it knows, which a kernel without end
// may never do. The C library has the function under a second name, which the sanitizer leaves alone.
extern "C" int __sigaction(int, const struct sigaction*, struct sigaction*);  // NOLINT(bugprone-reserved-identifier)
#endif

// Nothing of the sanitizers in the handler: it may come while their own code runs.
#if defined(__clang__)
#define HEDDLE_PLAIN_CODE [[gnu::noinline, clang::disable_sanitizer_instrumentation]]
#else
#define HEDDLE_PLAIN_CODE [[gnu::noinline, gnu::no_sanitize("address", "thread", "undefined")]]
#endif

namespace heddle::host {

namespace {

constexpr std::chrono::milliseconds patience{500};
constexpr std::size_t page = 4096;
constexpr std::size_t pieces_most = ThreadSample::stack_most / page + 1;

// What a thread is asked, and its answer. One that is never answered is kept for good: the signal may still come.
struct Request {
  enum State : std::uint32_t { asked, withdrawn, answering, answered };
  std::uint32_t state = asked;
  std::uint64_t pc = 0;
  std::uint64_t stack_begin = 0;
  std::size_t stack_bytes = 0;
  std::array<std::uint64_t, ThreadSample::register_count> registers{};
  std::array<std::byte, ThreadSample::stack_most> stack{};
};

#if defined(__x86_64__)
HEDDLE_PLAIN_CODE void copy_registers(const ucontext_t& context, Request& request) {
  constexpr int order[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
                           REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
  for (std::size_t i = 0; i < ThreadSample::register_count; ++i)
    request.registers[i] = static_cast<std::uint64_t>(context.uc_mcontext.gregs[order[i]]);
  request.pc = request.registers[16];
  request.stack_begin = request.registers[7];
}
#else
HEDDLE_PLAIN_CODE void copy_registers(const ucontext_t&, Request&) {}
#endif

// By the kernel, which stops at the end of what is mapped instead of faulting; a page a piece, as it copies pieces
// whole.
HEDDLE_PLAIN_CODE void copy_stack(Request& request) {
  if (request.stack_begin == 0) return;
  iovec from[pieces_most];
  std::uint64_t at = request.stack_begin;
  std::size_t left = ThreadSample::stack_most;
  unsigned long pieces = 0;
  while (left > 0 && pieces < pieces_most) {
    std::size_t bytes = page - at % page;
    if (bytes > left) bytes = left;
    from[pieces].iov_base = reinterpret_cast<void*>(at);
    from[pieces].iov_len = bytes;
    ++pieces;
    at += bytes;
    left -= bytes;
  }
  iovec to{request.stack.data(), ThreadSample::stack_most};
  const long copied = ::syscall(SYS_process_vm_readv, ::getpid(), &to, 1UL, from, pieces, 0UL);
  if (copied > 0) {
    request.stack_bytes = static_cast<std::size_t>(copied);
    return;
  }
  // Not allowed here: the rest of the page that the stack ends in is mapped in any case.
  const std::size_t rest = page - request.stack_begin % page;
  const volatile std::byte* source = reinterpret_cast<const std::byte*>(request.stack_begin);
  for (std::size_t i = 0; i < rest; ++i) request.stack[i] = source[i];
  request.stack_bytes = rest;
}

HEDDLE_PLAIN_CODE void answer(int, siginfo_t* info, void* context) {
  // Of this process's own asking, and of nobody else's.
  if (info->si_code != SI_QUEUE || info->si_pid != ::getpid() || info->si_value.sival_ptr == nullptr) return;
  const int kept_errno = errno;
  auto& request = *static_cast<Request*>(info->si_value.sival_ptr);
  std::uint32_t expected = Request::asked;
  // acquire: partner is the send. release: partner is the load in sample().
  if (__atomic_compare_exchange_n(&request.state, &expected, static_cast<std::uint32_t>(Request::answering), false,
                                  __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
    copy_registers(*static_cast<const ucontext_t*>(context), request);
    copy_stack(request);
    __atomic_store_n(&request.state, static_cast<std::uint32_t>(Request::answered), __ATOMIC_RELEASE);
  }
  errno = kept_errno;
}

int set_action(int signal, const struct sigaction* action, struct sigaction* before) {
#if HEDDLE_TSAN
  return __sigaction(signal, action, before);
#else
  return ::sigaction(signal, action, before);
#endif
}

// The last real-time signal that has nobody yet: libraries begin with the first. 0: there is none.
int take_signal() {
#if defined(__x86_64__)
  for (int signal = SIGRTMAX; signal >= SIGRTMIN; --signal) {
    struct sigaction before{};
    if (set_action(signal, nullptr, &before) != 0) continue;
    if ((before.sa_flags & SA_SIGINFO) != 0 || before.sa_handler != SIG_DFL) continue;
    struct sigaction action{};
    action.sa_sigaction = &answer;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigfillset(&action.sa_mask);
    if (set_action(signal, &action, nullptr) == 0) return signal;
  }
#endif
  return 0;
}

int sample_signal() {
  static const int signal = take_signal();
  return signal;
}

// Whether the handler is still there: a program may have taken the signal for itself since.
bool is_ours(int signal) {
  struct sigaction now{};
  return set_action(signal, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == &answer;
}

bool ask(pthread_t thread, int signal, Request& request) {
  sigval value{};
  value.sival_ptr = &request;
  return ::pthread_sigqueue(thread, signal, value) == 0;
}

std::uint32_t state_of(const Request& request) { return __atomic_load_n(&request.state, __ATOMIC_ACQUIRE); }

std::optional<ThreadSample> take(std::unique_ptr<Request> request, bool was_sent) {
  if (!was_sent) return std::nullopt;
  if (state_of(*request) != Request::answered) {
    std::uint32_t expected = Request::asked;
    __atomic_compare_exchange_n(&request->state, &expected, static_cast<std::uint32_t>(Request::withdrawn), false,
                                __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    static auto* const kept = new std::vector<std::unique_ptr<Request>>();
    static std::mutex mutex;
    const std::lock_guard guard(mutex);
    kept->push_back(std::move(request));
    return std::nullopt;
  }
  ThreadSample sample;
  sample.registers = request->registers;
  sample.pc = request->pc;
  sample.stack_begin = request->stack_begin;
  sample.stack.assign(request->stack.begin(),
                      request->stack.begin() + static_cast<std::ptrdiff_t>(request->stack_bytes));
  return sample;
}

}  // namespace

bool enable_samples() { return sample_signal() != 0; }

void accept_samples() {
  const int signal = sample_signal();
  if (signal == 0) return;
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
  pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
}

std::vector<std::optional<ThreadSample>> sample(std::span<const pthread_t> threads) {
  std::vector<std::optional<ThreadSample>> samples(threads.size());
  const int signal = sample_signal();
  if (signal == 0 || !is_ours(signal)) return samples;
  std::vector<std::unique_ptr<Request>> requests;
  std::vector<bool> sent;
  for (const pthread_t thread : threads) {
    requests.push_back(std::make_unique<Request>());
    sent.push_back(ask(thread, signal, *requests.back()));
  }
  const auto deadline = std::chrono::steady_clock::now() + patience;
  const auto is_left = [&] {
    for (std::size_t i = 0; i < requests.size(); ++i)
      if (sent[i] && state_of(*requests[i]) != Request::answered) return true;
    return false;
  };
  while (is_left() && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  for (std::size_t i = 0; i < requests.size(); ++i) samples[i] = take(std::move(requests[i]), sent[i]);
  return samples;
}

}  // namespace heddle::host
