// SPDX-License-Identifier: Apache-2.0
//
// Wrong use: each a line that says what to do, exit code 2, and nothing left behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/bad_input.hpp"
#include "tests/child.hpp"

namespace heddle::test {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

std::vector<BadInput> bad_inputs() {
  const std::vector<std::string> first{"run", module_path("several") + ":first"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), first.begin(), first.end());
    return more;
  };
  return {
      {"NoCommand", {}, {"heddle list", "heddle run NAME"}},
      {"UnknownCommand", {"rnu"}, {"rnu", "did you mean \"run\""}},
      {"UnknownOption",
       {"run", "vector_add", "--rankz", "3"},
       {"--rankz", "did you mean \"--ranks\"", "heddle run --help"}},
      {"UnexpectedArgument", {"run", "vector_add", "stencil"}, {"stencil", "not expected"}},
      {"NoProgram", {"run"}, {"say which program", "heddle list"}},
      {"UnknownProgram", {"run", "vector_ad"}, {"vector_ad", "did you mean \"vector_add\""}},
      {"UnknownProgramUnlikeAny", {"run", "zzzzzzzzzzzzzzzzzzzz"}, {"there are: ", "stencil"}},
      {"EmptyProgram", {"run", ""}, {"empty", "heddle list"}},
      {"MissingModule", {"run", "./nowhere.so"}, {"there is no file", "nowhere.so"}},
      {"ModuleIsAFolder", {"run", "/tmp/"}, {"not a file"}},
      {"ModuleWithoutSymbol", {"run", module_path("no_symbol")}, {"no_symbol.so", "heddle_module", "HEDDLE_MODULE"}},
      {"ModuleOfAnotherAbi", {"run", module_path("abi_other")}, {"abi_other.so", "module ABI", "build it again"}},
      {"ModuleOfSeveralPrograms", {"run", module_path("several")}, {"2 programs", "several.so:first", "second"}},
      {"UnknownProgramOfAModule", {"run", module_path("several") + ":frist"}, {"frist", "did you mean \"first\""}},
      {"UnknownBackend", with({"--on", "hots"}), {"hots", "did you mean \"host\""}},
      {"UnknownParameter", with({"--set", "sise=3"}), {"sise", "did you mean \"size\""}},
      {"ParameterWithoutValue", with({"--set", "size"}), {"--set name=value"}},
      {"ParameterOfWrongType", with({"--set", "size=big"}), {"size", "big"}},
      {"ParameterZero", with({"--set", "size=0"}), {"size", "from 1 to 4096"}},
      {"ParameterAbsurd", with({"--set", "size=99999999999999999999"}), {"size", "from 1 to 4096"}},
      {"ParameterNotAChoice", with({"--set", "mode=plian"}), {"mode", "plain"}},
      {"ParameterNotABool", with({"--set", "loud=loud"}), {"loud", "true"}},
      {"RanksNotAMultiple", with({"--ranks", "3"}), {"multiple", "--ranks 4"}},
      {"RanksZero", with({"--ranks", "0"}), {"--ranks", "from 1 to 1024"}},
      {"RanksNegative", with({"--ranks", "-4"}), {"--ranks", "from 1 to 1024"}},
      {"RanksAbsurd", with({"--ranks", "1000000"}), {"--ranks", "from 1 to 1024"}},
      {"SizesAbsurd",
       {"run", "vector_add", "--ranks", "1024", "--set", "count=1073741824"},
       {"smaller", "fewer ranks"}},
      {"RanksNoNumber", with({"--ranks", "4x"}), {"--ranks", "4x"}},
      {"RoundsZero", with({"--rounds", "0"}), {"--rounds", "whole number"}},
      {"RoundsAbsurd", with({"--rounds", "99999999999999999999"}), {"--rounds", "whole number"}},
      {"ThreadsZero", with({"--threads", "0"}), {"--threads", "whole number"}},
      {"ThreadsAbsurd", with({"--threads", "1000000000"}), {"--threads", "whole number"}},
      {"TaskWindowZero", with({"--task-window", "0"}), {"--task-window"}},
      {"HeapTooSmall", with({"--heap-bytes", "100"}), {"--heap-bytes", "1024"}},
      {"TimeoutsOutOfOrder", with({"--scheduler-timeout", "90000"}), {"scheduler"}},
      {"UnknownVariant", with({"--variant", "goood"}), {"goood", "did you mean \"good\""}},
      {"VariantsOfAProgramWithout", {"run", module_path("several") + ":second", "--matrix"}, {"second", "no variants"}},
      {"SettingOfAVariant", with({"--matrix", "--set", "mode=plain"}), {"mode", "variant"}},
      {"TraceInNoFolder",
       with({"--trace", "/nowhere/out.json"}),
       {"--trace", "/nowhere/out.json", "No such file", "folder"}},
      {"TraceIsAFolder", with({"--trace", "/tmp"}), {"--trace", "folder"}},
      {"TraceWithoutName", with({"--trace", ""}), {"--trace"}},
      {"RecordsWithoutTrace", with({"--trace-records", "64"}), {"--trace FILE"}},
      {"ProgramPathIsNoFolder", {"list", "--program-path", "/nowhere"}, {"/nowhere", "not a folder"}},
  };
}

class CommandRefuses : public testing::TestWithParam<BadInput> {};

TEST_P(CommandRefuses, InOneLineThatSaysWhatToDo) { expect_refused_in_one_line(GetParam()); }

INSTANTIATE_TEST_SUITE_P(BadInputs, CommandRefuses, testing::ValuesIn(bad_inputs()),
                         [](const auto& instance) { return instance.param.title; });

TEST(CommandRefusesAsJson, WithOneObject) {
  const Outcome outcome = run_command({"run", "vector_ad", "--json"});
  EXPECT_EQ(outcome.exit_code, 2);
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json.at("passed"), false);
  EXPECT_EQ(json.at("verdict"), "REFUSED");
  EXPECT_EQ(json.at("name"), "invalid_argument");
  EXPECT_THAT(json.at("message").get<std::string>(), HasSubstr("vector_add"));
}

TEST(CommandRefusesAFile, ThatIsNoSharedLibrary) {
  const TemporaryFolder folder;
  const std::string path = folder.file("text.so");
  std::ofstream(path) << "this is no library\n";
  const Outcome outcome = run_command({"run", path});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_TRUE(is_one_line(outcome.err)) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("does not load"));
}

TEST(CommandRefusesAFile, ThatIsEmpty) {
  const TemporaryFolder folder;
  const std::string path = folder.file("empty.so");
  std::ofstream(path).close();
  const Outcome outcome = run_command({"run", path + ":any"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_TRUE(is_one_line(outcome.err)) << outcome.err;
}

TEST(CommandRefusesATrace, AndLeavesTheFileThatIsThere) {
  const TemporaryFolder folder;
  std::ofstream(folder.file("out.json")) << "mine";
  const Outcome outcome = run_command({"run", "vector_add", "--trace", folder.file("out.json"), "--ranks", "0"});
  EXPECT_EQ(outcome.exit_code, 2);
  std::string text;
  std::ifstream(folder.file("out.json")) >> text;
  EXPECT_EQ(text, "mine");
}

}  // namespace
}  // namespace heddle::test
