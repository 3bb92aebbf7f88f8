// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <set>
#include <system_error>

#include "lab/failure_file.hpp"
#include "lab/failure_session.hpp"
#include "lab/failure_text.hpp"

namespace heddle::lab {
namespace {

constexpr std::string_view first_word = "heddle-failure ";

struct VerdictWord {
  Verdict verdict;
  std::string_view word;
};
constexpr VerdictWord verdict_words[] = {
    {Verdict::passed, "passed"},           {Verdict::slow, "slow"},
    {Verdict::deadlock, "deadlock"},       {Verdict::race, "race"},
    {Verdict::stale_read, "stale_read"},   {Verdict::core_stalled, "core_stalled"},
    {Verdict::no_progress, "no_progress"}, {Verdict::failed, "failed"},
    {Verdict::starved, "starved"},         {Verdict::livelock, "livelock"},
    {Verdict::unexplained, "unexplained"},
};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Failure parse() {
    check_frame();
    std::string_view body = text_.substr(0, end_at_);
    body.remove_prefix(body.find('\n') + 1);
    for (line_ = 2; !body.empty(); ++line_) {
      const std::size_t end = body.find('\n');
      take(body.substr(0, end));
      body.remove_prefix(end + 1);
    }
    check_whole();
    return std::move(failure_);
  }

 private:
  [[noreturn]] void refuse_here(const std::string& why) const { refuse(line_, why); }

  // The first line, the last one and the checksum between them; sets end_at_.
  void check_frame() {
    if (text_.size() > failure_bytes_most) {
      detail::throw_invalid(
          fmt::format("the file is larger than {} bytes: this is no failure file", failure_bytes_most));
    }
    const std::size_t first_end = text_.find('\n');
    const std::string_view first = text_.substr(0, first_end);
    const std::string_view begun = first_word.substr(0, std::min(first.size(), first_word.size()));
    if (text_.empty()) refuse(1, "the file is empty");
    if (first.substr(0, begun.size()) != begun)
      refuse(1, "this is no failure file: it does not begin with heddle-failure");
    if (first_end == std::string_view::npos) refuse(1, "the file is cut off");
    if (first.size() < first_word.size()) refuse(1, "this is no failure file: it does not begin with heddle-failure");
    std::uint64_t schema = 0;
    const std::string_view number = first.substr(first_word.size());
    if (!whole(number, schema, 0, UINT64_MAX)) refuse(1, fmt::format("{} is no version", shown(number)));
    if (schema != failure_schema) {
      refuse(1, fmt::format("the file has version {}, and this heddle reads version {}", schema, failure_schema));
    }
    check_end();
  }

  void check_end() {
    const auto lines = static_cast<std::size_t>(std::count(text_.begin(), text_.end(), '\n'));
    const bool is_closed = text_.ends_with('\n');
    const std::string_view whole_lines = is_closed ? text_.substr(0, text_.size() - 1) : text_;
    end_at_ = whole_lines.rfind('\n') + 1;
    const std::string_view last = whole_lines.substr(end_at_);
    const std::size_t number = is_closed ? lines : lines + 1;
    std::uint64_t given = 0;
    if (!is_closed || !last.starts_with("end ") || !hexadecimal(last.substr(4), given))
      refuse(number, "the file is cut off, or was edited: its last line is not the checksum");
    const std::uint64_t sum = checksum(text_.substr(0, end_at_));
    if (sum != given) {
      refuse(number,
             fmt::format("the file was edited: its checksum is {:016x}, and its content has {:016x}", given, sum));
    }
  }

  static bool whole(std::string_view text, std::uint64_t& number, std::uint64_t least, std::uint64_t most) {
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    return problem == std::errc() && end == text.data() + text.size() && number >= least && number <= most;
  }
  static bool hexadecimal(std::string_view text, std::uint64_t& number) {
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
    return text.size() == 16 && problem == std::errc() && end == text.data() + text.size();
  }

  std::uint64_t number(std::string_view key, std::string_view text, std::uint64_t least, std::uint64_t most) const {
    std::uint64_t result = 0;
    if (!whole(text, result, least, most))
      refuse_here(fmt::format("{} {}: a whole number from {} to {} is expected", key, shown(text), least, most));
    return result;
  }
  std::uint64_t hash(std::string_view key, std::string_view text) const {
    std::uint64_t result = 0;
    if (!hexadecimal(text, result))
      refuse_here(fmt::format("{} {}: 16 hexadecimal digits are expected", key, shown(text)));
    return result;
  }
  bool either(std::string_view key, std::string_view text, std::string_view yes, std::string_view no) const {
    if (text != yes && text != no) refuse_here(fmt::format("{} {}: {} or {} is expected", key, shown(text), yes, no));
    return text == yes;
  }
  std::pair<std::string, std::string> pair(std::string_view key, std::string_view text) const {
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0)
      refuse_here(fmt::format("{} {}: a name, = and a value are expected", key, shown(text)));
    return {std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
  }

  void take(std::string_view line) {
    const std::size_t blank = line.find(' ');
    const std::string_view key = line.substr(0, blank);
    const auto value = unescaped(blank == std::string_view::npos ? std::string_view() : line.substr(blank + 1));
    if (!value) refuse_here(fmt::format("{}: the value has an escape that there is not", shown(key)));
    if (many_.contains(key)) {
      take_one_of_many(key, *value);
      return;
    }
    if (!seen_.insert(std::string(key)).second) refuse_here(fmt::format("{} stands here again", shown(key)));
    if (!take_what(key, *value) && !take_how(key, *value) && !take_outcome(key, *value))
      refuse_here(fmt::format("there is no key {}", shown(key)));
  }

