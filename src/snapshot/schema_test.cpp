// SPDX-License-Identifier: Apache-2.0
//
// docs/snapshot.schema.json says what the reader takes and what the writer writes.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "snapshot/fields.hpp"
#include "snapshot/json.hpp"

namespace heddle::snapshot {
namespace {

using Json = nlohmann::ordered_json;

// Describes the fields of a record as a JSON Schema does.
class Schema {
 public:
  Json properties = Json::object();

  void field(const char* name, const std::string&) { properties[name] = {{"type", "string"}}; }
  void field(const char* name, bool) { properties[name] = {{"type", "boolean"}}; }
  void field(const char* name, int) { properties[name] = {{"type", "integer"}, {"minimum", -1}}; }
  void field(const char* name, std::int64_t) { properties[name] = {{"type", "integer"}, {"minimum", -1}}; }
  void field(const char* name, const std::optional<std::int64_t>&) { properties[name] = {{"type", "integer"}}; }
  void field(const char* name, const std::optional<std::uint64_t>&) {
    properties[name] = {{"type", "integer"}, {"minimum", 0}};
  }
  template <class Enum>
  void choice(const char* name, Enum) {
    Json words = Json::array();
    for (const std::string_view word : Words<Enum>::all) words.push_back(word);
    properties[name] = {{"enum", words}};
  }
  template <class Record>
  void record(const char* name, const Record&) {
    properties[name] = of<Record>();
  }
  template <class Record>
  void record(const char* name, const std::optional<Record>&) {
    properties[name] = of<Record>();
  }
  template <class Record>
  void list(const char* name, const std::vector<Record>&) {
    properties[name] = {{"type", "array"}, {"items", of<Record>()}};
  }
  template <class Record>
  void list(const char* name, const std::optional<std::vector<Record>>&) {
    list(name, std::vector<Record>{});
  }
  void texts(const char* name, const std::vector<std::string>&) {
    properties[name] = {{"type", "array"}, {"items", {{"type", "string"}}}};
  }
  template <class Record>
  static Json of() {
    Schema schema;
    const Record record;
    describe(schema, record);
    return {{"type", "object"}, {"properties", schema.properties}};
  }
};

Json whole_schema() {
  Schema head;
  const Snapshot snapshot;
  Json properties{{"format", {{"const", format_name}}}, {"version", {{"const", format_version}}}};
  describe_head(head, snapshot);
  properties.update(head.properties);
  for_each_list(snapshot, [&](const char* name, const auto& records) {
    using Record = typename std::remove_cvref_t<decltype(records)>::value_type;
    Json record = Schema::of<Record>();
    if (record["properties"].contains("rank") && std::string(name) != "faults" && std::string(name) != "events")
      record["required"] = {"rank"};
    if (std::string(name) == "tasks") record["required"] = {"rank", "task"};
    properties[name] = {{"type", "array"}, {"items", record}};
  });
  return {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
          {"title", "Heddle snapshot"},
          {"description",
           "What was recorded of a run at one moment; docs/snapshot.md says what each field means. All is "
           "optional but what is required here; format and version stand first."},
          {"type", "object"},
          {"properties", properties},
          {"required", {"format", "version"}}};
}

const std::string path = std::string(HEDDLE_TEST_SOURCE_DIR) + "/docs/snapshot.schema.json";

std::string content_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// The part of JSON Schema that the file uses. Where it does not hold, or an empty string.
std::string check(const Json& schema, const Json& value, const std::string& where = "") {
  if (schema.contains("const")) return value == schema["const"] ? "" : where + " is not " + schema["const"].dump();
  if (schema.contains("enum")) {
    const auto& words = schema["enum"];
    return std::find(words.begin(), words.end(), value) != words.end() ? "" : where + " is none of " + words.dump();
  }
  const std::string type = schema.at("type");
  const bool is_right = type == "object"    ? value.is_object()
                        : type == "array"   ? value.is_array()
                        : type == "string"  ? value.is_string()
                        : type == "boolean" ? value.is_boolean()
                                            : value.is_number_integer();
  if (!is_right) return where + " is no " + type;
  if (schema.contains("minimum") && value < schema["minimum"]) return where + " is too small";
  if (type == "array") {
    for (std::size_t i = 0; i < value.size(); ++i)
      if (auto wrong = check(schema["items"], value[i], where + "/" + std::to_string(i)); !wrong.empty()) return wrong;
  }
  if (type != "object") return "";
  for (const auto& name : schema.value("required", Json::array()))
    if (!value.contains(name.get<std::string>())) return where + " has no " + name.get<std::string>();
  for (const auto& [name, each] : value.items()) {
    if (!schema["properties"].contains(name)) return where + "/" + name + " is not in the schema";
    if (auto wrong = check(schema["properties"][name], each, where + "/" + name); !wrong.empty()) return wrong;
  }
  return "";
}

// Sets every field, so that the writer leaves nothing out.
class Filler {
 public:
  void field(const char*, std::string& value) { value = "text"; }
  void field(const char*, bool& value) { value = true; }
  void field(const char*, int& value) { value = 3; }
  void field(const char*, std::int64_t& value) { value = 4; }
  void field(const char*, std::optional<std::int64_t>& value) { value = -5; }
  void field(const char*, std::optional<std::uint64_t>& value) { value = UINT64_MAX; }
  template <class Enum>
  void choice(const char*, Enum& value) {
    value = static_cast<Enum>(std::size(Words<Enum>::all) - 1);
  }
  template <class Record>
  void record(const char*, Record& value) {
    describe(*this, value);
  }
  template <class Record>
  void record(const char*, std::optional<Record>& value) {
    describe(*this, value.emplace());
  }
  template <class Record>
  void list(const char*, std::vector<Record>& values) {
    describe(*this, values.emplace_back());
  }
  template <class Record>
  void list(const char*, std::optional<std::vector<Record>>& values) {
    describe(*this, values.emplace().emplace_back());
  }
  void texts(const char*, std::vector<std::string>& values) { values = {"one", "two"}; }
};

Snapshot full_snapshot() {
  Snapshot snapshot;
  Filler filler;
  describe_head(filler, snapshot);
  for_each_list(snapshot, [&](const char*, auto& records) { describe(filler, records.emplace_back()); });
  return snapshot;
}

// HEDDLE_WRITE_SCHEMA=1 writes the file anew.
TEST(SnapshotSchema, TheFileSaysWhatTheReaderTakes) {
  const std::string text = whole_schema().dump(1) + "\n";
  if (std::getenv("HEDDLE_WRITE_SCHEMA") != nullptr) std::ofstream(path) << text;
  EXPECT_EQ(content_of(path), text);
}

TEST(SnapshotSchema, WhatIsWrittenIsByTheSchema) {
  const Json schema = Json::parse(content_of(path));
  const Json written = Json::parse(to_json(full_snapshot()));
  EXPECT_EQ(check(schema, written), "");
  for (const auto& [name, property] : schema["properties"].items()) EXPECT_TRUE(written.contains(name)) << name;
  for (const auto& [name, property] : schema["properties"]["tasks"]["items"]["properties"].items())
    EXPECT_TRUE(written["tasks"][0].contains(name)) << name;
}

TEST(SnapshotSchema, TheCheckFindsWhatIsNotByIt) {
  const Json schema = Json::parse(content_of(path));
  Json written = Json::parse(to_json(full_snapshot()));
  for (const char* wrong : {"/tasks/0/task", "/ranks/0/state", "/version", "/cells/0/history/0/op"}) {
    Json changed = written;
    changed[Json::json_pointer(wrong)] = Json::array();
    EXPECT_NE(check(schema, changed), "") << wrong;
  }
  written["more"] = 1;
  EXPECT_NE(check(schema, written), "");
}

}  // namespace
}  // namespace heddle::snapshot
