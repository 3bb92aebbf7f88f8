// SPDX-License-Identifier: Apache-2.0
#include "lab/own_thread.hpp"

#include <pthread.h>
#include <signal.h>

#include <exception>
#include <utility>

namespace heddle::lab {

// Signals stay with the threads of the caller, as they do on the host.
OwnThread::OwnThread() {
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([this] { serve(); });
  } catch (...) {
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

OwnThread::~OwnThread() {
  {
    const std::lock_guard guard(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void OwnThread::call(const std::function<void()>& task) {
  const std::lock_guard one(calls_);
  std::unique_lock lock(mutex_);
  task_ = &task;
  changed_.notify_all();
  changed_.wait(lock, [this] { return task_ == nullptr; });
  if (const std::exception_ptr thrown = std::exchange(thrown_, nullptr)) std::rethrow_exception(thrown);
}

void OwnThread::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return task_ != nullptr || closing_; });
    if (task_ == nullptr) return;
    lock.unlock();
    std::exception_ptr thrown;
    try {
      (*task_)();
    } catch (...) {
      thrown = std::current_exception();
    }
    lock.lock();
    thrown_ = std::move(thrown);
    task_ = nullptr;
    changed_.notify_all();
  }
}

}  // namespace heddle::lab
