// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "lab/checkers/feed.hpp"

namespace heddle::lab::checkers {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Tag = Feed::Tag;

class DependencesTest : public ::testing::Test {
 protected:
  DependencesTest() { feed.round(0); }
  Feed feed{1};
  const std::byte* data = feed.memory(65536);
};

TEST_F(DependencesTest, edge_that_inference_missed) {
  feed.submit(0, "read", {{Tag::in, data, {64}, {1}, 4}});
  feed.submit(0, "write", {{Tag::in, data + 1024, {64}, {1}, 4}, {Tag::out, data + 128, {64}, {1}, 4}});
  ASSERT_TRUE(feed.set.first());
  EXPECT_EQ(feed.set.first()->error.code(), Code::missing_edge);
  EXPECT_THAT(feed.found(),
              AllOf(HasSubstr("argument 1 of rank 0, task write"), HasSubstr("argument 0 of rank 0, task read")));
}

TEST_F(DependencesTest, path_over_other_tasks_is_not_accused) {
  const TaskId first = feed.submit(0, "first", {{Tag::out, data, {64}, {1}, 4}});
  const TaskId other = feed.submit(0, "other", {}, {first});
  const TaskId third = feed.submit(0, "third", {}, {other});
  feed.submit(0, "last", {{Tag::inout, data, {64}, {1}, 4}}, {third});
  EXPECT_EQ(feed.found(), "");
}

TEST_F(DependencesTest, interleaved_views_that_share_no_byte_are_not_accused) {
  feed.submit(0, "even", {{Tag::out, data, {64}, {2}, 4}});
  feed.submit(0, "odd", {{Tag::out, data + 4, {64}, {2}, 4}});
  EXPECT_EQ(feed.found(), "");
  feed.submit(0, "third", {{Tag::in, data + 16, {8}, {3}, 4}});
  EXPECT_THAT(feed.found(), HasSubstr("task third"));
}

TEST_F(DependencesTest, reads_manual_scopes_and_no_dep_need_no_edge) {
  feed.submit(0, "read", {{Tag::in, data, {64}, {1}, 4}});
  feed.submit(0, "too", {{Tag::in, data, {64}, {1}, 4}});
  feed.submit(0, "loose", {{Tag::no_dep, data, {64}, {1}, 4}});
  feed.submit(0, "manual", {{Tag::out, data, {64}, {1}, 4}}, {}, {1, true});
  EXPECT_EQ(feed.found(), "");
}

TEST_F(DependencesTest, task_that_is_done_needs_no_edge) {
  feed.run(feed.submit(0, "write", {{Tag::out, data, {64}, {1}, 4}}));
  feed.submit(0, "read", {{Tag::in, data, {64}, {1}, 4}});
  EXPECT_EQ(feed.found(), "");
}

TEST_F(DependencesTest, read_that_waits_does_not_stand_for_another_that_does_not) {
  const TaskId write = feed.submit(0, "write", {{Tag::out, data, {64}, {1}, 4}});
  feed.submit(0, "read", {{Tag::in, data, {64}, {1}, 4}}, {write});
  EXPECT_EQ(feed.found(), "");
  feed.submit(0, "too", {{Tag::in, data, {64}, {1}, 4}});
  EXPECT_THAT(feed.found(), HasSubstr("task too"));
}

// Random views with exactly the edges that a map of bytes gives; then the same without one of the direct edges.
TEST(Dependences, agrees_with_a_map_of_bytes) {
  const unsigned seed = std::random_device{}();
  RecordProperty("seed", std::to_string(seed));
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  int without_edge = 0;
  for (int trial = 0; trial < 300; ++trial) {
    Feed feed(1, {"dependences"});
    feed.round(0);
    const std::byte* const data = feed.memory(4096);
    std::vector<TaskId> last_writer_of(4096), tasks;
    std::vector<bool> written(4096, false);
    std::vector<std::vector<TaskId>> readers(4096);
    const unsigned dropped = below(12);
    bool dropped_one = false;
    for (unsigned t = 0; t < 12; ++t) {
      const auto rows = static_cast<std::int64_t>(1 + below(6)), columns = static_cast<std::int64_t>(1 + below(6));
      const auto step = static_cast<std::int64_t>(1 + below(3)), row = static_cast<std::int64_t>(16 + below(8));
      const std::int64_t offset = below(256);
      const bool write = below(2) == 0;
      std::vector<TaskId> producers;
      const auto add = [&](TaskId id) {
        if (std::find(producers.begin(), producers.end(), id) == producers.end()) producers.push_back(id);
      };
      std::vector<std::size_t> bytes;
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; ++j)
          for (std::int64_t b = 0; b < 2; ++b)
            bytes.push_back(static_cast<std::size_t>(2 * (offset + i * row + j * step) + b));
      for (const std::size_t byte : bytes) {
        if (written[byte]) add(last_writer_of[byte]);
        if (write)
          for (const TaskId reader : readers[byte]) add(reader);
      }
      if (t >= dropped && !dropped_one && !producers.empty()) {
        producers.clear();
        dropped_one = true;
      }
      const TaskId task = feed.submit(
          0, "task", {{write ? Tag::out : Tag::in, data + 2 * offset, {rows, columns}, {row, step}, 2}}, producers);
      ASSERT_EQ(feed.found().empty(), !dropped_one) << feed.found();
      if (dropped_one) break;
      for (const std::size_t byte : bytes) {
        if (!write) {
          readers[byte].push_back(task);
          continue;
        }
        written[byte] = true;
        last_writer_of[byte] = task;
        readers[byte].clear();
      }
    }
    without_edge += dropped_one ? 1 : 0;
  }
  EXPECT_GT(without_edge, 100);  // most trials have a conflict
}

TEST(CheckerSet, refuses_a_name_that_there_is_not) {
  EXPECT_THROW(CheckerSet({"races", "rases"}, 2), Error);
  EXPECT_NO_THROW(CheckerSet(all_checkers(), 2));
}

TEST(CheckerSet, has_a_line_of_help_for_each_checker) {
  ASSERT_EQ(checker_names().size(), 8U);
  for (const NamedHelp& entry : checker_names()) EXPECT_FALSE(entry.help.empty()) << entry.name;
}

}  // namespace
}  // namespace heddle::lab::checkers
