// SPDX-License-Identifier: Apache-2.0
//
// What is done with a file that may come from anywhere, as the command does it. Each takes any bytes, and throws Broken
// for what must not be, whatever the bytes are.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace heddle::fuzz {

class Broken : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

inline void require(bool holds, const std::string& what) {
  if (!holds) throw Broken(what);
}

// A refusal is one line, and short.
void check_refusal(const std::string& message);

// A snapshot: read, written and read again, explained, and told as text, as JSON, as a page and as a picture.
void snapshot(std::string_view text);

// A failure file: read as it is and with a right checksum, written and read again, and its schedule, chip, checkers and
// faults looked up.
void failure(std::string_view text);

}  // namespace heddle::fuzz
