// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <heddle/error.hpp>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

#include "base/text.hpp"
#include "chip/geometry.hpp"
#include "chip/protocol.hpp"
#include "lab/dispatch_file.hpp"
#include "lab/failure_text.hpp"

namespace heddle::lab {
namespace {

using Json = nlohmann::json;

constexpr std::size_t line_most = 4096;
constexpr std::uint64_t ranks_most = 1024;
constexpr std::uint64_t cores_most = 1U << 20U;

// A file's lines, one after the other; a line is not longer than line_most.
class Lines {
 public:
  explicit Lines(const std::string& path) : file_(std::fopen(path.c_str(), "rbe")) {
    if (file_ == nullptr) detail::throw_invalid("cannot be opened: " + std::generic_category().message(errno));
  }
  // False at the end. The last line may lack its line feed: then it is not closed.
  bool next(std::string_view& line) {
    for (;;) {
      const std::size_t end = buffer_.find('\n', at_);
      if (end != std::string::npos) {
        line = std::string_view(buffer_).substr(at_, end - at_);
        at_ = end + 1;
        check(line);
        return true;
      }
      if (buffer_.size() - at_ > line_most) check(std::string_view(buffer_).substr(at_));
      if (!more()) break;
    }
    if (at_ == buffer_.size()) return false;
    line = std::string_view(buffer_).substr(at_);
    at_ = buffer_.size();
    is_closed_ = false;
    check(line);
    return true;
  }
  std::uint64_t number() const { return number_; }  // of the line that was given last, from 1
  bool is_closed() const { return is_closed_; }

 private:
  void check(std::string_view line) {
    ++number_;
    if (line.size() > line_most)
      refuse(number_, fmt::format("longer than {} bytes: this is no file of dispatch records", line_most));
  }
  bool more() {
    buffer_.erase(0, at_);
    at_ = 0;
    const std::size_t before = buffer_.size();
    buffer_.resize(before + (std::size_t{64} << 10U));
    const std::size_t got = std::fread(buffer_.data() + before, 1, buffer_.size() - before, file_.get());
    buffer_.resize(before + got);
    if (got == 0 && std::ferror(file_.get()) != 0)
      detail::throw_invalid("cannot be read: " + std::generic_category().message(errno));
    return got != 0;
  }

  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> file_;
  std::string buffer_;
  std::size_t at_ = 0;
  std::uint64_t number_ = 0;
  bool is_closed_ = true;
};

// The fields of one line's object. Each is asked for once; what nobody has asked for is none of the format's.
class Fields {
 public:
  Fields(const Json& object, std::uint64_t line) : object_(object), line_(line) {}
  std::uint64_t number(const char* key, std::uint64_t least, std::uint64_t most) {
    const Json& value = at(key);
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() < least || value.get<std::uint64_t>() > most)
      refuse(line_, fmt::format("\"{}\" has to be a whole number from {} to {}", key, least, most));
    return value.get<std::uint64_t>();
  }
  std::uint32_t word(const char* key, std::uint64_t least, std::uint64_t most) {
    return static_cast<std::uint32_t>(number(key, least, most));
  }
  std::string text(const char* key) {
    const Json& value = at(key);
    if (!value.is_string()) refuse(line_, fmt::format("\"{}\" has to be a text", key));
    return value.get<std::string>();
  }
  bool flag(const char* key) {
    const Json& value = at(key);
    if (!value.is_boolean()) refuse(line_, fmt::format("\"{}\" has to be true or false", key));
    return value.get<bool>();
  }
  std::uint64_t hash(const char* key) {
    const std::string digits = text(key);
    std::uint64_t result = 0;
    const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), result, 16);
    if (digits.size() != 16 || problem != std::errc() || end != digits.data() + digits.size())
      refuse(line_, fmt::format("\"{}\" has to be 16 hexadecimal digits", key));
    return result;
  }
  void expect_no_more() const {
    if (object_.size() != asked_) refuse(line_, "it has fields that a dispatch record does not have");
  }

 private:
  const Json& at(const char* key) {
    const auto found = object_.find(key);
    if (found == object_.end()) refuse(line_, fmt::format("\"{}\" is missing", key));
    ++asked_;
    return *found;
  }
  const Json& object_;
  std::uint64_t line_;
  std::size_t asked_ = 0;
};

class Reader {
 public:
  explicit Reader(const std::string& path) : lines_(path) {}

  DispatchReading read() {
    std::string_view line;
    if (!lines_.next(line)) detail::throw_invalid("line 1: the file is empty");
    read_header(line);
    DispatchProver prover(reading_.header.lanes, names_);
    std::uint64_t records = 0;
    bool ended = false;
    while (!ended) {
      const std::uint64_t before = sum_;
      if (!lines_.next(line)) refuse(lines_.number() + 1, cut_off);
      const Json object = parse(line);
      ended = object.contains("records");
      if (ended) {
        read_end(object, records, before);
      } else {
        prover.add(record_of(object));
        ++records;
      }
    }
    if (lines_.next(line)) refuse(lines_.number(), "it follows the line that ends the records");
    reading_.proof = prover.finish(reading_.end);
    return std::move(reading_);
  }

