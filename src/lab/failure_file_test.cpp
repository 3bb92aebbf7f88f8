// SPDX-License-Identifier: Apache-2.0
#include "lab/failure_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "lab/failure_text.hpp"

namespace heddle::lab {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

Failure sample() {
  Failure failure;
  failure.program = "moe";
  failure.module = "./some folder/moe.so";
  failure.variant = "padded";
  failure.settings = {{"size", "4"}, {"note", "a=b\nand \\ more\x01"}, {"size", "5"}};
  failure.spec.chip = "a5";
  failure.spec.chip_set = {{"clusters", 2}, {"cores", UINT64_MAX}};
  failure.spec.fidelity = Fidelity::protocol;
  failure.spec.ranks = 16;
  failure.spec.rounds = 100;
  failure.spec.session.ring.task_window = 8;
  failure.spec.session.timeouts.scheduler = std::nullopt;
  failure.spec.session.timeouts.operation = std::chrono::milliseconds(7);
  failure.spec.session.reset_windows = true;
  failure.spec.faults = {{"lost_notify", 1}, {"late_rank", 2}};
  failure.spec.checkers = {"races", "once"};
  failure.spec.values = false;
  failure.schedule = {"walk", 77,    1234,
                      true,   false, {{"latency.put", "rank 3, cluster 0 vector 1", 2, 5}, {"next", "", 0, 1}}};
  failure.verdict = Verdict::stale_read;
  failure.code = 21;
  failure.sentence = "rank 3 reads \"x\"\nbefore it came";
  failure.trace_hash = 0x0123456789abcdefU;
  failure.program_hash = UINT64_MAX;
  return failure;
}

auto all_of(const Failure& failure) {
  const RunSpec& spec = failure.spec;
  const SessionConfig& session = spec.session;
  return std::tuple(failure.program, failure.module, failure.variant, failure.settings, spec.chip, spec.chip_set,
                    spec.fidelity, spec.ranks, spec.rounds, session.ring.task_window, session.timeouts.scheduler,
                    session.timeouts.operation, session.timeouts.host_fence, session.reset_windows, session.checked,
                    spec.faults, spec.checkers, spec.values, spec.check, failure.schedule, failure.verdict,
                    failure.code, failure.sentence, failure.trace_hash, failure.program_hash);
}

std::string refusal(const std::string& text) {
  try {
    parse_failure(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid_argument);
    EXPECT_EQ(error.message().find('\n'), std::string::npos) << error.message();
    return error.message();
  }
  return "";
}

// With a right checksum.
std::string sealed(const std::string& body) {
  char end[32];
  std::snprintf(end, sizeof end, "end %016llx\n", static_cast<unsigned long long>(checksum(body)));
  return body + end;
}

std::string body_of(const Failure& failure) {
  const std::string text = to_text(failure);
  return text.substr(0, text.rfind("end "));
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(FailureFile, ComesBackAsItWas) {
  EXPECT_EQ(all_of(parse_failure(to_text(sample()))), all_of(sample()));
  Failure plain;
  plain.program = "p";
  EXPECT_EQ(all_of(parse_failure(to_text(plain))), all_of(plain));
}

TEST(FailureFile, IsLinesThatAPersonCanRead) {
  const std::string text = to_text(sample());
  for (const char* line : {"heddle-failure 1\n", "\nchip-set clusters=2\n", "\nsession scheduler-timeout=off\n",
                           "\nfault lost_notify=1\n", "\nchoice latency.put 2 5 rank 3, cluster 0 vector 1\n",
                           "\nverdict stale_read\n", "\ntrace-hash 0123456789abcdef\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_THAT(to_text(Failure{}), testing::Not(HasSubstr("session")));
}

TEST(FailureFile, CutOffAnywhereIsRefused) {
  const std::string text = to_text(sample());
  for (std::size_t bytes = 0; bytes < text.size(); ++bytes) {
    const std::string message = refusal(text.substr(0, bytes));
    EXPECT_THAT(message, testing::StartsWith("line ")) << bytes;
  }
}

TEST(FailureFile, WithAnyByteChangedIsRefused) {
  const std::string text = to_text(sample());
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (const char letter : {'0', ' ', '\n', '\\', '\xff'}) {
      std::string edited = text;
      if (edited[at] == letter) continue;
      edited[at] = letter;
      EXPECT_NE(refusal(edited), "") << at;
    }
  }
}

TEST(FailureFile, WithALineLeftOutOrTwiceIsRefusedThoughTheChecksumIsRight) {
  Failure failure = sample();
  failure.schedule.is_list = false;
  failure.schedule.choices.clear();
  failure.spec.chip_set.clear();
  failure.spec.faults.clear();
  failure.spec.checkers.clear();
  failure.spec.session = {};
  failure.settings.clear();
  failure.module = failure.variant = "";
  failure.schedule.length_hint = 0;
  const std::string body = body_of(failure);
  for (std::size_t start = body.find('\n') + 1; start < body.size();) {
    const std::size_t end = body.find('\n', start) + 1;
    const std::string line = body.substr(start, end - start);
    EXPECT_THAT(refusal(sealed(std::string(body).erase(start, line.size()))), HasSubstr("there is no line")) << line;
    EXPECT_THAT(refusal(sealed(body + line)), HasSubstr("stands here again")) << line;
    start = end;
  }
}

TEST(FailureFile, OfRandomBytesIsRefused) {
  const unsigned seed = 20;
  std::mt19937 random(seed);
  const std::string body = body_of(sample());
  for (int i = 0; i < 2000; ++i) {
    std::string text = body;
    for (int edits = 0; edits < 3; ++edits) text[random() % text.size()] = static_cast<char>(random() % 256);
    try {
      parse_failure(sealed(text));  // may be right by chance; what it may not do is anything but parse or throw Error
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::invalid_argument) << "seed " << seed << ", file " << i;
    }
  }
}

struct BadFile {
  const char* from;
  const char* to;
  const char* says;
};

TEST(FailureFile, WithAnUnknownKeyOrValueIsRefusedWithTheLine) {
  const std::string body = body_of(sample());
  for (const BadFile& bad : std::vector<BadFile>{
           {"\nprogram moe", "\nprogramme moe", "line 2: there is no key \"programme\""},
           {"\nranks 16", "\nranks 0", "a whole number from 1 to 1024"},
           {"\nranks 16", "\nranks 16x", "ranks \"16x\""},
           {"\nrounds 100", "\nrounds 99999999999999999999", "rounds"},
           {"fidelity protocol", "fidelity exact", "protocol or program"},
           {"chip-set clusters=2", "chip-set clusters", "a name, = and a value"},
           {"chip-set clusters=2", "chip-set cores=2", "\"cores\" stands here again"},
           {"session task-window=8", "session task-window=0", "out of its range"},
           {"session task-window=8", "session tusk-window=8", "no session setting"},
           {"choices 2 chosen-order", "choices 3 chosen-order", "3 choices are announced, and 2 are listed"},
           {"choices 2 chosen-order", "choices 2 any-order", "by-time or chosen-order"},
           {"choice latency.put 2 5 ", "choice latency.put 2 0 ", "alternative \"0\""},
           {"choice latency.put 2 5 rank 3, cluster 0 vector 1", "choice latency.put 2", "choice: a label"},
           {"verdict stale_read", "verdict stale", "there is no verdict \"stale\""},
           {"code 21", "code 70000", "code"},
           {"trace-hash 0123456789abcdef", "trace-hash 123456789abcdef", "16 hexadecimal digits"},
           {"\\x01", "\\q01", "escape"},
       }) {
    const std::string message = refusal(sealed(replaced(body, bad.from, bad.to)));
    EXPECT_THAT(message, HasSubstr(bad.says));
    EXPECT_THAT(message, testing::StartsWith("line "));
  }
}

TEST(FailureFile, ALongOrStrangeWordIsToldInOneShortLine) {
  const std::string body = body_of(sample());
  for (const std::string& word : {std::string(100'000, 'x'), std::string("a\\nb"), std::string("\\x1b[31m")}) {
    const std::string message = refusal(sealed(replaced(body, "verdict stale_read", "verdict " + word)));
    EXPECT_THAT(message, HasSubstr("there is no verdict"));
    EXPECT_LT(message.size(), 200U);
    EXPECT_EQ(message.find('\x1b'), std::string::npos);
  }
}

TEST(FailureFile, OfAnotherVersionOrOfSomethingElseIsRefused) {
  const std::string body = body_of(sample());
  EXPECT_EQ(refusal(sealed(replaced(body, "heddle-failure 1", "heddle-failure 2"))),
            "line 1: the file has version 2, and this heddle reads version 1");
  EXPECT_THAT(refusal(""), HasSubstr("line 1: the file is empty"));
  EXPECT_THAT(refusal("{\"verdict\": 1}\n"), HasSubstr("line 1: this is no failure file"));
  EXPECT_THAT(refusal(to_text(sample()) + "more\n"), HasSubstr("cut off, or was edited"));
  EXPECT_THAT(refusal(replaced(to_text(sample()), "ranks 16", "ranks 17")), HasSubstr("the file was edited"));
  EXPECT_THAT(refusal(std::string(failure_bytes_most + 1, 'x')), HasSubstr("larger than"));
}

class InAFolder : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "heddle-failure-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  static std::string refusal_to_write(const std::string& path) {
    try {
      write_failure(path, sample());
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::user_error);
      return error.message();
    }
    return "";
  }
  fs::path folder_;
};

TEST_F(InAFolder, IsWrittenAndReadAndReplacesWhatWasThere) {
  std::ofstream(file("a")) << "old";
  write_failure(file("a"), sample());
  EXPECT_EQ(all_of(read_failure(file("a"))), all_of(sample()));
  EXPECT_EQ(files(), 1U);
}

TEST_F(InAFolder, ALinkStaysALink) {
  std::ofstream(file("target")) << "old";
  fs::create_symlink("target", file("link"));
  write_failure(file("link"), sample());
  EXPECT_TRUE(fs::is_symlink(file("link")));
  EXPECT_EQ(read_failure(file("target")).program, "moe");
}

TEST_F(InAFolder, WhatCannotBeWrittenIsSaidAndLeavesNothing) {
  EXPECT_THAT(refusal_to_write(file("no/folder")), HasSubstr("No such file"));
  EXPECT_THAT(refusal_to_write(folder_.string()), HasSubstr("folder"));
  EXPECT_EQ(files(), 0U);
}

// The size that a process may write stands for a full disk: the write fails in the middle of the file.
TEST_F(InAFolder, AFullDiskLeavesTheOldFileAndNothingElse) {
  std::ofstream(file("a")) << "old";
  const auto fill_the_disk = [&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{100, 100};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) std::_Exit(3);
    std::_Exit(refusal_to_write(file("a")).find("File too large") != std::string::npos ? 0 : 4);
  };
  EXPECT_EXIT(fill_the_disk(), testing::ExitedWithCode(0), "");
  EXPECT_EQ(files(), 1U);
  std::string text;
  std::ifstream(file("a")) >> text;
  EXPECT_EQ(text, "old");
}

TEST_F(InAFolder, WhatCannotBeReadIsSaidWithThePath) {
  const auto says = [](const std::string& path) {
    try {
      read_failure(path);
    } catch (const Error& error) {
      return error.message();
    }
    return std::string();
  };
  EXPECT_THAT(says(file("none")), HasSubstr("none"));
  EXPECT_THAT(says(file("none")), HasSubstr("No such file"));
  EXPECT_THAT(says(folder_.string()), HasSubstr("it is a folder"));
  EXPECT_THAT(says(""), HasSubstr("empty"));
  EXPECT_THAT(says("/dev/zero"), HasSubstr("larger than"));
  std::ofstream(file("text")) << "hello\n";
  EXPECT_THAT(says(file("text")), HasSubstr("text\": line 1: this is no failure file"));
}

}  // namespace
}  // namespace heddle::lab
