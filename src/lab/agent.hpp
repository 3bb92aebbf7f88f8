// SPDX-License-Identifier: Apache-2.0
//
// What a machine keeps of each of its agents. Part of the machine's own sources only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/fiber.hpp"
#include "lab/agent_stack.hpp"
#include "lab/clock.hpp"
#include "lab/machine.hpp"

namespace heddle::lab {

struct Machine::PendingStore {
  CellHistory* cell;
  void* address;
  std::size_t size;
  std::uint64_t bits;
  VectorClock clock;    // what an acquire load of it is ordered after
  std::uint64_t group;  // counts release fences: a group reaches memory after the ones before
  bool release;         // reaches memory after all before it
};

struct Machine::Agent {
  Agent(std::string agent_name, std::function<void()> agent_body, std::size_t stack_bytes)
      : name(std::move(agent_name)), body(std::move(agent_body)), stack(AgentStack::take(stack_bytes)) {}

  base::Fiber& resume_point() {
    if (started) return suspended;
    started = true;
    return stack->fiber;
  }

  std::string name;
  std::function<void()> body;
  std::unique_ptr<AgentStack> stack;
  // Keeps whichever context of the agent is suspended: its own stack's, or that of a fiber it runs.
  base::Fiber suspended = base::Fiber::adopt();
  bool started = false;
  bool parked = false;
  bool finished = false;
  std::uint64_t deadline = no_deadline;
  void* slot = nullptr;

  VectorClock clock;
  VectorClock relaxed_seen;   // what an acquire fence will be ordered after
  VectorClock release_fence;  // what a relaxed store carries since the last release fence
  std::uint64_t group = 0;
  std::vector<PendingStore> buffer;
};

}  // namespace heddle::lab
