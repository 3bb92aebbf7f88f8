// SPDX-License-Identifier: Apache-2.0
//
// A stack on which agents run, one after the other. Making one costs more than a short run: a thread keeps those of
// agents that returned for its next machines and simulators.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "base/fiber.hpp"

namespace heddle::lab {

struct AgentStack {
  static std::unique_ptr<AgentStack> take(std::size_t stack_bytes);
  // Only while its fiber waits for the next agent, or to be started.
  static void give_back(std::unique_ptr<AgentStack> stack);

  explicit AgentStack(std::size_t stack_bytes) : bytes(stack_bytes), fiber(stack_bytes, &enter, this) {}
  static void enter(void* argument);

  std::size_t bytes;
  base::Fiber fiber;                  // waits for the next agent, or to be started
  std::function<base::Fiber&()> run;  // runs the agent and tells where to go after it
};

}  // namespace heddle::lab
