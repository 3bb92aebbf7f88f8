// SPDX-License-Identifier: Apache-2.0
//
// A thread that does what it is told, one thing after the other, while whoever tells it waits. Simulators and their
// agents stay on the thread on which they began: code of an agent may keep the address of what belongs to its thread.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace heddle::lab {

class OwnThread {
 public:
  OwnThread();
  ~OwnThread();
  OwnThread(const OwnThread&) = delete;
  OwnThread& operator=(const OwnThread&) = delete;

  // Throws what `task` throws. Calls from several threads come one after the other; a task itself may not call.
  void call(const std::function<void()>& task);
  // Whether a task is what asks.
  bool is_here() const { return std::this_thread::get_id() == thread_.get_id(); }

 private:
  void serve();

  std::mutex calls_;  // one at a time
  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  const std::function<void()>* task_ = nullptr;
  std::exception_ptr thrown_;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace heddle::lab
