// SPDX-License-Identifier: Apache-2.0
#include "cli/failure_path.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/text.hpp"
#include "cli/failure.hpp"

namespace heddle::cli {
namespace fs = std::filesystem;

std::string failure_path(const std::string& out, const std::string& name) {
  std::error_code error;
  const bool is_folder = out.ends_with('/') || fs::is_directory(out, error);
  const std::string path = out.empty() ? name : is_folder ? (fs::path(out) / name).string() : out;
  const auto refuse = [&](const char* why) {
    throw UsageError(fmt::format("--out: cannot write {}: {}; name a file or a folder that is there and is writable",
                                 base::quoted(path), why));
  };
  if (fs::is_directory(path, error)) refuse("it is a folder");
  const std::string folder = fs::path(path).has_parent_path() ? fs::path(path).parent_path().string() : ".";
  // The file takes its name when it is whole: what counts is the folder.
  if (::access(folder.c_str(), W_OK | X_OK) != 0) refuse(std::strerror(errno));
  if (!fs::is_directory(folder, error)) refuse("Not a directory");
  return path;
}

bool save_failure(const std::string& path, const lab::Failure& failure) {
  try {
    lab::write_failure(path, failure);
    return true;
  } catch (const Error& error) {
    fmt::print(stderr, "heddle: {}; this is the failure:\n{}", one_line(error.message()), lab::to_text(failure));
    return false;
  }
}

lab::Failure load_failure(const std::string& path) {
  try {
    return lab::read_failure(path);
  } catch (const Error& error) {
    throw UsageError(one_line(error.message()));
  }
}

}  // namespace heddle::cli
