// SPDX-License-Identifier: Apache-2.0
#include "cli/failure.hpp"

#include <fmt/format.h>

#include <cctype>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/output.hpp"

namespace heddle::cli {

std::string one_line(std::string_view text) {
  std::string line;
  for (const char letter : text) {
    const bool is_blank = static_cast<unsigned char>(letter) <= ' ';
    if (!is_blank)
      line += letter;
    else if (!line.empty() && line.back() != ' ')
      line += ' ';
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

std::string one_line(const Error& error) {
  // The table's hint says what the code means; one that the thrower wrote says what to do here.
  if (error.hint().empty() || error.hint() == info(error.code()).hint) return one_line(error.message());
  std::string hint = error.hint();
  if (hint.back() == '.') hint.pop_back();
  // Within a sentence now; a hint that begins with a name in capitals keeps it.
  if (hint.size() > 1 && hint[1] >= 'a' && hint[1] <= 'z')
    hint[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(hint[0])));
  return one_line(error.message() + "; " + hint);
}

void report_usage(std::string_view message, bool as_json) {
  const std::string line = one_line(message);
  fmt::print(stderr, "heddle: {}\n", line);
  if (!as_json) return;
  write_json({{"passed", false},
              {"verdict", "REFUSED"},
              {"code", static_cast<int>(Code::invalid_argument)},
              {"name", std::string(info(Code::invalid_argument).name)},
              {"message", line}});
}

bool has_flag(int argc, const char* const* argv, std::string_view flag) {
  for (int i = 1; i < argc; ++i) {
    if (argv[i] == flag) return true;
  }
  return false;
}

}  // namespace heddle::cli
