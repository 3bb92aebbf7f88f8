// SPDX-License-Identifier: Apache-2.0
//
// heddle size, as a user believes what it says: the sizes that it prints run, and one step less does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/child.hpp"

namespace heddle::test {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

const std::vector<std::string> sized{"moe_missing_edge", "--set", "repaired=true"};

std::vector<std::string> with(const std::string& command, const std::vector<std::string>& more) {
  std::vector<std::string> all{command};
  all.insert(all.end(), sized.begin(), sized.end());
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

TEST(Size, TheSizesPassOnChipAndHostAndOneStepBelowFails) {
  const Outcome outcome = run_command(with("size", {"--schedules", "12", "--json"}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json found = Json::parse(outcome.out);
  EXPECT_EQ(found.at("schedules"), 12);
  const Json& sizes = found.at("sizes");
  const std::vector<std::string> rings{"--task-window", sizes.at("task_window").dump(),
                                       "--heap-bytes",  sizes.at("heap_bytes").dump(),
                                       "--dep-pool",    sizes.at("dep_pool").dump()};
  EXPECT_EQ(run_command(with("run", rings)).exit_code, 0);
  std::vector<std::string> in_the_lab = rings;
  in_the_lab.insert(in_the_lab.end(), {"--on", "lab:a2a3"});
  EXPECT_EQ(run_command(with("run", in_the_lab)).exit_code, 0);

  const Json& below = found.at("below").at("task_window");
  ASSERT_TRUE(below.is_object());
  EXPECT_EQ(below.at("size").get<int>() + 1, sizes.at("task_window").get<int>());
  std::vector<std::string> too_small = rings;
  too_small[1] = below.at("size").dump();
  too_small.insert(too_small.end(), {"--on", "lab:a2a3", "--strategy", below.at("strategy"), "--seed",
                                     below.at("seed").dump(), "--json"});
  const Outcome failed = run_command(with("run", too_small));
  EXPECT_EQ(failed.exit_code, 1);
  EXPECT_EQ(Json::parse(failed.out).at("name"), below.at("name"));
}

TEST(Size, SaysForPeopleWhichOptionsToGive) {
  const Outcome outcome = run_command(with("size", {"--schedules", "4"}));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* text : {"--task-window", "--heap-bytes", "--dep-pool", "passed under 4 schedules"})
    EXPECT_THAT(outcome.out, HasSubstr(text));
}

TEST(Size, AProgramThatFailsOtherwiseIsToldAndGetsNoSizes) {
  const Outcome outcome = run_command({"size", module_path("deadlock"), "--json"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("no size helps"));
  EXPECT_EQ(Json::parse(outcome.out).at("sizes"), nullptr);
  EXPECT_EQ(Json::parse(outcome.out).at("failure").at("verdict"), "DEADLOCK (proved)");
}

}  // namespace
}  // namespace heddle::test
