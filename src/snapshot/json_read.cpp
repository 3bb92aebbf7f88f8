// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <heddle/error.hpp>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <utility>

#include "base/text.hpp"
#include "snapshot/cut.hpp"
#include "snapshot/fields.hpp"
#include "snapshot/json.hpp"

namespace heddle::snapshot {
namespace {

using Json = nlohmann::json;

constexpr std::string_view no_snapshot = "this is no snapshot: it does not begin with \"format\": \"heddle-snapshot\"";

[[noreturn]] void refuse(const std::string& where, const std::string& why) {
  detail::throw_invalid(where.empty() ? why : where + ": " + why);
}

[[noreturn]] void refuse_size(const Limits& limits) {
  refuse("", fmt::format("the file is larger than {} bytes: leave out what has ended, and the events", limits.bytes));
}

std::string a_kind(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null:
      return "null";
    case Json::value_t::object:
      return "an object";
    case Json::value_t::array:
      return "an array";
    case Json::value_t::string:
      return "a string";
    case Json::value_t::boolean:
      return value.get<bool>() ? "true" : "false";
    case Json::value_t::number_float:
      return "a fraction";
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
      return value.dump();
    default:
      return "something else";
  }
}

// Takes the fields of one record from an object. What it does not know it leaves.
class Reader {
 public:
  Reader(const Json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object.is_object()) refuse(where_, "an object is expected, and this is " + a_kind(object));
  }

  void field(const char* name, std::string& value) {
    const Json* const found = find(name);
    if (found == nullptr) return;
    if (!found->is_string()) wrong(name, "a string", *found);
    value = cut(found->get_ref<const std::string&>(), text_bytes_most);
  }
  void field(const char* name, bool& value) {
    const Json* const found = find(name);
    if (found == nullptr) return;
    if (!found->is_boolean()) wrong(name, "true or false", *found);
    value = found->get<bool>();
  }
  void field(const char* name, int& value) { number(name, value, -1, std::numeric_limits<int>::max()); }
  void field(const char* name, std::int64_t& value) {
    number(name, value, std::int64_t{-1}, std::numeric_limits<std::int64_t>::max());
  }
  void field(const char* name, std::optional<std::int64_t>& value) {
    std::int64_t given = 0;
    if (number(name, given, std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()))
      value = given;
  }
  void field(const char* name, std::optional<std::uint64_t>& value) {
    const Json* const found = find(name);
    if (found == nullptr) return;
    if (!found->is_number_unsigned()) wrong(name, "a whole number from 0 on", *found);
    value = found->get<std::uint64_t>();
  }
  template <class Enum>
  void choice(const char* name, Enum& value) {
    const Json* const found = find(name);
    if (found == nullptr) return;
    const auto& words = Words<Enum>::all;
    const auto* const at =
        found->is_string() ? std::find(std::begin(words), std::end(words), found->get<std::string>()) : std::end(words);
    if (at == std::end(words)) wrong(name, "one of " + base::join(words), *found);
    value = static_cast<Enum>(at - std::begin(words));
  }
  template <class Record>
  void record(const char* name, Record& value) {
    if (const Json* const found = find(name)) read_record(*found, at(name), value);
  }
  template <class Record>
  void record(const char* name, std::optional<Record>& value) {
    if (const Json* const found = find(name)) read_record(*found, at(name), value.emplace());
  }
  template <class Record>
  void list(const char* name, std::vector<Record>& values) {
    const Json* const found = find(name);
    if (found == nullptr) return;
    if (!found->is_array()) wrong(name, "an array", *found);
    for (std::size_t i = 0; i < found->size(); ++i)
      read_record((*found)[i], at(name) + "/" + std::to_string(i), values.emplace_back());
  }
  template <class Record>
  void list(const char* name, std::optional<std::vector<Record>>& values) {
    if (find(name) != nullptr) list(name, values.emplace());
  }
  void texts(const char* name, std::vector<std::string>& values) {
    const Json* const found = find(name);
    if (found == nullptr) return;
    if (!found->is_array()) wrong(name, "an array", *found);
    for (std::size_t i = 0; i < found->size(); ++i) {
      const Json& each = (*found)[i];
      if (!each.is_string()) wrong((std::string(name) + "/" + std::to_string(i)).c_str(), "a string", each);
      values.push_back(cut(each.get_ref<const std::string&>(), text_bytes_most));
    }
  }

  template <class Record>
  static void read_record(const Json& json, const std::string& where, Record& value) {
    Reader reader(json, where);
    describe(reader, value);
  }

