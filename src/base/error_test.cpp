// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>
#include <heddle/error.hpp>
#include <map>
#include <set>
#include <sstream>
#include <utility>

namespace heddle {
namespace {

constexpr Code all_codes[] = {Code::ok,
                              Code::scope_deadlock,
                              Code::heap_ring_deadlock,
                              Code::flow_control_deadlock,
                              Code::dep_pool_overflow,
                              Code::invalid_argument,
                              Code::sync_start_too_wide,
                              Code::tensor_wait_timeout,
                              Code::user_error,
                              Code::region_map_full,
                              Code::signal_deadlock,
                              Code::core_deadlock,
                              Code::window_mismatch,
                              Code::kernel_failed,
                              Code::core_stalled,
                              Code::peer_lost,
                              Code::race,
                              Code::stale_read,
                              Code::missing_edge,
                              Code::not_once,
                              Code::flags_unbalanced,
                              Code::no_progress,
                              Code::async_invalid,
                              Code::async_overflow,
                              Code::async_registration,
                              Code::queue_overflow};

// The compiler warns here of an enumerator that is missing, and the next test of one missing in the list above.
constexpr bool is_known(Code code) {
  switch (code) {
    case Code::ok:
    case Code::scope_deadlock:
    case Code::heap_ring_deadlock:
    case Code::flow_control_deadlock:
    case Code::dep_pool_overflow:
    case Code::invalid_argument:
    case Code::sync_start_too_wide:
    case Code::tensor_wait_timeout:
    case Code::user_error:
    case Code::region_map_full:
    case Code::signal_deadlock:
    case Code::core_deadlock:
    case Code::window_mismatch:
    case Code::kernel_failed:
    case Code::core_stalled:
    case Code::peer_lost:
    case Code::race:
    case Code::stale_read:
    case Code::missing_edge:
    case Code::not_once:
    case Code::flags_unbalanced:
    case Code::no_progress:
    case Code::async_invalid:
    case Code::async_overflow:
    case Code::async_registration:
    case Code::queue_overflow:
      return true;
  }
  return false;
}

TEST(CodeTable, has_every_code_in_the_order_of_its_number) {
  const std::set<Code> listed(std::begin(all_codes), std::end(all_codes));
  std::set<Code> in_table;
  int previous = -1;
  for (const CodeInfo& entry : code_table()) {
    EXPECT_GT(static_cast<int>(entry.code), previous);
    previous = static_cast<int>(entry.code);
    in_table.insert(entry.code);
    EXPECT_TRUE(listed.contains(entry.code)) << entry.name;
  }
  for (unsigned number = 0; number <= UINT16_MAX; ++number) {
    const auto code = static_cast<Code>(number);
    ASSERT_EQ(is_known(code), in_table.contains(code)) << number;
  }
}

TEST(CodeTable, gives_each_code_a_name_of_its_own_a_description_and_a_hint) {
  std::set<std::string_view> names;
  for (const CodeInfo& entry : code_table()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    EXPECT_FALSE(entry.name.empty());
    EXPECT_TRUE(entry.description.ends_with('.')) << entry.name;
    EXPECT_TRUE(entry.hint.ends_with('.')) << entry.name;
    EXPECT_EQ(&info(entry.code), &entry);
  }
}

TEST(CodeTable, answers_for_a_number_that_it_does_not_have) {
  for (const unsigned number : {6U, 60U, 105U, 65535U}) {
    const CodeInfo& entry = info(static_cast<Code>(number));
    EXPECT_EQ(entry.name, "unknown");
    EXPECT_FALSE(entry.description.empty());
  }
  EXPECT_STREQ(Error(static_cast<Code>(60), "from elsewhere").what(), "unknown (60): from elsewhere");
}

// What docs/errors.md should hold of a code.
std::string reference(const CodeInfo& entry) {
  std::string text =
      "## " + std::to_string(static_cast<unsigned>(entry.code)) + " `" + std::string(entry.name) + "`\n\n";
  return text + std::string(entry.description) + "\n\n**What to do.** " + std::string(entry.hint) + "\n";
}

TEST(CodeTable, is_what_the_reference_says) {
  std::ifstream file(HEDDLE_TEST_SOURCE_DIR "/docs/errors.md");
  ASSERT_TRUE(file) << "docs/errors.md cannot be read";
  std::string introduction, line;
  std::vector<std::string> sections;
  while (std::getline(file, line)) {
    if (line.starts_with("## ")) sections.emplace_back();
    (sections.empty() ? introduction : sections.back()) += line + "\n";
  }
  ASSERT_EQ(sections.size(), code_table().size());
  for (std::size_t i = 0; i < sections.size(); ++i) {
    while (sections[i].ends_with("\n\n")) sections[i].pop_back();
    EXPECT_EQ(sections[i], reference(code_table()[i]));
  }
}

TEST(Error, is_one_line_that_names_what_is_known_of_its_place) {
  Error error(Code::heap_ring_deadlock, "no room\nfor 32 KiB");
  EXPECT_STREQ(error.what(), "heap_ring_deadlock (2): no room for 32 KiB");
  error.at_location({"programs/tp.cpp", 41});
  EXPECT_STREQ(error.what(), "heap_ring_deadlock (2): no room for 32 KiB [programs/tp.cpp:41]");
  error.at_rank(3).at_task("push", 4, {"programs/tp.cpp", 57}).in_round(7);
  EXPECT_STREQ(error.what(),
               "heap_ring_deadlock (2): no room for 32 KiB [rank 3, task push, block 4, programs/tp.cpp:57]");
  EXPECT_EQ(error.code(), Code::heap_ring_deadlock);
  EXPECT_EQ(error.name(), "heap_ring_deadlock");
  EXPECT_EQ(error.message(), "no room\nfor 32 KiB");
  EXPECT_EQ(error.rank(), 3);
  EXPECT_EQ(error.task(), "push");
  EXPECT_EQ(error.block(), 4);
  EXPECT_EQ(error.location().line, 57U);
  EXPECT_EQ(error.round(), 7);
}

TEST(Error, has_its_codes_hint_until_it_is_given_one) {
  Error error(Code::user_error, "wrong");
  EXPECT_EQ(error.hint(), info(Code::user_error).hint);
  error.with_hint("Try again.");
  EXPECT_EQ(error.hint(), "Try again.");
}

TEST(Error, belongs_to_nothing_at_first) {
  const Error error(Code::user_error, "wrong");
  EXPECT_EQ(error.rank(), -1);
  EXPECT_TRUE(error.task().empty());
  EXPECT_EQ(error.block(), -1);
  EXPECT_EQ(error.round(), -1);
  EXPECT_EQ(error.location().file, nullptr);
  EXPECT_TRUE(error.waits().empty());
  EXPECT_TRUE(error.attached().empty());
}

TEST(Error, a_copy_does_not_change_with_its_original) {
  Error error(Code::user_error, "wrong");
  const Error copy = error;
  error.at_rank(5).attach(copy).with_hint("Other.");
  EXPECT_EQ(copy.rank(), -1);
  EXPECT_TRUE(copy.attached().empty());
  EXPECT_STREQ(copy.what(), "user_error (9): wrong");
  EXPECT_EQ(error.rank(), 5);
  error.attach(error);
  ASSERT_EQ(error.attached().size(), 2U);
  EXPECT_EQ(error.attached()[1].attached().size(), 1U);
}

TEST(Error, a_later_failure_is_attached_and_replaces_nothing) {
  Error error(Code::signal_deadlock, "first");
  error.attach(Error(Code::kernel_failed, "second").at_rank(1));
  EXPECT_EQ(error.code(), Code::signal_deadlock);
  ASSERT_EQ(error.attached().size(), 1U);
  EXPECT_STREQ(error.attached()[0].what(), "kernel_failed (30): second [rank 1]");
}

WaitRecord hidden_wait(int rank, std::int64_t block) {
  return {
      WaitRecord::What::signal, rank, "hidden_wait", block, {"programs/tp.cpp", 41}, "hidden_done", 2, 7, 8, "ge", {}};
}

TEST(WaitRecord, is_one_sentence) {
  EXPECT_EQ(hidden_wait(3, 0).text(),
            "rank 3, task hidden_wait, block 0 (programs/tp.cpp:41) waits for hidden_done[2] >= 8; it has 7");
  WaitRecord program;
  program.what = WaitRecord::What::ring;
  program.rank = 1;
  program.task = "orchestrator";
  program.detail = "4 KiB of heap 0";
  EXPECT_EQ(program.text(), "rank 1, orchestrator waits for 4 KiB of heap 0");
  EXPECT_EQ(WaitRecord{}.text(), "an unnamed task waits for a signal");
}

TEST(Location, is_file_and_line_as_far_as_known) {
  EXPECT_EQ(Location().text(), "unknown");
  EXPECT_EQ(Location("a.cpp", 0).text(), "a.cpp");
  EXPECT_EQ(Location("a.cpp", 12).text(), "a.cpp:12");
}

TEST(Report, tells_the_whole_failure) {
  Error error(Code::signal_deadlock, "nothing that is left can satisfy 4 waits");
  WaitRecord program;
  program.what = WaitRecord::What::completion;
  program.rank = 1;
  program.task = "orchestrator";
  program.detail = "all tasks of the round";
  error.at_rank(0)
      .at_task("hidden_wait", 0, {"programs/tp.cpp", 41})
      .in_round(7)
      .with_waits({hidden_wait(0, 0), hidden_wait(0, 1), hidden_wait(0, 3), program})
      .with_hint("Look at hidden_done.")
      .attach(Error(Code::kernel_failed, "threw afterwards").at_rank(1));
  EXPECT_EQ(error.report(),
            "signal_deadlock (20): nothing that is left can satisfy 4 waits\n"
            "  at: rank 0, task hidden_wait, block 0, programs/tp.cpp:41, round 7\n"
            "  what waits:\n"
            "    rank 0, task hidden_wait, blocks 0 to 1 (programs/tp.cpp:41) wait for hidden_done[2] >= 8; it has 7\n"
            "    rank 0, task hidden_wait, block 3 (programs/tp.cpp:41) waits for hidden_done[2] >= 8; it has 7\n"
            "    rank 1, orchestrator waits for all tasks of the round\n"
            "  hint: Look at hidden_done.\n"
            "  afterwards:\n"
            "    kernel_failed (30): threw afterwards [rank 1]\n");
}

TEST(Report, of_an_error_without_place_is_short) {
  EXPECT_EQ(Error(Code::user_error, "wrong").with_hint("").report(), "user_error (9): wrong\n");
}

TEST(Report, lists_a_bounded_number_of_waits) {
  std::vector<WaitRecord> waits;
  for (int rank = 0; rank < 100; ++rank) waits.push_back(hidden_wait(rank, 0));
  const std::string report = Error(Code::signal_deadlock, "stuck").with_waits(std::move(waits)).report();
  EXPECT_NE(report.find("rank 63, task"), std::string::npos);
  EXPECT_EQ(report.find("rank 64, task"), std::string::npos);
  EXPECT_NE(report.find("\n    … and 36 more\n"), std::string::npos);
}

TEST(Helpers, throw_what_their_names_say) {
  try {
    detail::throw_invalid("no such thing");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid_argument);
    EXPECT_EQ(error.message(), "no such thing");
  }
  try {
    detail::throw_out_of_view(1, 12, 8);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kernel_failed);
    EXPECT_EQ(error.message(), "index 12 of dimension 1 is outside its view, whose extent there is 8");
  }
}

}  // namespace
}  // namespace heddle
