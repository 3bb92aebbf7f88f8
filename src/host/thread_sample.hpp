// SPDX-License-Identifier: Apache-2.0
//
// Where a thread stands at this moment, asked of it by a signal. The handler copies registers and the end of the stack
// and does nothing else; whoever asked makes sense of them afterwards.
#pragma once

#include <pthread.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace heddle::host {

struct ThreadSample {
  static constexpr std::size_t register_count = 17;  // x86-64, in the order of DWARF; the last is the address of return
  static constexpr std::size_t stack_most = 32U << 10U;
  std::array<std::uint64_t, register_count> registers{};
  std::uint64_t pc = 0;
  std::uint64_t stack_begin = 0;
  std::vector<std::byte> stack;  // from stack_begin on
};

// Takes a real-time signal that nobody has, for the whole of the process, the first time. False where there is none.
bool enable_samples();
// Lets the calling thread be asked.
void accept_samples();

// Where these threads stand, in their order; nothing for one that does not answer within half a second. The threads
// have not been joined.
std::vector<std::optional<ThreadSample>> sample(std::span<const pthread_t> threads);

}  // namespace heddle::host
