// SPDX-License-Identifier: Apache-2.0
#include "cli/interrupt.hpp"

#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <ctime>
#include <utility>

#include "cli/failure.hpp"

namespace heddle::cli {
namespace {

/// Wakes the thread. Sent to that thread alone.
constexpr int wake_signal = SIGUSR2;
/// Asks for a snapshot.
constexpr int request_signal = SIGUSR1;

bool is_ignored(int signal) {
  struct sigaction action{};
  return ::sigaction(signal, nullptr, &action) == 0 && (action.sa_flags & SA_SIGINFO) == 0 &&
         action.sa_handler == SIG_IGN;
}

/// A cancel that falls between two rounds stops none, so it is repeated this often until the session is gone.
constexpr timespec repeat{0, 20'000'000};

/// The same signal so soon after is the same request: timeout(1) and others send one to the process and to its group.
constexpr std::chrono::milliseconds echo{100};

}  // namespace

Interrupts::Interrupts(OnRequest on_request) : answers_(on_request == OnRequest::answers) {
  sigemptyset(&taken_);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    // nohup and shells in the background ignore some of them on purpose; a blocked signal would be delivered to us.
    if (!is_ignored(signal)) sigaddset(&taken_, signal);
  }
  sigaddset(&taken_, wake_signal);
  if (answers_) sigaddset(&taken_, request_signal);
  ::pthread_sigmask(SIG_BLOCK, &taken_, &before_);
  thread_ = std::thread([this] { serve(); });
  // One that comes when nobody answers any more does not end the process.
  if (answers_) sigaddset(&before_, request_signal);
  // Only the thread above waits for it: everybody else keeps what it does by default.
  sigset_t wake;
  sigemptyset(&wake);
  sigaddset(&wake, wake_signal);
  if (sigismember(&before_, wake_signal) == 0) ::pthread_sigmask(SIG_UNBLOCK, &wake, nullptr);
}

Interrupts::~Interrupts() {
  {
    const std::scoped_lock lock(mutex_);
    closing_ = true;
  }
  ::pthread_kill(thread_.native_handle(), wake_signal);
  thread_.join();
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

bool Interrupts::requested() const {
  const std::scoped_lock lock(mutex_);
  return requested_;
}

void Interrupts::protect(std::string path) {
  const std::scoped_lock lock(mutex_);
  unfinished_ = std::move(path);
}

void Interrupts::watch(Session* session, Answer answer) {
  const std::scoped_lock lock(mutex_);
  session_ = session;
  answer_ = std::move(answer);
  if (answer_ && !requests_.empty()) ::pthread_kill(thread_.native_handle(), wake_signal);
}

void Interrupts::answer_requests() {
  if (!answer_) return;
  for (const int number : std::exchange(requests_, {})) answer_(number);
}

void Interrupts::serve() {
  bool repeating = false;
  int first = 0;
  std::chrono::steady_clock::time_point first_at;
  for (;;) {
    siginfo_t about{};
    const int signal = repeating ? ::sigtimedwait(&taken_, &about, &repeat) : ::sigwaitinfo(&taken_, &about);
    const std::scoped_lock lock(mutex_);
    if (closing_) return;
    if (signal < 0 && errno != EAGAIN) continue;
    if (signal == wake_signal || signal == request_signal) {
      if (signal == request_signal) requests_.push_back(about.si_code == SI_QUEUE ? about.si_value.sival_int : 0);
      answer_requests();
      continue;
    }
    const auto now = std::chrono::steady_clock::now();
    const bool is_echo = signal == first && now - first_at < echo;
    if (signal > 0 && requested_ && !is_echo) {
      if (!unfinished_.empty()) ::unlink(unfinished_.c_str());
      ::_exit(exit_failed);
    }
    if (!requested_) {
      first = signal;
      first_at = now;
    }
    requested_ = repeating = true;
    if (session_ != nullptr) session_->cancel();
  }
}

}  // namespace heddle::cli
