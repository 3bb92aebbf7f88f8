// SPDX-License-Identifier: Apache-2.0
//
// What the documents say, held against what they speak of: code, options, codes, files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <heddle/error.hpp>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/child.hpp"

namespace heddle::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;

const fs::path root = HEDDLE_TEST_SOURCE_DIR;

std::string read(const fs::path& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.is_open()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// The lines without the indentation that all of them share.
std::string dedented(const std::vector<std::string>& lines) {
  std::size_t indent = std::string::npos;
  for (const std::string& line : lines) {
    if (!line.empty()) indent = std::min(indent, line.find_first_not_of(' '));
  }
  std::string text;
  for (const std::string& line : lines) text += (line.empty() ? line : line.substr(indent)) + "\n";
  return text;
}

/// What stands between `// [name]` and `// [/name]` in a source, by name.
std::map<std::string, std::string> regions_of(const fs::path& source) {
  std::map<std::string, std::string> regions;
  std::string open;
  std::vector<std::string> inside;
  std::smatch found;
  for (const std::string& line : lines_of(read(source))) {
    if (std::regex_match(line, found, std::regex(R"( *// \[(/?)(\w+)\])"))) {
      if (found[1].length() == 0) {
        EXPECT_EQ(open, "") << "a region inside of another";
        open = found[2];
        inside.clear();
      } else {
        EXPECT_EQ(open, found[2].str());
        regions[open] = dedented(inside);
        open.clear();
      }
    } else if (!open.empty()) {
      inside.push_back(line);
    }
  }
  EXPECT_EQ(open, "") << "a region without an end";
  return regions;
}

struct Fence {
  std::string language, comment, text;  ///< `comment`: the line above it
};

std::vector<Fence> fences_of(const fs::path& document) {
  std::vector<Fence> fences;
  std::string above;
  bool inside = false;
  for (const std::string& line : lines_of(read(document))) {
    if (line.starts_with("```")) {
      inside = !inside;
      if (inside) fences.push_back({line.substr(3), above, ""});
    } else if (inside) {
      fences.back().text += line + "\n";
    }
    above = line;
  }
  return fences;
}

std::vector<fs::path> documents() {
  std::vector<fs::path> paths{root / "README.md"};
  for (const auto& entry : fs::recursive_directory_iterator(root / "docs")) {
    if (entry.path().extension() == ".md") paths.push_back(entry.path());
  }
  return paths;
}

/// Long options named anywhere in a text.
std::set<std::string> options_in(const std::string& text) {
  std::set<std::string> options;
  const std::regex option(R"((^|[^\w-])(--[a-z][a-z-]*))");
  for (std::sregex_iterator at(text.begin(), text.end(), option), end; at != end; ++at) options.insert((*at)[2]);
  return options;
}

TEST(Documents, TheGuideShowsTheCodeThatTheTestsRun) {
  const auto regions = regions_of(root / "tests/guide_test.cpp");
  std::set<std::string> shown;
  for (const Fence& fence : fences_of(root / "docs/guide.md")) {
    if (fence.language != "cpp") continue;
    std::smatch found;
    ASSERT_TRUE(std::regex_match(fence.comment, found, std::regex("<!-- tests/guide_test.cpp: (\\w+) -->")))
        << "code of the guide that no test runs:\n"
        << fence.text;
    ASSERT_TRUE(regions.contains(found[1])) << found[1];
    EXPECT_EQ(fence.text, regions.at(found[1])) << found[1];
    shown.insert(found[1]);
  }
  for (const auto& [name, text] : regions) EXPECT_TRUE(shown.contains(name)) << name << " is not in the guide";
}

TEST(Documents, TheReadmeShowsTheExampleWithAMain) {
  std::string shown;
  for (const Fence& fence : fences_of(root / "README.md")) {
    if (fence.language == "cpp") shown += fence.text;
  }
  const std::string source = read(root / "examples/main/main.cpp");
  EXPECT_EQ(shown, source.substr(source.find('\n') + 1)) << "all but the line with the licence";
}

TEST(Documents, TheReferenceOfTheCommandNamesEveryOptionAndNoOther) {
  std::set<std::string> known = options_in(run_command({"--help"}).out);
  for (const char* command : {"list", "run", "hunt", "replay", "shrink", "repair", "size", "verify", "explain",
                              "snapshot", "ladder", "cases"})
    known.merge(options_in(run_command({command, "--help"}).out));
  ASSERT_TRUE(known.contains("--ranks"));
  EXPECT_EQ(options_in(read(root / "docs/command.md")), known);
}

void add_keys(const nlohmann::json& json, std::set<std::string>& keys) {
  if (json.is_object()) {
    for (const auto& [key, value] : json.items()) keys.insert(key);
  }
  for (const auto& value : json) {
    if (value.is_structured()) add_keys(value, keys);
  }
}

TEST(Documents, TheReferenceOfTheCommandNamesEveryFieldOfItsJson) {
  const std::string modules = HEDDLE_TEST_MODULE_DIR;
  std::set<std::string> keys;
  for (const auto& arguments : std::vector<std::vector<std::string>>{
           {"run", "vector_add", "--json"}, {"run", module_path("deadlock"), "--json"}, {"run", "no_such", "--json"}}) {
    add_keys(nlohmann::json::parse(run_command(arguments).out), keys);
  }
  const TemporaryFolder folder;
  const auto keys_of = [&](const std::vector<std::string>& arguments) {
    auto json = nlohmann::json::parse(run_command(arguments).out);
    // Their keys are names of the laboratory and of programs.
    for (const char* names : {"verdicts", "states", "settings"}) {
      if (json.contains(names)) json[names] = nullptr;
    }
    add_keys(json, keys);
    return json;
  };
  keys_of({"run", "vector_add", "--on", "lab:a2a3", "--json"});
  keys_of({"run", module_path("stuck"), "--scheduler-timeout", "50", "--operation-timeout", "200", "--json"});
  const auto found = keys_of({"hunt", module_path("deadlock"), "--budget", "1000", "--json", "--out", folder.path()});
  keys_of({"replay", found.at("file"), "--json"});
  keys_of({"shrink", found.at("file"), "--json"});
  keys_of({"repair", found.at("file"), "--budget", "8", "--json"});
  keys_of({"size", "vector_add", "--schedules", "4", "--json"});
  keys_of({"ladder", module_path("deadlock"), "--budget", "16", "--json"});
  keys_of({"cases", "half_line", "--json"});
  keys_of({"run", "vector_add", "--on", "lab:a2a3", "--stats", "--records", folder.file("records"), "--json"});
  keys_of({"verify", folder.file("records"), "--json"});
  const auto list = nlohmann::json::parse(run_command({"list", "--json", "--program-path", modules}).out);
  for (auto program : list.at("programs")) {
    for (auto& variant : program.at("variants")) variant["settings"] = nullptr;  // its keys are the program's own
    add_keys(program, keys);
  }
  for (const auto& [key, value] : list.items()) keys.insert(key);
  ASSERT_TRUE(keys.contains("verdict"));
  const std::string document = read(root / "docs/command.md");
  for (const std::string& key : keys) EXPECT_THAT(document, HasSubstr("`" + key + "`"));
}

TEST(Documents, TheDocumentOfSnapshotsNamesEveryFieldOfThemAndOfTheirReport) {
  const std::string document = read(root / "docs/snapshot.md");
  std::set<std::string> keys;
  const auto schema = nlohmann::json::parse(read(root / "docs/snapshot.schema.json"));
  const std::function<void(const nlohmann::json&)> add_properties = [&](const nlohmann::json& json) {
    if (json.contains("properties")) {
      for (const auto& [key, value] : json.at("properties").items()) {
        keys.insert(key);
        add_properties(value);
      }
    }
    if (json.contains("items")) add_properties(json.at("items"));
  };
  add_properties(schema);
  ASSERT_TRUE(keys.contains("held_by_scope"));
  const TemporaryFolder folder;
  const auto found = nlohmann::json::parse(
      run_command({"hunt", module_path("deadlock"), "--budget", "1000", "--json", "--out", folder.path()}).out);
  const std::string file = found.at("file");
  add_keys(nlohmann::json::parse(run_command({"explain", file, "--json"}).out), keys);
  ASSERT_TRUE(keys.contains("could_satisfy"));
  for (const std::string& key : keys) EXPECT_THAT(document, HasSubstr("`" + key + "`"));
}

TEST(Documents, EveryCodeIsDescribed) {
  const std::string document = read(root / "docs/errors.md");
  for (const CodeInfo& code : code_table()) {
    const std::string heading = std::to_string(static_cast<int>(code.code)) + " `" + std::string(code.name) + "`";
    EXPECT_THAT(document, HasSubstr("\n## " + heading + "\n"));
  }
}

/// What the gallery's table has to say of a case.
std::string row_of(const nlohmann::json& about) {
  const auto joined = [](const nlohmann::json& texts, const std::string& between, const std::string& quote) {
    std::string all;
    for (const std::string text : texts) all += (all.empty() ? "" : between) + quote + text + quote;
    return all;
  };
  const nlohmann::json& expect = about["expect"];
  return "| `" + about["name"].get<std::string>() + "` | " + about["source"].get<std::string>() + " | " +
         about["in_the_wild"].get<std::string>() + " | " + about["what_happens"].get<std::string>() + " | " +
         joined(expect["verdicts"], " or ", "") + ": " + joined(expect["codes"], ", ", "`") + " |";
}

TEST(Documents, TheGalleryHasARowForEachCaseWithWhatItsFileSays) {
  const std::string document = read(root / "docs/cases.md");
  int programs = 0, controls = 0;
  for (const auto& folder : fs::directory_iterator(root / "cases")) {
    const auto about = nlohmann::json::parse(read(folder.path() / "case.json"));
    if (about["kind"] != "program" &&
        about["kind"] != "fault") {  // a control, or a fault of runtimes that this one does not have
      ++controls;
      EXPECT_THAT(document, HasSubstr("\n| `" + about["name"].get<std::string>() + "` | " +
                                      about["source"].get<std::string>() + " | "));
    } else {
      ++programs;
      EXPECT_THAT(document, HasSubstr("\n" + row_of(about) + "\n"));
    }
  }
  const auto rows = lines_of(document);
  EXPECT_EQ(std::count_if(rows.begin(), rows.end(), [](const std::string& row) { return row.starts_with("| `"); }),
            programs + controls);
  EXPECT_GE(programs, 15);
  EXPECT_GE(controls, 3);
}

TEST(Documents, EveryFileThatTheyPointToIsThere) {
  const std::regex link(R"(\]\(([^)#\s]+)(#[^)\s]*)?\))");
  int links = 0;
  for (const fs::path& document : documents()) {
    const std::string text = read(document);
    for (std::sregex_iterator at(text.begin(), text.end(), link), end; at != end; ++at) {
      const std::string target = (*at)[1];
      if (target.starts_with("http")) continue;
      ++links;
      EXPECT_TRUE(fs::exists(document.parent_path() / target)) << document << " points to " << target;
    }
  }
  EXPECT_GT(links, 10);
}

}  // namespace
}  // namespace heddle::test
