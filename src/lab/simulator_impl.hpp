// SPDX-License-Identifier: Apache-2.0
//
// What a simulator keeps. Part of its own sources only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/fiber.hpp"
#include "lab/agent_stack.hpp"
#include "lab/event_queue.hpp"
#include "lab/keys.hpp"
#include "lab/label_table.hpp"
#include "lab/simulator.hpp"

namespace heddle::lab {

// Who takes choices and schedules: an agent, or "network" for whatever happens outside of agents.
struct SimulatorActor {
  std::string name;
  std::uint64_t key = 0;
  std::vector<std::uint32_t> ordinals;  // choices taken, by the label's number
  std::uint64_t scheduled = 0;          // events, for their keys
  void* slot = nullptr;
};

struct SimulatorAgent final : Queued, SimulatorActor {
  static constexpr std::uint64_t never = UINT64_MAX;
  SimulatorAgent() noexcept : Queued(true) {}

  enum class State : std::uint8_t { waiting, parked, running, finished };  // waiting: for its turn, not for a wake

  AgentId number = 0;
  State state = State::waiting;
  bool started = false;
  std::uint64_t clock = 0;          // while it does not run
  std::uint64_t token = never;      // from when on park() finds one
  std::uint64_t deadline = never;   // while parked
  const char* looks_for = nullptr;  // the last time that it let others go on
  std::uint32_t steps_left = 0;     // of its window
  std::uint32_t disturbed_at = 0;   // when so many are left
  std::function<void()> body;
  std::unique_ptr<AgentStack> stack;
  // Keeps whichever context of the agent is suspended: its own stack's, or that of a fiber it runs.
  base::Fiber suspended = base::Fiber::adopt();

  base::Fiber& resume_point() {
    if (started) return suspended;
    started = true;
    return stack->fiber;
  }
};

struct Simulator::Impl {
  using Agent = SimulatorAgent;
  using Actor = SimulatorActor;

  Impl(Strategy& chosen_strategy, const Options& chosen_options)
      : strategy(chosen_strategy), options(chosen_options), by_time(chosen_strategy.by_time()) {
    network.name = "network";
    network.key = key_of(network.name);
    names.insert(network.key);
  }

  void note(std::uint64_t value) noexcept {
    hash_value = (hash_value ^ value) * 0x100000001b3U;
    hash_value ^= hash_value >> 29U;
  }
  static std::uint64_t bit(std::uint64_t key) noexcept { return std::uint64_t{1} << (key >> 58U); }

  Actor& actor() noexcept { return running != nullptr ? static_cast<Actor&>(*running) : network; }
  Agent& agent(AgentId id);
  std::uint64_t new_event_key() noexcept;
  std::uint32_t choose(const char* label, ChoiceKind kind, std::uint32_t alternatives);
  EventQueue::Entry pick();
  std::size_t pick_among(const char* label, bool all);
  void happen(const EventQueue::Entry& entry);
  void go_on(Agent& agent);
  void switch_out();
  bool park(std::uint64_t deadline);
  base::Fiber& run_agent();
  void look_again(std::uint64_t time);

  Strategy& strategy;
  const Options options;
  const bool by_time;
  EventQueue queue;
  std::vector<std::unique_ptr<Agent>> agents;
  std::unordered_set<std::uint64_t> names;  // keys; looked up only, never iterated
  LabelTable labels;
  Actor network;
  base::Fiber home = base::Fiber::adopt();

  std::vector<Agent*> looking;  // again, after what happens next
  Agent* running = nullptr;
  std::uint64_t now = 0;  // of the agent that runs, else of what happened last
  bool stopping = false;
  std::string error;             // what ended the run, if anything did
  std::uint64_t step_key = 0;    // of the event that happens
  std::uint64_t step_count = 0;  // events that it scheduled
  Footprint footprint;           // of this step

  std::uint64_t hash_value = 0xcbf29ce484222325U;
  std::uint64_t event_count = 0;
  std::uint64_t choice_count = 0;
  std::vector<TakenChoice> taken;
  std::vector<EventQueue::Entry> candidates;
  std::vector<std::uint64_t> candidate_keys;
};

}  // namespace heddle::lab