  void take_one_of_many(std::string_view key, const std::string& value) {
    if (key == "set") {
      failure_.settings.push_back(pair(key, value));
    } else if (key == "checker") {
      failure_.spec.checkers.push_back(value);
    } else if (key == "choice") {
      failure_.schedule.choices.push_back(choice(value));
    } else {
      const auto [name, text] = pair(key, value);
      if (key == "session") {
        take_session(name, text);
        return;
      }
      const std::string whose = fmt::format("{} {}", key, shown(name));
      const bool is_new = key == "fault"
                              ? failure_.spec.faults.emplace(name, number(whose, text, 0, word_most)).second
                              : failure_.spec.chip_set.emplace(name, number(whose, text, 0, UINT64_MAX)).second;
      if (!is_new) refuse_here(whose + " stands here again");
    }
  }

  void take_session(const std::string& name, const std::string& text) {
    for (const SessionField& field : session_fields()) {
      if (field.name != name) continue;
      if (!field.set(failure_.spec.session, text))
        refuse_here(fmt::format("session {}: {} is out of its range", name, shown(text)));
      return;
    }
    refuse_here(fmt::format("there is no session setting {}", shown(name)));
  }

  // "latency.put 2 5 rank 3, cluster 0 vector 1".
  TakenChoice choice(std::string_view text) const {
    std::string_view parts[3];
    for (std::string_view& part : parts) {
      const std::size_t blank = text.find(' ');
      if (blank == std::string_view::npos || blank == 0)
        refuse_here("choice: a label, an ordinal, the alternative and the agent are expected");
      part = text.substr(0, blank);
      text.remove_prefix(blank + 1);
    }
    return {std::string(parts[0]), std::string(text),
            static_cast<std::uint32_t>(number("ordinal", parts[1], 0, word_most)),
            static_cast<std::uint32_t>(number("alternative", parts[2], 1, word_most))};
  }

  bool take_what(std::string_view key, const std::string& value) {
    RunSpec& spec = failure_.spec;
    if (key == "program")
      failure_.program = value;
    else if (key == "module")
      failure_.module = value;
    else if (key == "variant")
      failure_.variant = value;
    else if (key == "chip")
      spec.chip = value;
    else if (key == "fidelity")
      spec.fidelity = either(key, value, "protocol", "program") ? Fidelity::protocol : Fidelity::program;
    else if (key == "ranks")
      spec.ranks = static_cast<int>(number(key, value, 1, 1024));
    else if (key == "rounds")
      spec.rounds = static_cast<std::int64_t>(number(key, value, 1, 1'000'000'000));
    else if (key == "values")
      spec.values = either(key, value, "on", "off");
    else if (key == "check")
      spec.check = either(key, value, "on", "off");
    else
      return false;
    return true;
  }

  bool take_how(std::string_view key, const std::string& value) {
    Schedule& schedule = failure_.schedule;
    if (key == "strategy") {
      schedule.strategy = value;
    } else if (key == "seed") {
      schedule.seed = number(key, value, 0, UINT64_MAX);
    } else if (key == "length-hint") {
      schedule.length_hint = number(key, value, 0, UINT64_MAX);
    } else if (key == "choices") {
      const std::size_t blank = value.find(' ');
      if (blank == std::string::npos) refuse_here("choices: their number and by-time or chosen-order are expected");
      schedule.is_list = true;
      choices_ = number(key, std::string_view(value).substr(0, blank), 0, word_most);
      schedule.by_time = either(key, std::string_view(value).substr(blank + 1), "by-time", "chosen-order");
    } else {
      return false;
    }
    return true;
  }

  bool take_outcome(std::string_view key, const std::string& value) {
    if (key == "verdict") {
      if (!verdict_of(value, failure_.verdict)) refuse_here(fmt::format("there is no verdict {}", shown(value)));
    } else if (key == "code") {
      failure_.code = static_cast<std::uint16_t>(number(key, value, 0, std::numeric_limits<std::uint16_t>::max()));
    } else if (key == "sentence") {
      failure_.sentence = value;
    } else if (key == "trace-hash") {
      failure_.trace_hash = hash(key, value);
    } else if (key == "program-hash") {
      failure_.program_hash = hash(key, value);
    } else {
      return false;
    }
    return true;
  }

  // line_ is the last line's.
  void check_whole() const {
    for (const char* key : {"program", "chip", "fidelity", "ranks", "rounds", "values", "check", "strategy", "seed",
                            "verdict", "code", "sentence", "trace-hash", "program-hash"}) {
      if (!seen_.contains(key)) refuse_here(fmt::format("there is no line {} before this one", shown(key)));
    }
    if (failure_.program.empty()) refuse_here("the program's name is empty");
    const std::size_t listed = failure_.schedule.choices.size();
    if (listed != choices_) refuse_here(fmt::format("{} choices are announced, and {} are listed", choices_, listed));
  }

  std::string_view text_;
  std::size_t end_at_ = 0;
  std::size_t line_ = 1;
  std::uint64_t choices_ = 0;
  Failure failure_;
  std::set<std::string, std::less<>> seen_;
  const std::set<std::string, std::less<>> many_{"set", "chip-set", "session", "fault", "checker", "choice"};
};

}  // namespace

std::string_view word_of(Verdict verdict) noexcept {
  for (const VerdictWord& each : verdict_words)
    if (each.verdict == verdict) return each.word;
  return "unexplained";
}

bool verdict_of(std::string_view word, Verdict& verdict) noexcept {
  for (const VerdictWord& each : verdict_words) {
    if (each.word != word) continue;
    verdict = each.verdict;
    return true;
  }
  return false;
}

Failure parse_failure(std::string_view text) { return Parser(text).parse(); }

}  // namespace heddle::lab