 private:
  const Json* find(const char* name) const {
    const auto found = object_.find(name);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }
  std::string at(const char* name) const { return where_ + "/" + name; }
  [[noreturn]] void wrong(const char* name, const std::string& expected, const Json& found) const {
    const std::string is =
        found.is_string() ? base::quoted(cut(found.get_ref<const std::string&>(), message_bytes_most)) : a_kind(found);
    refuse(at(name), expected + " is expected, and this is " + is);
  }
  template <class Number>
  bool number(const char* name, Number& value, Number least, Number most) {
    const Json* const found = find(name);
    if (found == nullptr) return false;
    const bool is_right = found->is_number_unsigned()
                              ? found->get<std::uint64_t>() <= static_cast<std::uint64_t>(most)
                              : found->is_number_integer() && found->get<std::int64_t>() >= std::int64_t{least};
    if (!is_right) wrong(name, fmt::format("a whole number from {} to {}", least, most), *found);
    value = found->get<Number>();
    return true;
  }

  const Json& object_;
  std::string where_;
};

// Builds one top-level value, or one record of a top-level list, at a time: the whole document is never held.
class Builder final : public nlohmann::json_sax<Json> {
 public:
  Builder(Snapshot& snapshot, const Limits& limits) : snapshot_(snapshot), limits_(limits) {}

  // The position and reason of a syntax error; "" when there was none.
  const std::string& problem() const { return problem_; }
  std::size_t stopped_at() const { return stopped_at_; }
  const std::string& inside() const { return key_; }
  bool is_snapshot() const { return has_format_ && has_version_; }

