// SPDX-License-Identifier: Apache-2.0
//
// A file that JSON is streamed into: no document is held, so its size does not matter.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace heddle::host {

class JsonFile {
 public:
  // Creates or empties the file. Throws invalid_argument with the path and the system's reason.
  explicit JsonFile(std::string path);
  // Not closed: removes the file.
  ~JsonFile();
  JsonFile(const JsonFile&) = delete;
  JsonFile& operator=(const JsonFile&) = delete;

  // Syntax, as it is.
  JsonFile& raw(std::string_view syntax);
  // A string: quoted, escaped, what is not UTF-8 replaced by U+FFFD.
  JsonFile& text(std::string_view value);
  JsonFile& number(std::int64_t value);
  // Nanoseconds as microseconds with three decimals.
  JsonFile& microseconds(std::int64_t ns);

  // Writes out what is buffered. Throws user_error with the path and the system's reason when the file is not whole.
  void close();

 private:
  void flush();
  [[noreturn]] void fail(int error);
  void remove() noexcept;

  std::string path_;
  std::string buffer_;
  int file_ = -1;
};

}  // namespace heddle::host
