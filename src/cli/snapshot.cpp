// SPDX-License-Identifier: Apache-2.0
#include "cli/snapshot.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <system_error>
#include <thread>

#include "base/text.hpp"
#include "cli/failure.hpp"
#include "cli/failure_path.hpp"
#include "cli/lab_options.hpp"
#include "cli/output.hpp"
#include "cli/run_plan.hpp"
#include "cli/snapshot_answer.hpp"
#include "cli/snapshot_file.hpp"

namespace heddle::cli {
namespace fs = std::filesystem;
namespace {

constexpr std::chrono::milliseconds between_looks{5};

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// The signals that the process's first thread blocks, as bits.
std::uint64_t blocked_by(int pid) {
  std::ifstream file(fmt::format("/proc/{}/status", pid));
  constexpr std::string_view key = "SigBlk:";
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(key)) return std::strtoull(line.c_str() + key.size(), nullptr, 16);
  return 0;
}

/// Whether it leaves SIGUSR1 to a thread that answers; by default it would end the process. One that blocks SIGUSR2 as
/// well is in the middle of starting a thread.
bool answers(int pid) {
  const auto has = [](std::uint64_t blocked, int signal) { return (blocked >> (signal - 1) & 1U) != 0; };
  for (int looks = 0; looks < 100; ++looks) {
    const std::uint64_t blocked = blocked_by(pid);
    if (!has(blocked, SIGUSR1)) return false;
    if (!has(blocked, SIGUSR2)) return true;
    std::this_thread::sleep_for(between_looks);
  }
  return false;
}

void check_process(int pid) {
  if (::kill(pid, 0) != 0) {
    if (errno == EPERM)
      throw UsageError(fmt::format("process {} is another user's, and may not be asked; run this as that user", pid));
    throw UsageError(fmt::format("there is no process {}; 'pgrep heddle' shows those that there are", pid));
  }
  const std::string name = first_line(fmt::format("/proc/{}/comm", pid));
  if (name != "heddle")
    throw UsageError(
        fmt::format("process {} is {}, and no heddle; give the process of a 'heddle run'", pid, base::quoted(name)));
  if (!answers(pid))
    throw UsageError(
        fmt::format("process {} cannot be asked; only 'heddle run' on the host can, once it has begun", pid));
}

bool is_alive(int pid) { return ::kill(pid, 0) == 0 && !first_line(fmt::format("/proc/{}/cmdline", pid)).empty(); }

/// The process's own file, and no link to another.
bool is_answer(const std::string& path, int pid) {
  struct stat file{};
  struct stat process{};
  return ::lstat(path.c_str(), &file) == 0 && S_ISREG(file.st_mode) &&
         ::stat(fmt::format("/proc/{}", pid).c_str(), &process) == 0 && file.st_uid == process.st_uid;
}

int fail(const SnapshotOptions& options, int pid, const std::string& message) {
  fmt::print(stderr, "heddle: {}\n", message);
  if (options.json) write_json({{"pid", pid}, {"snapshot", nullptr}, {"message", message}});
  return exit_failed;
}

}  // namespace

int snapshot(const SnapshotOptions& options) {
  const int pid = static_cast<int>(parse_number("PID", options.pid, 1, std::numeric_limits<int>::max()));
  const std::chrono::nanoseconds patience =
      options.patience.empty() ? std::chrono::seconds(10) : parse_time("--patience", options.patience);
  const std::string out = failure_path(options.out, fmt::format("heddle-{}.snapshot.json", pid));
  check_process(pid);

  // Nobody can have put a file of that name there before.
  std::random_device random;
  const int number = std::uniform_int_distribution<int>(1)(random);
  const std::string answer = answer_path(pid, number);
  sigval value{};
  value.sival_int = number;
  if (::sigqueue(pid, SIGUSR1, value) != 0)
    return fail(options, pid, fmt::format("cannot ask process {}: {}", pid, std::strerror(errno)));
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!is_answer(answer, pid)) {
    if (!is_alive(pid)) return fail(options, pid, fmt::format("process {} ended before it answered", pid));
    if (std::chrono::steady_clock::now() >= deadline)
      return fail(options, pid,
                  fmt::format("process {} has not answered within {}; its standard error may say why", pid,
                              options.patience.empty() ? "10s" : options.patience));
    std::this_thread::sleep_for(between_looks);
  }
  std::error_code error;
  fs::copy_file(answer, out, fs::copy_options::overwrite_existing, error);
  ::unlink(answer.c_str());
  if (error) return fail(options, pid, fmt::format("cannot write {}: {}", base::quoted(out), error.message()));
  if (options.json) {
    write_json({{"pid", pid}, {"snapshot", out}, {"message", ""}});
  } else {
    fmt::print("{}\n", snapshot_note(out));
  }
  return exit_passed;
}

}  // namespace heddle::cli
