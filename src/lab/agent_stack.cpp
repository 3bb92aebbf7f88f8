// SPDX-License-Identifier: Apache-2.0
#include "lab/agent_stack.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace heddle::lab {

namespace {

// Stacks kept for later agents, as many as a large run has; more are given back to the system.
constexpr std::size_t spare_stacks_max = 2048;

std::vector<std::unique_ptr<AgentStack>>& spare_stacks() {
  static thread_local std::vector<std::unique_ptr<AgentStack>> stacks;
  return stacks;
}

}  // namespace

std::unique_ptr<AgentStack> AgentStack::take(std::size_t stack_bytes) {
  auto& spare = spare_stacks();
  const auto found =
      std::find_if(spare.rbegin(), spare.rend(), [&](const auto& stack) { return stack->bytes == stack_bytes; });
  if (found == spare.rend()) return std::make_unique<AgentStack>(stack_bytes);
  std::unique_ptr<AgentStack> stack = std::move(*found);
  *found = std::move(spare.back());
  spare.pop_back();
  return stack;
}

void AgentStack::give_back(std::unique_ptr<AgentStack> stack) {
  if (spare_stacks().size() < spare_stacks_max) spare_stacks().push_back(std::move(stack));
}

void AgentStack::enter(void* argument) {
  AgentStack& self = *static_cast<AgentStack*>(argument);
  for (;;) base::Fiber::switch_to(self.fiber, self.run());
}

}  // namespace heddle::lab
