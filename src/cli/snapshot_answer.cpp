// SPDX-License-Identifier: Apache-2.0
#include "cli/snapshot_answer.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <new>
#include <system_error>

#include "cli/failure.hpp"
#include "cli/snapshot_file.hpp"

namespace heddle::cli {
namespace {

/// "stencil-4711.snapshot.json", or with a number when that is there.
std::string free_name(const std::string& program) {
  const std::string stem = fmt::format("{}-{}", program, ::getpid());
  std::string name = stem + ".snapshot.json";
  std::error_code error;
  for (int n = 2; std::filesystem::exists(name, error); ++n) name = fmt::format("{}-{}.snapshot.json", stem, n);
  return name;
}

void tell(const std::string& line) {
  fmt::print(stderr, "heddle: {}\n", line);
  std::fflush(stderr);
}

}  // namespace

std::string answer_path(int pid, int number) { return fmt::format("/tmp/heddle-{}-{}.snapshot.json", pid, number); }

void answer(int number, const std::string& program, const std::function<snapshot::Snapshot()>& take) {
  const std::string path = number == 0 ? free_name(program) : answer_path(::getpid(), number);
  const std::string unfinished = path + ".part";
  try {
    write_snapshot(unfinished, take());
    std::error_code error;
    std::filesystem::rename(unfinished, path, error);
    if (error) {
      ::unlink(unfinished.c_str());
      throw Error(Code::user_error, fmt::format("cannot write {}: {}", path, error.message()));
    }
    if (number == 0) tell(snapshot_note(path));
  } catch (const Error& error) {
    tell("no snapshot: " + one_line(error));
  } catch (const std::bad_alloc&) {
    tell("no snapshot: there is not enough memory for it");
  }
}

}  // namespace heddle::cli
