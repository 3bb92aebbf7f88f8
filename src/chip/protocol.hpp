// SPDX-License-Identifier: Apache-2.0
//
// The words that a scheduler and a core exchange, and what a scheduler concludes from them.
//
//   dispatch register  scheduler to core, 64 bits: the token in the low half, its complement in the high half. A store
//                      may be seen as two halves in either order; a word whose halves disagree is not there yet.
//   status register    core to scheduler, 32 bits: the token once the core has taken it up (acknowledge), the token
//                      with finish_bit once it is done
//   payload            two buffers in memory, token & 1. Tokens of one core alternate in parity, so that the running
//                      and the pending task never share one.
#pragma once

#include <cstdint>

namespace heddle::chip {

using Token = std::uint32_t;  // 31 bits
inline constexpr Token no_token = 0;
inline constexpr Token finish_bit = 1U << 31U;
inline constexpr Token last_token = finish_bit - 1;

// The first token of a core is next_token(no_token). The parity alternates across the wrap, too: last_token is odd.
constexpr Token next_token(Token token) noexcept { return token == last_token ? 2 : token + 1; }
constexpr std::uint32_t payload_of(Token token) noexcept { return token & 1U; }

constexpr std::uint64_t dispatch_word(Token token) noexcept {
  return (static_cast<std::uint64_t>(~token) << 32U) | token;
}
// no_token when the word is empty or half seen.
constexpr Token token_of(std::uint64_t word) noexcept {
  const auto low = static_cast<Token>(word);
  const auto high = static_cast<Token>(word >> 32U);
  return high == static_cast<Token>(~low) && low <= last_token ? low : no_token;
}

enum class Conclusion : std::uint8_t {
  both_done,      // the running and the pending task are done: the core is idle
  pending_runs,   // the running task is done, and the pending one runs
  await_pending,  // wait, for a bounded time, until the pending task is acknowledged: then the running one is done
  running_done,   // the running task is done: the core is idle
  promote,        // the running task is done, and the gated one takes its place
  may_fill,       // the running task was taken up: the pending slot may be filled
  anomaly,        // a status that nothing explains
};

// `running` and `pending` are the tokens that the scheduler has handed out and not seen the end of, or no_token;
// `gated` says that the pending one waits behind a gate.
constexpr Conclusion conclude(Token running, Token pending, bool gated, std::uint32_t status) noexcept {
  const Token token = status & last_token;
  const bool finish = (status & finish_bit) != 0;
  if (token == no_token) return Conclusion::anomaly;
  if (token == pending) return finish ? Conclusion::both_done : Conclusion::pending_runs;
  if (token != running) return Conclusion::anomaly;
  if (!finish) return Conclusion::may_fill;
  if (pending == no_token) return Conclusion::running_done;
  return gated ? Conclusion::promote : Conclusion::await_pending;
}

}  // namespace heddle::chip
