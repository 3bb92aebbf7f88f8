// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <utility>

#include "cli/output.hpp"

namespace heddle::cli {
namespace {

constexpr std::chrono::milliseconds terminal_interval{100};
constexpr std::chrono::seconds log_interval{10};

std::string left_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace

Progress::Progress(std::string title, std::int64_t rounds, bool quiet)
    : title_(std::move(title)),
      rounds_(rounds),
      quiet_(quiet),
      terminal_(is_terminal(STDERR_FILENO)),
      start_(Clock::now()),
      next_(terminal_ ? start_ : start_ + log_interval) {
  update(0);
}

Progress::~Progress() { clear(); }

std::string Progress::line(const std::string& title, std::int64_t done, std::int64_t rounds,
                           std::chrono::nanoseconds elapsed) {
  std::string text = fmt::format("{}  {}/{} rounds", title, done, rounds);
  const double seconds = std::chrono::duration<double>(elapsed).count();
  if (done > 0 && seconds > 0) {
    const double rate = static_cast<double>(done) / seconds;
    text +=
        fmt::format("  {} rounds/s  {} left", rate_text(rate), left_text(static_cast<double>(rounds - done) / rate));
  }
  return text;
}

void Progress::update(std::int64_t done) {
  if (quiet_) return;
  const auto now = Clock::now();
  if (now < next_) return;
  next_ = now + (terminal_ ? Clock::duration(terminal_interval) : Clock::duration(log_interval));
  const std::string text = line(title_, done, rounds_, now - start_);
  if (terminal_) {
    // To the line's beginning, and clear what a longer text left behind.
    fmt::print(stderr, "\r{}\x1b[K", text);
    std::fflush(stderr);
    shown_ = true;
  } else {
    fmt::print(stderr, "heddle: {}\n", text);
  }
}

void Progress::clear() {
  if (!shown_) return;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace heddle::cli
