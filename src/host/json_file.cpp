// SPDX-License-Identifier: Apache-2.0
#include "host/json_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <heddle/error.hpp>
#include <system_error>
#include <utility>

#include "base/text.hpp"

namespace heddle::host {
namespace {

constexpr std::size_t buffer_bytes = std::size_t{256} << 10U;

std::string reason(int error) { return std::generic_category().message(error); }

// Bytes of the UTF-8 sequence that `text` begins with; 0 when it begins with none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const unsigned lead = byte(0);
  const std::size_t length = lead < 0x80                   ? 1
                             : lead >= 0xc2 && lead < 0xe0 ? 2
                             : (lead & 0xf0U) == 0xe0      ? 3
                             : lead >= 0xf0 && lead < 0xf5 ? 4
                                                           : 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0U) != 0x80) return 0;
  // Longer forms of shorter codes, surrogates, and what lies beyond U+10FFFF.
  const unsigned second = byte(1);
  if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) || (lead == 0xf0 && second < 0x90) ||
      (lead == 0xf4 && second > 0x8f))
    return 0;
  return length;
}

}  // namespace

JsonFile::JsonFile(std::string path) : path_(std::move(path)) {
  buffer_.reserve(buffer_bytes + 4096);
  file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file_ < 0) heddle::detail::throw_invalid("cannot open " + base::quoted(path_) + " for writing: " + reason(errno));
}

JsonFile::~JsonFile() {
  if (file_ >= 0) remove();
}

// Only what open created: a device or a pipe stays.
void JsonFile::remove() noexcept {
  struct stat status{};
  const bool regular = ::fstat(file_, &status) == 0 && S_ISREG(status.st_mode);
  ::close(std::exchange(file_, -1));
  if (regular) ::unlink(path_.c_str());
}

void JsonFile::fail(int error) {
  if (file_ >= 0) remove();
  throw Error(Code::user_error, "cannot write " + base::quoted(path_) + ": " + reason(error))
      .with_hint("Give a path with enough room; what was written of the file is removed.");
}

void JsonFile::flush() {
  std::string_view left = buffer_;
  while (!left.empty()) {
    const ssize_t written = ::write(file_, left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(errno);
    left.remove_prefix(static_cast<std::size_t>(written));
  }
  buffer_.clear();
}

void JsonFile::close() {
  flush();
  // Some file systems report only here that the disk is full.
  struct stat status{};
  const bool regular = ::fstat(file_, &status) == 0 && S_ISREG(status.st_mode);
  if (::close(std::exchange(file_, -1)) == 0 || errno == EINTR) return;
  const int error = errno;
  if (regular) ::unlink(path_.c_str());
  fail(error);
}

JsonFile& JsonFile::raw(std::string_view syntax) {
  buffer_ += syntax;
  if (buffer_.size() >= buffer_bytes) flush();
  return *this;
}

JsonFile& JsonFile::text(std::string_view value) {
  constexpr std::string_view digits = "0123456789abcdef";
  buffer_ += '"';
  while (!value.empty()) {
    const std::size_t length = utf8_length(value);
    const auto first = static_cast<unsigned char>(value.front());
    if (length == 0) {
      buffer_ += "\\ufffd";
    } else if (first == '"' || first == '\\') {
      buffer_ += '\\';
      buffer_ += value.front();
    } else if (first < 0x20) {
      buffer_ += "\\u00";
      buffer_ += digits[first / 16U];
      buffer_ += digits[first % 16U];
    } else {
      buffer_ += value.substr(0, length);
    }
    value.remove_prefix(length == 0 ? 1 : length);
  }
  return raw("\"");
}

JsonFile& JsonFile::number(std::int64_t value) {
  char digits[24];
  return raw({digits, std::to_chars(digits, digits + sizeof digits, value).ptr});
}

JsonFile& JsonFile::microseconds(std::int64_t ns) {
  if (ns < 0) {
    raw("-");
    ns = -ns;
  }
  const std::int64_t rest = ns % 1000;
  const char decimals[] = {'.', static_cast<char>('0' + rest / 100), static_cast<char>('0' + rest / 10 % 10),
                           static_cast<char>('0' + rest % 10)};
  return number(ns / 1000).raw({decimals, sizeof decimals});
}

}  // namespace heddle::host
