// SPDX-License-Identifier: Apache-2.0
#include "cli/trace_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/text.hpp"
#include "cli/failure.hpp"
#include "cli/output.hpp"

namespace heddle::cli {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void refuse(const std::string& option, const std::string& path, const char* why) {
  throw UsageError(fmt::format("{}: cannot write {}: {}; name a file in a folder that exists and is writable", option,
                               base::quoted(path), why));
}

/// Through a link, the file that it names: the link stays.
fs::path target_of(const std::string& path) {
  std::error_code error;
  const fs::path target = fs::canonical(path, error);
  return error ? fs::path(path) : target;
}

void take_name(const std::string& from, const std::string& path) {
  std::error_code error;
  fs::rename(from, target_of(path), error);
  if (error) throw Error(Code::user_error, fmt::format("cannot write {}: {}", base::quoted(path), error.message()));
}

}  // namespace

TraceFile::TraceFile(std::string path, Interrupts& interrupts, std::string option)
    : path_(std::move(path)), option_(std::move(option)), interrupts_(interrupts) {
  if (path_.empty())
    throw UsageError(fmt::format("{0}: the file's name is empty; name a file, as in {0} out.json", option_));
  std::error_code error;
  const fs::file_status status = fs::status(path_, error);
  if (fs::is_directory(status)) refuse(option_, path_, "it is a folder");
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    // A device or a pipe, which opening would disturb.
    if (::access(path_.c_str(), W_OK) != 0) refuse(option_, path_, std::strerror(errno));
    return;
  }
  if (fs::exists(status) && ::access(path_.c_str(), W_OK) != 0) refuse(option_, path_, std::strerror(errno));
  unfinished_ = fmt::format("{}.{}.part", target_of(path_).string(), ::getpid());
  const int probe = ::open(unfinished_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (probe < 0) refuse(option_, path_, std::strerror(errno));
  ::close(probe);
  ::unlink(unfinished_.c_str());
}

void TraceFile::write(const Writer& writer) {
  const std::string& written = unfinished_.empty() ? path_ : unfinished_;
  interrupts_.protect(unfinished_);
  try {
    writer(written);
    if (!unfinished_.empty()) take_name(unfinished_, path_);
  } catch (const Error& error) {
    if (!unfinished_.empty()) ::unlink(unfinished_.c_str());
    interrupts_.protect({});
    // The user knows the file by the name that it was to have.
    std::string message = error.message();
    if (const std::size_t at = message.find(written); at != std::string::npos)
      message.replace(at, written.size(), path_);
    throw Error(Code::user_error, option_ + ": " + message).with_hint("Make room, or name a file on another disk.");
  }
  interrupts_.protect({});
  is_written_ = true;
}

RunFiles::RunFiles(const FileNames& names, Interrupts& interrupts) {
  if (names.trace) trace.emplace(*names.trace, interrupts);
  if (names.records) records.emplace(*names.records, interrupts, "--records");
  if (names.snapshot) snapshot.emplace(*names.snapshot, interrupts, "--snapshot");
  if (names.html) html.emplace(*names.html, interrupts, "--html");
}

bool write_file(TraceFile& file, const TraceFile::Writer& writer, std::string& path) {
  try {
    file.write(writer);
    path = file.path();
    return true;
  } catch (const Error& error) {
    fmt::print(stderr, "heddle: {}\n", one_line(error));
    return false;
  }
}

std::string trace_note(const RunResult& result, const std::string& more) {
  std::string note = fmt::format("trace in {}: open it at https://ui.perfetto.dev", result.trace);
  const RoundStatistics& total = result.total;
  if (total.records_dropped > 0) {
    note += fmt::format("; it holds the newest {} of {} records{}", grouped(total.records - total.records_dropped),
                        grouped(total.records), more);
  }
  return note;
}

std::string records_note(const RunResult& result) {
  return fmt::format("dispatch records in {0}: heddle verify {0} proves what has to hold of them", result.records);
}

void save(TraceFile& trace, const TraceFile::Writer& writer, RunResult& result, bool is_last,
          std::string RunResult::* path) {
  if (trace.is_written() || result.interrupted || (!is_last && result.passed())) return;
  try {
    trace.write(writer);
    result.*path = trace.path();
  } catch (const Error& error) {
    if (result.error)
      result.error->attach(error);
    else
      result.error = error;
  }
}

}  // namespace heddle::cli
