// SPDX-License-Identifier: Apache-2.0
#include "cli/status_line.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "cli/output.hpp"

namespace heddle::cli {
namespace {

constexpr std::chrono::milliseconds interval{100};

/// A line that is longer than the terminal is wide would not be written over.
std::size_t columns() {
  winsize size{};
  const bool is_known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return is_known ? size.ws_col - 1U : 79U;
}

}  // namespace

StatusLine::StatusLine(bool quiet) : shows_(!quiet && is_terminal(STDERR_FILENO)) {}

bool StatusLine::is_due() const { return shows_ && Clock::now() >= next_; }

void StatusLine::show(const std::string& text) {
  if (!is_due()) return;
  next_ = Clock::now() + interval;
  // To the line's beginning, and clear what a longer text left behind.
  fmt::print(stderr, "\r{}\x1b[K", text.substr(0, std::min(text.size(), columns())));
  std::fflush(stderr);
  shown_ = true;
}

void StatusLine::clear() {
  if (!shown_) return;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace heddle::cli
