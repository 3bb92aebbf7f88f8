// SPDX-License-Identifier: Apache-2.0
//
// SIGINT, SIGTERM and SIGHUP. The first asks the running round to stop, so that the command ends in order; another
// ends the process at once. SIGUSR1, for a command that answers it: asks where everything stands.
#pragma once

#include <csignal>
#include <cstdint>
#include <functional>
#include <heddle/session.hpp>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace heddle::cli {

/// A thread of its own takes the signals, so that what they do may lock and nothing else is interrupted. Create it
/// before any other thread: the signals are blocked in the creating thread and in those that it starts.
class Interrupts {
 public:
  enum class OnRequest : std::uint8_t { keeps_the_default, answers };
  explicit Interrupts(OnRequest on_request = OnRequest::keeps_the_default);
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  bool requested() const;

  /// Called by the thread, with the number that the signal carried or 0; requests that came too early come first.
  using Answer = std::function<void(int number)>;

  /// The session whose rounds an interrupt stops, while the object lives, and who answers for it.
  class Watch {
   public:
    Watch(Interrupts& interrupts, Session& session, Answer answer) : interrupts_(interrupts) {
      interrupts_.watch(&session, std::move(answer));
    }
    ~Watch() { interrupts_.watch(nullptr, {}); }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

   private:
    Interrupts& interrupts_;
  };

  /// A file that is being written: removed when the process ends at once. Empty for none.
  void protect(std::string path);

 private:
  void watch(Session* session, Answer answer);
  void serve();
  void answer_requests();

  mutable std::mutex mutex_;
  Session* session_ = nullptr;
  Answer answer_;
  std::vector<int> requests_;
  std::string unfinished_;
  bool answers_ = false;
  bool requested_ = false;
  bool closing_ = false;
  sigset_t taken_{};
  sigset_t before_{};
  std::thread thread_;
};

}  // namespace heddle::cli
