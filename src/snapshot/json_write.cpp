// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>
#include <utility>

#include "snapshot/fields.hpp"
#include "snapshot/json.hpp"

namespace heddle::snapshot {
namespace {

using OrderedJson = nlohmann::ordered_json;

// Leaves out what was not recorded.
class Writer {
 public:
  OrderedJson object = OrderedJson::object();

  void field(const char* name, const std::string& value) {
    if (!value.empty()) object[name] = value;
  }
  void field(const char* name, bool value) {
    if (value) object[name] = true;
  }
  void field(const char* name, int value) {
    if (value >= 0) object[name] = value;
  }
  void field(const char* name, std::int64_t value) {
    if (value >= 0) object[name] = value;
  }
  template <class Number>
  void field(const char* name, const std::optional<Number>& value) {
    if (value) object[name] = *value;
  }
  template <class Enum>
  void choice(const char* name, Enum value) {
    // Kinds have no "unknown": they are always there.
    if (value != Enum{} || Words<Enum>::all[0] != "unknown") object[name] = word_of(value);
  }
  template <class Record>
  void record(const char* name, const Record& value) {
    OrderedJson made = of(value);
    if (!made.empty()) object[name] = std::move(made);
  }
  template <class Record>
  void record(const char* name, const std::optional<Record>& value) {
    if (value) object[name] = of(*value);
  }
  template <class Record>
  void list(const char* name, const std::vector<Record>& values) {
    if (values.empty()) return;
    OrderedJson& made = object[name] = OrderedJson::array();
    for (const Record& value : values) made.push_back(of(value));
  }
  template <class Record>
  void list(const char* name, const std::optional<std::vector<Record>>& values) {
    if (!values) return;
    object[name] = OrderedJson::array();
    list(name, *values);
  }
  void texts(const char* name, const std::vector<std::string>& values) {
    if (!values.empty()) object[name] = values;
  }

  template <class Record>
  static OrderedJson of(const Record& value) {
    Writer writer;
    describe(writer, value);
    return std::move(writer.object);
  }
};

std::string text_of(const OrderedJson& json) {
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace

std::string to_json(const Snapshot& snapshot) {
  std::string text =
      "{\n\"format\": \"" + std::string(format_name) + "\",\n\"version\": " + std::to_string(format_version);
  Writer head;
  describe_head(head, snapshot);
  for (const auto& [name, value] : head.object.items()) text += ",\n\"" + name + "\": " + text_of(value);
  for_each_list(snapshot, [&](const char* name, const auto& records) {
    if (records.empty() && !snapshot.has(name)) return;
    text += ",\n\"" + std::string(name) + "\": [";
    const char* separator = "\n";
    for (const auto& record : records) {
      text += separator + text_of(Writer::of(record));
      separator = ",\n";
    }
    text += "]";
  });
  return text + "\n}\n";
}

}  // namespace heddle::snapshot
