// SPDX-License-Identifier: Apache-2.0
//
// All files that the fuzzers keep, through what they run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>

#include "fuzz/targets.hpp"

namespace heddle::fuzz {
namespace {

namespace fs = std::filesystem;

struct Target {
  const char* name;
  void (*take)(std::string_view);
};
constexpr Target targets[] = {{"snapshot", snapshot}, {"failure", failure}};

fs::path folder_of(const char* name) { return fs::path(HEDDLE_TEST_SOURCE_DIR) / "fuzz" / "corpus" / name; }

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Fuzz, EveryFileOfTheCorpusIsReadOrRefusedInOrder) {
  for (const Target& target : targets) {
    int files = 0;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_of(target.name))) {
      SCOPED_TRACE(entry.path().string());
      EXPECT_NO_THROW(target.take(content_of(entry.path())));
      ++files;
    }
    EXPECT_GT(files, 10) << target.name;
  }
}

// A file that ends early, or with other bytes in it, is one of those that the fuzzers make most.
TEST(Fuzz, PiecesOfTheCorpusAreReadOrRefusedInOrder) {
  for (const Target& target : targets) {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_of(target.name))) {
      SCOPED_TRACE(entry.path().string());
      const std::string text = content_of(entry.path());
      for (const std::size_t part : {1U, 2U, 3U}) EXPECT_NO_THROW(target.take(text.substr(0, text.size() * part / 4)));
    }
  }
}

TEST(Fuzz, TheCorpusStaysSmall) {
  std::uintmax_t bytes = 0;
  for (const Target& target : targets)
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_of(target.name))) bytes += entry.file_size();
  EXPECT_LT(bytes, std::uintmax_t{480} << 10U);
}

void names_of(const nlohmann::json& schema, std::set<std::string>& names) {
  if (schema.contains("properties"))
    for (const auto& [name, each] : schema.at("properties").items()) {
      names.insert(name);
      names_of(each, names);
    }
  if (schema.contains("items")) names_of(schema.at("items"), names);
}

TEST(Fuzz, TheDictionaryHasEveryFieldOfASnapshot) {
  const fs::path root = HEDDLE_TEST_SOURCE_DIR;
  std::set<std::string> names;
  names_of(nlohmann::json::parse(content_of(root / "docs" / "snapshot.schema.json")), names);
  EXPECT_GT(names.size(), 50U);
  const std::string dictionary = content_of(root / "fuzz" / "snapshot.dict");
  for (const std::string& name : names) EXPECT_THAT(dictionary, testing::HasSubstr("\"\\\"" + name + "\\\":\"\n"));
}

TEST(Fuzz, WhatIsBrokenIsTold) {
  EXPECT_THROW(check_refusal("two\nlines"), Broken);
  EXPECT_THROW(check_refusal(std::string(3000, 'x')), Broken);
  EXPECT_THROW(check_refusal(""), Broken);
}

}  // namespace
}  // namespace heddle::fuzz