  bool null() override { return value(nullptr); }
  bool boolean(bool given) override { return value(given); }
  bool number_integer(number_integer_t given) override { return value(given); }
  bool number_unsigned(number_unsigned_t given) override { return value(given); }
  bool number_float(number_float_t given, const string_t&) override { return value(given); }
  bool string(string_t& given) override { return value(std::move(given)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    if (depth_ == 1) {
      begin_member(std::move(name));
    } else if (!stack_.empty()) {
      member_ = std::move(name);
    }
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    stopped_at_ = position;
    problem_ = error.what();
    return false;
  }

 private:
  void begin_member(std::string name) {
    // As messages have it: the names of what is read are short and plain.
    key_ = cut(name, message_bytes_most);
    std::ranges::replace_if(key_, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
    index_ = 0;
    is_list_ = false;
    if (!is_snapshot() && key_ != "format" && key_ != "version") refuse("", std::string(no_snapshot));
    if (!seen_.insert(std::move(name)).second) refuse("/" + key_, "it stands in the file twice");
  }

  template <class Value>
  bool value(Value&& given) {
    count();
    if (depth_ == 0) refuse("", std::string(no_snapshot));
    if (stack_.empty()) {
      root_ = std::forward<Value>(given);
      take_root();
    } else {
      put(Json(std::forward<Value>(given)));
    }
    return true;
  }

  bool open(Json empty) {
    count();
    if (++depth_ > limits_.depth) refuse("/" + key_, fmt::format("deeper than {} levels", limits_.depth));
    if (depth_ == 1) {
      if (!empty.is_object()) refuse("", std::string(no_snapshot));
      return true;
    }
    if (depth_ == 2 && empty.is_array() && is_list(key_)) {
      is_list_ = true;
      begin_list();
      return true;
    }
    if (stack_.empty()) {
      root_ = std::move(empty);
      stack_.push_back(&root_);
    } else {
      stack_.push_back(put(std::move(empty)));
    }
    return true;
  }

  bool close() {
    --depth_;
    if (stack_.empty()) return true;  // of the document, or of a list
    stack_.pop_back();
    if (stack_.empty()) take_root();
    return true;
  }

  Json* put(Json given) {
    Json& in = *stack_.back();
    if (in.is_array()) {
      in.push_back(std::move(given));
      return &in.back();
    }
    return &(in[member_] = std::move(given));
  }

  void count() {
    if (++values_ > limits_.values) refuse("/" + key_, fmt::format("more than {} values in one file", limits_.values));
    if (++values_here_ > limits_.values_of_one)
      refuse(where(), fmt::format("more than {} values in one record", limits_.values_of_one));
  }

  // A value of the document, or a record of one of its lists, is there.
  void take_root() {
    values_here_ = 0;
    if (is_list_) {
      add_record();
      ++index_;
    } else if (key_ == "format") {
      if (root_ != format_name) refuse("", std::string(no_snapshot));
      has_format_ = true;
    } else if (key_ == "version") {
      check_version();
    } else if (is_list(key_)) {
      refuse("/" + key_, "an array is expected, and this is " + a_kind(root_));
    } else {
      take_head();
    }
    root_ = nullptr;
  }

  void check_version() {
    if (!root_.is_number_unsigned() || root_ == 0) refuse("/version", a_kind(root_) + " is no version");
    if (root_ > format_version) {
      refuse("/version", fmt::format("the file has version {}, and this heddle reads version {}; a newer one reads it",
                                     root_.get<std::uint64_t>(), format_version));
    }
    has_version_ = true;
  }

  void take_head() {
    const Json object = Json::object({{key_, std::move(root_)}});
    Reader reader(object, "");
    describe_head(reader, snapshot_);
  }

  std::string where() const { return is_list_ ? fmt::format("/{}/{}", key_, index_) : "/" + key_; }

  bool is_list(const std::string& name) const {
    bool found = false;
    for_each_list(snapshot_, [&](const char* each, const auto&) { found |= name == each; });
    return found;
  }
  void begin_list() { snapshot_.recorded.push_back(key_); }
  void add_record() {
    if (++records_ > limits_.records) refuse(where(), fmt::format("more than {} records in one file", limits_.records));
    for_each_list(snapshot_, [&](const char* name, auto& records) {
      if (key_ == name) Reader::read_record(root_, where(), records.emplace_back());
    });
  }

  Snapshot& snapshot_;
  const Limits& limits_;
  int depth_ = 0;
  std::string key_;     // of the document's member
  std::string member_;  // of the object that is built
  std::size_t index_ = 0;
  bool is_list_ = false;
  Json root_;
  std::vector<Json*> stack_;  // into root_; elements that are open are last in theirs, so that they stay where they are
  std::set<std::string> seen_;
  std::uint64_t values_ = 0, values_here_ = 0, records_ = 0;
  bool has_format_ = false, has_version_ = false;
  std::string problem_;
  std::size_t stopped_at_ = 0;
};

// "syntax error while parsing value - unexpected end of input; …", without the library's own words.
std::string reason_of(const std::string& problem) {
  const std::size_t colon = problem.rfind(": ");
  return cut(colon == std::string::npos ? problem : problem.substr(colon + 2), 2 * message_bytes_most);
}

}  // namespace

Snapshot parse(std::string_view text, const Limits& limits) {
  if (text.size() > limits.bytes) refuse_size(limits);
  if (text.empty()) refuse("", "the file is empty");
  Snapshot snapshot;
  Builder builder(snapshot, limits);
  const bool is_whole = Json::sax_parse(text, &builder);
  if (!builder.is_snapshot()) refuse("", std::string(no_snapshot));
  if (!is_whole) {
    if (builder.stopped_at() < text.size())
      refuse("", fmt::format("byte {}, in /{}: no JSON: {}", builder.stopped_at(), builder.inside(),
                             reason_of(builder.problem())));
    snapshot.notes.push_back(fmt::format("the file is cut off at byte {}, in \"{}\": what should follow is missing",
                                         text.size(), builder.inside()));
  }
  check_references(snapshot, !is_whole);
  return snapshot;
}

Snapshot read(const std::string& path, const Limits& limits) {
  const auto fail = [&](const std::string& why) {
    detail::throw_invalid(fmt::format("cannot read {}: {}", base::quoted(path), why));
  };
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail(std::generic_category().message(errno));
  struct stat status{};
  const bool has_size = ::fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  const std::size_t size = has_size ? static_cast<std::size_t>(status.st_size) : 0;
  constexpr std::size_t piece = std::size_t{1} << 20U;
  std::string text;
  // What is known to be too large is not read; a device or a pipe tells by its bytes.
  if (size <= limits.bytes) text.reserve(size + piece);
  int problem = 0;
  while (size <= limits.bytes) {
    const std::size_t before = text.size();
    if (before > limits.bytes) break;
    text.resize(before + piece);
    const ssize_t bytes = ::read(file, text.data() + before, piece);
    problem = bytes < 0 ? errno : 0;
    text.resize(before + (bytes > 0 ? static_cast<std::size_t>(bytes) : 0));
    if (problem == EINTR) continue;
    if (bytes <= 0) break;
  }
  ::close(file);
  if (problem != 0) fail(std::generic_category().message(problem));
  try {
    if (size > limits.bytes) refuse_size(limits);
    return parse(text, limits);
  } catch (const Error& error) {
    throw Error(Code::invalid_argument, base::quoted(path) + ": " + error.message());
  }
}

}  // namespace heddle::snapshot
