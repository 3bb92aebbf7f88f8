// SPDX-License-Identifier: Apache-2.0
//
// heddle cases, and what it writes: each case's report and picture and the document of them stand in the tree as a run
// with the same seeds gives them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/child.hpp"

namespace heddle::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using testing::HasSubstr;

const fs::path root = HEDDLE_TEST_SOURCE_DIR;

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.is_open()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

// Which line a call that goes over several lines is on, compilers see differently: what stands in the tree is of g++.
std::string without_lines([[maybe_unused]] std::string text) {
#ifdef __clang__
  return std::regex_replace(text, std::regex("(\\.cpp:)[0-9]+"), "$1N");
#else
  return text;
#endif
}

std::set<std::string> case_folders() {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(root / "cases")) names.insert(entry.path().filename().string());
  return names;
}

TEST(Cases, WhatIsWrittenOfThemStandsInTheTree) {
  const TemporaryFolder folder;
  const fs::path written = folder.path();
  fs::create_directories(written / "docs");
  for (const std::string& name : case_folders()) fs::create_directories(written / "cases" / name);
  const Outcome outcome = run_command({"cases", "--write", folder.path(), "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  const Json found = Json::parse(outcome.out);
  EXPECT_EQ(found.at("passed"), true);
  EXPECT_EQ(found.at("written").size(), 2 * case_folders().size() + 1);
  const char* const advice = ": if that is meant, scripts/update-gallery writes it";
  for (const std::string& name : case_folders()) {
    for (const char* file : {"report.txt", "waits.svg"}) {
      const fs::path path = fs::path("cases") / name / file;
      EXPECT_EQ(without_lines(read(written / path)), without_lines(read(root / path))) << path << advice;
    }
  }
  const fs::path document = "docs/gallery.md";
  EXPECT_EQ(without_lines(read(written / document)), without_lines(read(root / document))) << advice;
}

TEST(Cases, ListsThemAll) {
  const Outcome outcome = run_command({"cases", "--list"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const std::string& name : case_folders()) EXPECT_THAT(outcome.out, HasSubstr(name));
  const Json json = Json::parse(run_command({"cases", "--list", "--json"}).out);
  EXPECT_EQ(json.at("passed"), nullptr);
  EXPECT_EQ(json.at("cases").size(), case_folders().size());
}

TEST(Cases, FromAFreshSeedEachIsAsItSays) {
  const Outcome outcome =
      run_command({"cases", "half_line", "slow_holder", "wait_holds_core", "--starts", "3", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  const Json json = Json::parse(outcome.out);
  ASSERT_EQ(json.at("cases").size(), 3U);
  EXPECT_EQ(json.at("cases")[0].at("verdict"), "RACE");
  EXPECT_EQ(json.at("cases")[0].at("needed").size(), 3U);
  EXPECT_EQ(json.at("cases")[1].at("verdict"), "SLOW");
  EXPECT_EQ(json.at("cases")[1].at("median"), nullptr);
  EXPECT_EQ(json.at("cases")[2].at("verdict"), "DEADLOCK (proved)");
  EXPECT_EQ(json.at("cases")[2].at("unharmed"), 200);
  const Outcome text = run_command({"cases", "half_line", "--seed", "5"});
  EXPECT_THAT(text.out, HasSubstr("as expected"));
  EXPECT_THAT(text.out, HasSubstr("1 case from seed 5"));
}

// A folder of programs in which one description asks for something else.
class Described {
 public:
  explicit Described(void (*change)(Json&)) {
    fs::copy_file(fs::path(HEDDLE_TEST_CASE_DIR) / "half_line.so", folder_.file("half_line.so"));
    Json about = Json::parse(read(root / "cases/half_line/case.json"));
    change(about);
    std::ofstream(folder_.file("half_line.case.json")) << about;
  }
  Outcome run(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"cases", "half_line", "--program-path", folder_.path()});
    return run_command(more);
  }

 private:
  TemporaryFolder folder_;
};

TEST(Cases, OneThatDiffersIsToldAndFails) {
  const auto differs = [](void (*change)(Json&), const std::string& what) {
    const Outcome outcome = Described(change).run();
    EXPECT_EQ(outcome.exit_code, 1) << outcome.out;
    EXPECT_THAT(outcome.out, HasSubstr("differs"));
    EXPECT_THAT(outcome.out, HasSubstr(what));
  };
  differs([](Json& about) { about["expect"]["verdicts"] = {"STALE READ"}; }, "the verdict is RACE, not STALE READ");
  differs([](Json& about) { about["expect"]["codes"] = {"stale_read"}; }, "the code is race, not stale_read");
  differs([](Json& about) { about["expect"]["names"] = {"nobody"}; }, "\"nobody\" is not named");
  differs([](Json& about) { about["run"]["checkers"] = {"once"}; }, "no failure in 2000 schedules");
  differs([](Json& about) { about["kind"] = "control"; }, "what is right fails");
}

TEST(Cases, WhatDiffersIsNotWrittenDown) {
  const TemporaryFolder folder;
  fs::create_directories(fs::path(folder.path()) / "docs");
  fs::create_directories(fs::path(folder.path()) / "cases/half_line");
  const Outcome outcome =
      Described([](Json& about) { about["expect"]["names"] = {"nobody"}; }).run({"--write", folder.path()});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("nothing was written"));
  EXPECT_TRUE(fs::is_empty(fs::path(folder.path()) / "cases/half_line"));
}

TEST(Cases, WrongUseIsOneLine) {
  const auto refused = [](const Outcome& outcome, const std::string& what) {
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_TRUE(is_one_line(outcome.err)) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(what));
  };
  refused(run_command({"cases", "half_lines"}), "half_line");
  refused(run_command({"cases", "--starts", "0"}), "--starts");
  refused(run_command({"cases", "--budget", "soon"}), "--budget");
  refused(run_command({"cases", "--list", "--write", "."}), "--list runs nothing");
  const TemporaryFolder folder;
  refused(run_command({"cases", "--write", folder.path()}), "there is no folder");
  refused(Described([](Json& about) { about.erase("expect"); }).run(), "is not the description of a case");
  refused(Described([](Json& about) { about["run"]["session"] = {{"moons", "2"}}; }).run(), "moons");
}

}  // namespace
}  // namespace heddle::test
