// SPDX-License-Identifier: Apache-2.0
#include "cli/lab_guard.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/failure.hpp"
#include "cli/output.hpp"
#include "lab/stall_watch.hpp"

namespace heddle::cli {

std::string stall_message(const std::string& prefix, const std::string& what, std::chrono::nanoseconds patience) {
  return fmt::format(
      "{}: {} has taken no step for {}: in the laboratory a kernel may wait only through its block (--patience gives "
      "it "
      "more time)",
      prefix, what.empty() ? "what runs" : what, duration_text(patience));
}

void end_now(const std::string& message, const char* verdict, bool as_json) {
  // What a progress line shows stands there still.
  fmt::print(stderr, "{}heddle: {}\n", is_terminal(STDERR_FILENO) ? "\r\x1b[K" : "", one_line(message));
  if (as_json) {
    write_json({{"passed", false},
                {"verdict", verdict},
                {"code", static_cast<int>(Code::user_error)},
                {"name", std::string(info(Code::user_error).name)},
                {"message", one_line(message)}});
  }
  std::fflush(stdout);
  std::fflush(stderr);
  // Not exit: threads that still run use what it would take down.
  ::_exit(exit_failed);
}

LabGuard::LabGuard(std::string prefix, Interrupts& interrupts, OnInterrupt on_interrupt,
                   std::chrono::nanoseconds patience, bool as_json) {
  const auto serve = [this, prefix = std::move(prefix), &interrupts, on_interrupt, patience, as_json,
                      watched = &lab::RunningNow::here()] {
    constexpr std::chrono::milliseconds glance{50};
    lab::StallWatch watch(patience);
    watch.add(*watched, lab::StallWatch::Clock::now());
    std::unique_lock lock(mutex_);
    while (!closing_now_.wait_for(lock, glance, [this] { return closing_; })) {
      if (const auto stalled = watch.look(lab::StallWatch::Clock::now()))
        end_now(stall_message(prefix, stalled->what, patience), "CORE STALLED", as_json);
      if (on_interrupt == OnInterrupt::ends && interrupts.requested())
        end_now(prefix + ": interrupted", "INTERRUPTED", as_json);
    }
  };
  thread_ = std::thread(serve);
}

LabGuard::~LabGuard() {
  {
    const std::scoped_lock lock(mutex_);
    closing_ = true;
  }
  closing_now_.notify_all();
  thread_.join();
}

}  // namespace heddle::cli
