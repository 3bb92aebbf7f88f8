// SPDX-License-Identifier: Apache-2.0
#include "chip/protocol.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace heddle::chip {
namespace {

// The table of the chip's description, a row at a time; the first row that fits tells.
struct Row {
  enum class Of { running, pending };
  enum class Pending { any, none, gated, not_gated };
  Of of;
  bool finish;
  Pending pending;
  Conclusion conclusion;
};
constexpr Row table[] = {
    {Row::Of::pending, true, Row::Pending::any, Conclusion::both_done},
    {Row::Of::pending, false, Row::Pending::any, Conclusion::pending_runs},
    {Row::Of::running, true, Row::Pending::not_gated, Conclusion::await_pending},
    {Row::Of::running, true, Row::Pending::none, Conclusion::running_done},
    {Row::Of::running, true, Row::Pending::gated, Conclusion::promote},
    {Row::Of::running, false, Row::Pending::any, Conclusion::may_fill},
};

Conclusion by_table(Token running, Token pending, bool gated, std::uint32_t status) {
  for (const Row& row : table) {
    const Token of = row.of == Row::Of::running ? running : pending;
    if (of == 0) continue;
    if (status != (row.finish ? of + 0x80000000U : of)) continue;
    if (row.pending == Row::Pending::none && pending != 0) continue;
    if (row.pending == Row::Pending::gated && (pending == 0 || !gated)) continue;
    if (row.pending == Row::Pending::not_gated && (pending == 0 || gated)) continue;
    return row.conclusion;
  }
  return Conclusion::anomaly;
}

TEST(Protocol, concludes_as_the_table_says_for_every_triple) {
  const std::vector<Token> tokens{0, 1, 2, 3, 4, 5, 0x7ffffffe, 0x7fffffff};
  std::size_t seen[7] = {};
  for (const Token running : tokens)
    for (const Token pending : tokens)
      for (const bool gated : {false, true})
        for (const Token token : tokens)
          for (const std::uint32_t status : {token, token | 0x80000000U}) {
            const Conclusion conclusion = conclude(running, pending, gated, status);
            ASSERT_EQ(conclusion, by_table(running, pending, gated, status))
                << running << " " << pending << " " << gated << " " << status;
            ++seen[static_cast<std::size_t>(conclusion)];
          }
  for (const std::size_t count : seen) EXPECT_GT(count, 0U);
}

TEST(Protocol, a_word_is_there_only_when_both_halves_are) {
  const std::vector<Token> tokens{1, 2, 3, 0x55555555, 0x7ffffffe, 0x7fffffff};
  EXPECT_EQ(token_of(0), no_token);
  for (const Token before : tokens)
    for (const Token after : tokens) {
      EXPECT_EQ(token_of(dispatch_word(after)), after);
      if (before == after) continue;
      const std::uint64_t low_first = (dispatch_word(before) & ~0xffffffffULL) | (dispatch_word(after) & 0xffffffffULL);
      const std::uint64_t high_first =
          (dispatch_word(after) & ~0xffffffffULL) | (dispatch_word(before) & 0xffffffffULL);
      EXPECT_EQ(token_of(low_first), no_token);
      EXPECT_EQ(token_of(high_first), no_token);
    }
  for (const Token first : tokens) {  // the first store to a register
    EXPECT_EQ(token_of(dispatch_word(first) & 0xffffffffULL), no_token);
    EXPECT_EQ(token_of(dispatch_word(first) & ~0xffffffffULL), no_token);
  }
  EXPECT_EQ(token_of(dispatch_word(finish_bit | 5U)), no_token);  // not a token
}

TEST(Protocol, neighbouring_tokens_never_share_a_payload_buffer) {
  EXPECT_EQ(next_token(no_token), 1U);
  for (const Token token : {1U, 2U, 3U, last_token - 2, last_token - 1, last_token}) {
    EXPECT_NE(payload_of(token), payload_of(next_token(token))) << token;
    EXPECT_NE(next_token(token), no_token);
    EXPECT_EQ(next_token(token) & finish_bit, 0U);
  }
}

}  // namespace
}  // namespace heddle::chip
