// SPDX-License-Identifier: Apache-2.0
#include "lab/failure_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/text.hpp"
#include "lab/failure_session.hpp"
#include "lab/failure_text.hpp"

namespace heddle::lab {
namespace {

namespace fs = std::filesystem;

std::string reason(int error) { return std::generic_category().message(error); }

[[noreturn]] void fail_to_write(const std::string& path, const std::string& why) {
  throw Error(Code::user_error, fmt::format("cannot write {}: {}", base::quoted(path), why))
      .with_hint("Name a file in a folder that exists, is writable and has room.");
}

[[noreturn]] void fail_to_read(const std::string& path, const std::string& why) {
  detail::throw_invalid(fmt::format("cannot read {}: {}", base::quoted(path), why));
}

// Closes when it goes.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return number_; }
  int close() {
    const int number = number_;
    number_ = -1;
    return ::close(number);
  }

 private:
  int number_;
};

// 0, or the system's reason.
int write_all(Descriptor& file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t bytes = ::write(file.get(), text.data(), text.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(bytes));
  }
  // Before the name is taken: otherwise the name could last through a crash, and the content not.
  if (::fsync(file.get()) != 0) return errno;
  return file.close() == 0 ? 0 : errno;
}

std::string content_of(const Failure& failure) {
  std::string text = fmt::format("heddle-failure {}\n", failure_schema);
  const auto line = [&](std::string_view key, std::string_view value) {
    text += fmt::format("{} {}\n", key, escaped(value));
  };
  line("program", failure.program);
  if (!failure.module.empty()) line("module", failure.module);
  if (!failure.variant.empty()) line("variant", failure.variant);
  for (const auto& [key, value] : failure.settings) line("set", key + "=" + value);

  const RunSpec& spec = failure.spec;
  line("chip", spec.chip);
  for (const auto& [key, value] : spec.chip_set) line("chip-set", fmt::format("{}={}", key, value));
  line("fidelity", spec.fidelity == Fidelity::protocol ? "protocol" : "program");
  line("ranks", std::to_string(spec.ranks));
  line("rounds", std::to_string(spec.rounds));
  const SessionConfig usual;
  for (const SessionField& field : session_fields()) {
    if (const std::string value = field.get(spec.session); value != field.get(usual))
      line("session", fmt::format("{}={}", field.name, value));
  }
  for (const auto& [key, value] : spec.faults) line("fault", fmt::format("{}={}", key, value));
  for (const std::string& checker : spec.checkers) line("checker", checker);
  line("values", spec.values ? "on" : "off");
  line("check", spec.check ? "on" : "off");

  const Schedule& schedule = failure.schedule;
  line("strategy", schedule.strategy);
  line("seed", std::to_string(schedule.seed));
  if (schedule.length_hint != 0) line("length-hint", std::to_string(schedule.length_hint));
  if (schedule.is_list) {
    line("choices", fmt::format("{} {}", schedule.choices.size(), schedule.by_time ? "by-time" : "chosen-order"));
    for (const TakenChoice& each : schedule.choices)
      line("choice", fmt::format("{} {} {} {}", each.label, each.ordinal, each.taken, each.agent));
  }

  line("verdict", word_of(failure.verdict));
  line("code", std::to_string(failure.code));
  line("sentence", failure.sentence);
  line("trace-hash", fmt::format("{:016x}", failure.trace_hash));
  line("program-hash", fmt::format("{:016x}", failure.program_hash));
  return text;
}

}  // namespace

std::string to_text(const Failure& failure) {
  std::string text = content_of(failure);
  text += fmt::format("end {:016x}\n", checksum(text));
  return text;
}

void write_failure(const std::string& path, const Failure& failure) {
  const std::string text = to_text(failure);
  if (text.size() > failure_bytes_most) {
    fail_to_write(path,
                  fmt::format("the failure takes {} bytes, and a file may have {}", text.size(), failure_bytes_most));
  }
  std::error_code error;
  if (fs::is_directory(path, error)) fail_to_write(path, "it is a folder");
  // Through a link, the file that it names: the link stays.
  const fs::path through = fs::canonical(path, error);
  const std::string target = error ? path : through.string();
  const std::string unfinished = fmt::format("{}.{}.part", target, ::getpid());
  Descriptor file(::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (file.get() < 0) fail_to_write(path, reason(errno));
  int problem = write_all(file, text);
  if (problem == 0 && ::rename(unfinished.c_str(), target.c_str()) != 0) problem = errno;
  if (problem == 0) return;
  ::unlink(unfinished.c_str());
  fail_to_write(path, reason(problem));
}

Failure read_failure(const std::string& path) {
  if (path.empty()) detail::throw_invalid("the name of the failure file is empty");
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) fail_to_read(path, reason(errno));
  struct stat status{};
  if (::fstat(file.get(), &status) == 0 && S_ISDIR(status.st_mode)) fail_to_read(path, "it is a folder");
  std::string text;
  char buffer[65536];
  for (;;) {
    const ssize_t bytes = ::read(file.get(), buffer, sizeof buffer);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) fail_to_read(path, reason(errno));
    if (bytes == 0) break;
    text.append(buffer, static_cast<std::size_t>(bytes));
    if (text.size() > failure_bytes_most) break;  // parse_failure refuses it, and a device may have no end
  }
  try {
    return parse_failure(text);
  } catch (const Error& error) {
    detail::throw_invalid(fmt::format("{}: {}", base::quoted(path), error.message()));
  }
}

}  // namespace heddle::lab
