// SPDX-License-Identifier: Apache-2.0
#include "lab/dispatch_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <heddle/error.hpp>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace heddle::lab {
namespace {

// A file of its own, gone with the test.
class DispatchFile : public testing::Test {
 protected:
  DispatchFile() {
    std::string pattern = (std::filesystem::temp_directory_path() / "heddle-records-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    path_ = folder_ + "/records.jsonl";
  }
  ~DispatchFile() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  DispatchFile(const DispatchFile&) = delete;
  DispatchFile& operator=(const DispatchFile&) = delete;

  // Two blocks of a cube and a vector core in clusters 0 and 1, then one on a vector core.
  static DispatchLog log() {
    DispatchLog made;
    made.begin_graph();
    for (const auto kind : {DispatchRecord::Kind::hand_over, DispatchRecord::Kind::begin, DispatchRecord::Kind::finish})
      for (std::uint32_t block = 0; block < 2; ++block)
        for (std::uint32_t part = 0; part < 2; ++part) {
          DispatchRecord record;
          record.kind = kind;
          record.time = 100 + block;
          record.block = block;
          record.blocks = record.parts = 2;
          record.part = static_cast<std::uint8_t>(part);
          record.cubes = 1;
          record.core = 3 * block + part;
          record.token = 1;
          made.add(record, "gem\"m\n");
        }
    return made;
  }
  static DispatchHeader header() {
    DispatchHeader header;
    header.program = "tower";
    header.backend = "lab:a2a3";
    header.cores = 72;
    header.lanes = 3;
    header.strategy = "random";
    header.seed = 7;
    header.trace_hash = 0xabc;
    return header;
  }
  std::vector<std::string> written(bool passed = true) const {
    write_dispatch(path_, header(), log(), passed);
    std::ifstream file(path_);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }
  void write(const std::vector<std::string>& lines) const {
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    write_text(text);
  }
  void write_text(const std::string& text) const {
    std::ofstream file(path_, std::ios::trunc | std::ios::binary);
    file << text;
  }
  std::string text() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // One line that names the file and says this.
  void expect_refused(const std::string& part) const {
    try {
      verify_dispatch(path_);
      ADD_FAILURE() << "not refused: " << part;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::invalid_argument);
      EXPECT_NE(error.message().find(part), std::string::npos) << error.message();
      EXPECT_NE(error.message().find(path_), std::string::npos) << error.message();
      EXPECT_EQ(error.message().find('\n'), std::string::npos) << error.message();
    }
  }
  static std::string replaced(std::string line, const std::string& what, const std::string& by) {
    const std::size_t at = line.find(what);
    EXPECT_NE(at, std::string::npos) << what << " is not in " << line;
    return line.replace(at, what.size(), by);
  }

  std::string folder_, path_;
};

TEST_F(DispatchFile, IsReadAsItWasWritten) {
  EXPECT_EQ(written().size(), 14U);
  const DispatchReading reading = verify_dispatch(path_);
  EXPECT_TRUE(reading.proof.holds());
  EXPECT_FALSE(reading.edited);
  EXPECT_EQ(reading.end, DispatchEnd::passed);
  EXPECT_EQ(reading.proof.records, 12U);
  EXPECT_EQ(reading.header.program, "tower");
  EXPECT_EQ(reading.header.seed, 7U);
  EXPECT_EQ(reading.header.trace_hash, 0xabcU);
  written(false);
  EXPECT_EQ(verify_dispatch(path_).end, DispatchEnd::stopped);
}

TEST_F(DispatchFile, OfAnEmptyRunHoldsNothing) {
  write_dispatch(path_, header(), DispatchLog(), true);
  EXPECT_TRUE(verify_dispatch(path_).proof.holds());
}

TEST_F(DispatchFile, CutOffAnywhereIsRefused) {
  written();
  const std::string whole = text();
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    SCOPED_TRACE(bytes);
    write_text(whole.substr(0, bytes));
    expect_refused("line ");
  }
}

// Whatever is changed in a record's line is seen: the line is refused, a rule breaks, or the checksum tells.
TEST_F(DispatchFile, EditedAnywhereIsNoticed) {
  const std::vector<std::string> lines = written();
  const auto noticed = [&](const std::vector<std::string>& changed) {
    write(changed);
    try {
      return verify_dispatch(path_).edited;
    } catch (const Error&) {
      return true;
    }
  };
  EXPECT_FALSE(noticed(lines));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::vector<std::string> changed = lines;
    changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_TRUE(noticed(changed)) << "without line " << i + 1;
    changed = lines;
    changed.insert(changed.begin() + static_cast<std::ptrdiff_t>(i), lines[i]);
    EXPECT_TRUE(noticed(changed)) << "line " << i + 1 << " twice";
    if (i > 2 && i + 1 < lines.size()) continue;  // as the lines before
    for (std::size_t at = 0; at < lines[i].size(); ++at) {
      changed = lines;
      changed[i][at] = lines[i][at] == '1' ? '2' : '1';
      EXPECT_TRUE(noticed(changed)) << "line " << i + 1 << ", letter " << at;
    }
  }
}

