// SPDX-License-Identifier: Apache-2.0
//
// --html by the command: the page of the failure that a run, a replay or a hunt has shown, the same as heddle
// explain's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "doctor/page_reader.hpp"
#include "tests/child.hpp"
#include "tests/trace_tracks.hpp"

namespace heddle::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using testing::HasSubstr;

std::vector<std::string> in_cases(std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"--program-path", HEDDLE_TEST_CASE_DIR});
  return arguments;
}

void expect_page(const std::string& path, const std::string& says) {
  const doctor::ReadPage page = doctor::PageReader(text_of(path)).read();
  EXPECT_EQ(page.wrong(), "");
  EXPECT_THAT(page.text, HasSubstr(says));
}

class Html : public testing::Test {
 protected:
  // A failure of circular_handshake.
  std::string failure() {
    const std::string path = file("f.heddle");
    const Outcome hunt = run_command(in_cases({"hunt", "circular_handshake", "--budget", "100", "--out", path}));
    EXPECT_EQ(hunt.exit_code, 1) << hunt.err;
    return path;
  }
  std::string file(const std::string& name) const { return folder_.file(name); }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()));
  }
  // A command that shows a failure, without its --html.
  std::vector<std::string> command(const std::string& name) {
    if (name == "run") return in_cases({"run", "circular_handshake", "--on", "lab:a2a3"});
    if (name == "hunt")
      return in_cases({"hunt", "circular_handshake", "--budget", "100", "--out", file("found.heddle")});
    return in_cases({name, failure()});
  }
  Outcome with_page(const std::string& name, const std::string& page, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = command(name);
    arguments.insert(arguments.end(), {"--html", page});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_command(arguments);
  }
  TemporaryFolder folder_;
};

TEST_F(Html, EachCommandThatShowsAFailureWritesItsPage) {
  for (const char* name : {"run", "replay", "hunt", "explain"}) {
    SCOPED_TRACE(name);
    const std::string page = file(std::string(name) + ".html");
    const Outcome text = with_page(name, page);
    EXPECT_THAT(text.out, HasSubstr("page in " + page + ": open it in a browser\n"));
    expect_page(page, "DEADLOCK (proved)");
    const Outcome json = with_page(name, page, {"--json"});
    EXPECT_EQ(Json::parse(json.out).at("html"), page);
  }
}

TEST_F(Html, ThePageIsTheOneThatExplainWrites) {
  const std::string failed = failure();
  (void)run_command(in_cases({"replay", failed, "--html", file("replay.html")}));
  (void)run_command(in_cases({"explain", failed, "--html", file("explain.html")}));
  (void)run_command(
      in_cases({"hunt", "circular_handshake", "--budget", "100", "--out", failed, "--html", file("hunt.html")}));
  const std::string page = text_of(file("explain.html"));
  EXPECT_EQ(page, text_of(file("replay.html")));
  EXPECT_EQ(page, text_of(file("hunt.html")));
  EXPECT_THAT(page, HasSubstr("heddle replay " + failed));
}

TEST_F(Html, OfWhatPassesNoPageIsWritten) {
  const std::string page = file("none.html");
  for (const auto& arguments :
       {std::vector<std::string>{"run", "circular_handshake", "--on", "lab:a2a3", "--set", "repaired=true"},
        std::vector<std::string>{"hunt", "circular_handshake", "--set", "repaired=true", "--budget", "5"}}) {
    std::vector<std::string> all = in_cases(arguments);
    all.insert(all.end(), {"--html", page, "--json"});
    const Outcome outcome = run_command(all);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(Json::parse(outcome.out).at("html"), nullptr);
  }
  EXPECT_EQ(files(), 0U);
}

TEST_F(Html, OfAMatrixTheFirstVariantThatFailsHasIt) {
  const Outcome outcome =
      run_command({"run", module_path("deadlock"), "--on", "lab:a2a3", "--html", file("x.html"), "--json"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(Json::parse(outcome.out).at("html"), file("x.html"));
}

TEST_F(Html, APathThatCannotBeWrittenIsRefusedBeforeAnythingRuns) {
  for (const char* name : {"run", "replay", "hunt", "explain"}) {
    SCOPED_TRACE(name);
    for (const std::string& path : {file("none/x.html"), folder_.path(), std::string()}) {
      const Outcome outcome = with_page(name, path);
      EXPECT_EQ(outcome.exit_code, 2) << path;
      EXPECT_THAT(outcome.err, testing::StartsWith("heddle: --html: "));
      EXPECT_TRUE(is_one_line(outcome.err)) << outcome.err;
      EXPECT_EQ(outcome.out, "");
    }
  }
  EXPECT_FALSE(fs::exists(file("found.heddle"))) << "no hunt began";
}

TEST_F(Html, AFullDiskIsToldAndTheFailureIsAsWell) {
  for (const char* name : {"run", "replay", "hunt", "explain"}) {
    SCOPED_TRACE(name);
    const Outcome outcome = with_page(name, "/dev/full", {"--json"});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.err, HasSubstr("--html: cannot write \"/dev/full\": No space left on device"));
    const Json json = Json::parse(outcome.out);
    EXPECT_EQ(json.at("verdict"), "DEADLOCK (proved)");
    EXPECT_TRUE(!json.contains("html") || json.at("html").is_null());
  }
}

TEST_F(Html, AHuntThatIsInterruptedWritesThePageOfWhatItHasFound) {
  const std::string page = file("x.html");
  Child hunt(in_cases({"hunt", "circular_handshake", "--keep-going", "--budget", "1h", "--out", file("f.heddle"),
                       "--html", page}),
             {.terminal = true});
  ASSERT_TRUE(hunt.wait_for("DEADLOCK")) << "on the line that shows how far it is";
  hunt.send(SIGINT);
  const Outcome outcome = hunt.finish();
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("page in " + page));
  expect_page(page, "DEADLOCK (proved)");
}

TEST_F(Html, WhereThereAreNoChipsItIsRefused) {
  for (const char* name : {"run", "hunt"}) {
    const Outcome outcome = run_command({name, "vector_add", "--on", "lab:host", "--html", file("x.html")});
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(outcome.err, HasSubstr("--html: lab:host has no chips to look at"));
  }
}

TEST_F(Html, OfAHostThatStandsStill) {
  const Outcome outcome = run_command({"run", module_path("deadlock"), "--html", file("x.html")});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, HasSubstr(file("x.html")));
  std::ifstream page(file("x.html"));
  const std::string text{std::istreambuf_iterator<char>(page), {}};
  EXPECT_THAT(text, HasSubstr("signal_deadlock"));
}

}  // namespace
}  // namespace heddle::test