 private:
  static constexpr const char* cut_off = "the file is cut off here";

  Json parse(std::string_view line) {
    sum_ = checksum("\n", checksum(line, sum_));
    Json object = Json::parse(line, nullptr, false);
    if (!object.is_object())
      refuse(lines_.number(), lines_.is_closed() ? "it is no JSON object: the file was edited" : cut_off);
    return object;
  }

  void read_header(std::string_view line) {
    const Json object = Json::parse(line, nullptr, false);
    if (!object.is_object() || !object.contains("heddle_records")) {
      const bool begun = line.starts_with(R"({"heddle_records")") && !lines_.is_closed();
      refuse(1, begun ? cut_off : "this is no file of dispatch records, as `heddle run --records` writes them");
    }
    sum_ = checksum("\n", checksum(line, sum_));
    Fields fields(object, 1);
    const std::uint64_t version = fields.number("heddle_records", 0, UINT64_MAX);
    if (version != dispatch_version)
      refuse(1, fmt::format("the file has version {}, and this heddle reads version {}", version, dispatch_version));
    DispatchHeader& header = reading_.header;
    header.program = fields.text("program");
    header.variant = fields.text("variant");
    header.backend = fields.text("backend");
    header.ranks = static_cast<int>(fields.number("ranks", 1, ranks_most));
    header.rounds = static_cast<std::int64_t>(fields.number("rounds", 1, std::numeric_limits<std::int64_t>::max()));
    header.cores = fields.word("cores", 1, cores_most);
    header.lanes = fields.word("lanes", 1, chip::Geometry::most_lanes);
    header.strategy = fields.text("strategy");
    header.seed = fields.number("seed", 0, UINT64_MAX);
    header.trace_hash = fields.hash("trace_hash");
    fields.expect_no_more();
  }

  DispatchRecord record_of(const Json& object) {
    const DispatchHeader& header = reading_.header;
    Fields fields(object, lines_.number());
    DispatchRecord record;
    const std::string kind = fields.text("what");
    int number = 0;
    while (number < dispatch_kinds && kind != name_of(static_cast<DispatchRecord::Kind>(number))) ++number;
    if (number == dispatch_kinds)
      refuse(lines_.number(),
             fmt::format("\"what\" is {}: hand_over, begin, finish or freeze is expected", base::quoted(kind)));
    record.kind = static_cast<DispatchRecord::Kind>(number);
    record.time = fields.number("time", 0, UINT64_MAX);
    record.graph = fields.word("graph", 0, word_most);
    record.rank = static_cast<std::int32_t>(fields.number("rank", 0, static_cast<std::uint64_t>(header.ranks) - 1));
    if (record.kind != DispatchRecord::Kind::freeze) {
      record.task = fields.word("task", 0, word_most);
      record.name = names_.number_of(fields.text("name"));
      record.blocks = fields.word("blocks", 1, word_most);
      record.block = fields.word("block", 0, record.blocks - 1);
      record.parts = static_cast<std::uint8_t>(fields.number("parts", 1, header.lanes));
      record.part = static_cast<std::uint8_t>(fields.number("part", 0, record.parts - 1U));
      record.cubes = static_cast<std::uint8_t>(fields.number("cubes", 0, 1));
      record.core = fields.word("core", 0, header.cores - 1);
      record.token = fields.word("token", 1, chip::last_token);
      if (fields.number("cluster", 0, cores_most) != record.core / header.lanes)
        refuse(lines_.number(),
               fmt::format("core {} is not in that cluster: a cluster has {} cores", record.core, header.lanes));
    }
    fields.expect_no_more();
    return record;
  }

  void read_end(const Json& object, std::uint64_t records, std::uint64_t sum) {
    Fields fields(object, lines_.number());
    const std::uint64_t announced = fields.number("records", 0, UINT64_MAX);
    reading_.dropped = fields.number("dropped", 0, UINT64_MAX);
    const bool passed = fields.flag("passed");
    const std::uint64_t written = fields.hash("checksum");
    fields.expect_no_more();
    if (!lines_.is_closed()) refuse(lines_.number(), cut_off);
    reading_.end = reading_.dropped != 0 ? DispatchEnd::dropped : passed ? DispatchEnd::passed : DispatchEnd::stopped;
    reading_.edited =
        announced != records || written != checksum(dispatch_end(announced, reading_.dropped, passed), sum);
  }

  Lines lines_;
  std::uint64_t sum_ = checksum_of_nothing;
  DispatchNames names_;
  DispatchReading reading_;
};

}  // namespace

DispatchReading verify_dispatch(const std::string& path) {
  try {
    return Reader(path).read();
  } catch (const Error& error) {
    detail::throw_invalid(base::quoted(path) + ": " + error.message());
  }
}

}  // namespace heddle::lab