TEST_F(DispatchFile, ARuleThatBreaksIsNamedWithItsLine) {
  std::vector<std::string> lines = written();
  lines[3] = replaced(lines[3], "\"token\":1", "\"token\":2");
  write(lines);
  const DispatchReading reading = verify_dispatch(path_);
  ASSERT_FALSE(reading.proof.holds());
  EXPECT_EQ(reading.proof.faults.front().rule, DispatchRule::continuous);
  EXPECT_EQ(DispatchReading::line_of(reading.proof.faults.front()), 4U);
  EXPECT_TRUE(reading.edited);
}

TEST_F(DispatchFile, WhatIsNoneIsRefused) {
  expect_refused("No such file");
  std::filesystem::create_directory(path_);
  expect_refused("directory");
  std::filesystem::remove(path_);
  write_text("");
  expect_refused("line 1: the file is empty");
  for (const char* other : {"hello", "[1,2]", "{}", "{\"traceEvents\":[]}", "heddle-failure 1\n"}) {
    write_text(other);
    expect_refused("line 1: this is no file of dispatch records");
  }
  write_text(std::string(10'000, 'x'));
  expect_refused("line 1: longer than 4096 bytes");
  write_text(std::string("\0\0\0\n", 4));
  expect_refused("line 1: this is no file");
}

TEST_F(DispatchFile, OfAnotherVersionIsRefused) {
  std::vector<std::string> lines = written();
  lines[0] = replaced(lines[0], "\"heddle_records\":1", "\"heddle_records\":2");
  write(lines);
  expect_refused("line 1: the file has version 2, and this heddle reads version 1");
}

TEST_F(DispatchFile, LinesThatCannotBeAreRefused) {
  const std::vector<std::string> lines = written();
  const struct {
    const char *what, *by, *says;
  } cases[] = {
      {"\"what\":\"hand_over\"", "\"what\":\"hand-over\"", "hand_over, begin, finish or freeze is expected"},
      {"\"rank\":0", "\"rank\":1", "\"rank\" has to be a whole number from 0 to 0"},
      {"\"core\":1", "\"core\":72", "\"core\" has to be a whole number from 0 to 71"},
      {"\"core\":1", "\"core\":-1", "\"core\" has to be a whole number"},
      {"\"core\":1", "\"core\":1e3", "\"core\" has to be a whole number"},
      {"\"core\":1", "\"core\":\"1\"", "\"core\" has to be a whole number"},
      {"\"core\":1", "\"core\":5", "core 5 is not in that cluster"},
      {"\"token\":1", "\"token\":0", "\"token\" has to be a whole number from 1"},
      {"\"token\":1", "\"tokens\":1", "\"token\" is missing"},
      {"\"token\":1", "\"token\":1,\"more\":1", "fields that a dispatch record does not have"},
      {"\"part\":1", "\"part\":2", "\"part\" has to be a whole number from 0 to 1"},
      {"\"parts\":2", "\"parts\":4", "\"parts\" has to be a whole number from 1 to 3"},
      {"\"name\":\"gem\\\"m\\n\"", "\"name\":3", "\"name\" has to be a text"},
      {"}", "", "it is no JSON object: the file was edited"},
  };
  for (const auto& each : cases) {
    std::vector<std::string> changed = lines;
    changed[2] = replaced(changed[2], each.what, each.by);
    write(changed);
    expect_refused(each.says);
    expect_refused("line 3: ");
  }
  std::vector<std::string> more = lines;
  more.push_back(lines[1]);
  write(more);
  expect_refused("line 15: it follows the line that ends the records");
}

TEST_F(DispatchFile, ThatCannotBeWrittenIsTold) {
  try {
    write_dispatch("/no/such/folder/x", header(), log(), true);
    FAIL() << "written";
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("/no/such/folder/x"), std::string::npos);
  }
}

TEST_F(DispatchFile, RecordsThatWereNotKeptAreCounted) {
  DispatchLog few(5);
  few.begin_graph();
  const DispatchLog all = log();
  for (const DispatchRecord& record : all.records()) few.add(record, "gemm");
  write_dispatch(path_, header(), few, true);
  const DispatchReading reading = verify_dispatch(path_);
  EXPECT_TRUE(reading.proof.holds());
  EXPECT_EQ(reading.end, DispatchEnd::dropped);
  EXPECT_EQ(reading.dropped, 7U);
}

}  // namespace
}  // namespace heddle::lab
