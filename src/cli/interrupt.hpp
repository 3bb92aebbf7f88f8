// SPDX-License-Identifier: Apache-2.0
//
// SIGINT, SIGTERM and SIGHUP. The first asks the running round to stop, so that the command ends in order; another
// ends the process at once.
#pragma once

#include <csignal>
#include <heddle/session.hpp>
#include <mutex>
#include <string>
#include <thread>

namespace heddle::cli {

/// A thread of its own takes the signals, so that what they do may lock and nothing else is interrupted. Create it
/// before any other thread: the signals are blocked in the creating thread and in those that it starts.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  bool requested() const;

  /// The session whose rounds an interrupt stops, while the object lives.
  class Watch {
   public:
    Watch(Interrupts& interrupts, Session& session) : interrupts_(interrupts) { interrupts_.watch(&session); }
    ~Watch() { interrupts_.watch(nullptr); }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

   private:
    Interrupts& interrupts_;
  };

  /// A file that is being written: removed when the process ends at once. Empty for none.
  void protect(std::string path);

 private:
  void watch(Session* session);
  void serve();

  mutable std::mutex mutex_;
  Session* session_ = nullptr;
  std::string unfinished_;
  bool requested_ = false;
  bool closing_ = false;
  sigset_t taken_{};
  sigset_t before_{};
  std::thread thread_;
};

}  // namespace heddle::cli
