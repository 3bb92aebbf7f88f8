// SPDX-License-Identifier: Apache-2.0
//
// Virtual time: agents on fibers of one thread, and timed events. An agent has a clock of its own, which runs ahead of
// the simulator's while the agent computes and charges costs; it switches only where another agent could see it, in
// catch_up() and park(). Whatever happens next is what has the earliest time; ties, latencies and faults are drawn from
// the strategy. The run ends the moment nothing is left that could happen: there are no timeouts to wait for.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/latency.hpp"
#include "lab/choice.hpp"
#include "lab/event_queue.hpp"

namespace heddle::lab {

using AgentId = std::uint32_t;

// Something that happens at a time; owned by whoever schedules it, not to be moved while scheduled. happen() runs
// outside of every agent: it may wake agents and schedule events, and may not park.
class Event : public Queued {
 public:
  virtual void happen() = 0;

 protected:
  ~Event() = default;
};

class Simulator {
 public:
  struct Options {
    std::size_t stack_bytes = std::size_t{128} << 10U;
    std::uint64_t event_limit = UINT64_MAX;
    bool record_choices = false;  // keep taken(): costs memory
    // A request from any thread or signal handler, looked at after each event: run() takes it back and returns.
    std::atomic<bool>* interrupt = nullptr;
  };
  // The strategy has begun the run already, and is ended by whoever began it.
  explicit Simulator(Strategy& strategy, Options options);
  explicit Simulator(Strategy& strategy);
  // Agents that have not returned are abandoned where they stand; their stacks are given back without unwinding.
  ~Simulator();
  Simulator(const Simulator&) = delete;
  Simulator& operator=(const Simulator&) = delete;

  // The simulator whose run() is active on this thread, or null.
  static Simulator* current() noexcept;

  // ---- from anywhere ----
  // A new agent that starts at now(). Names are unique and mean the same in every run; "network" is taken: it names
  // whatever happens outside of agents.
  AgentId spawn(std::string name, std::function<void()> body);
  // Continues a parked agent at `time` (or now, when that is later); leaves it a token when it is not parked. Of two
  // wakes the earlier one counts.
  void wake(AgentId agent, std::uint64_t time);
  // At `time`, or now when that is later. An event that is scheduled already is moved.
  void at(std::uint64_t time, Event& event);
  void cancel(Event& event);  // nothing happens when it is not scheduled
  const std::string& name_of(AgentId agent) const;
  // Virtual nanoseconds: of the agent that runs, of the event that happens, or of the last one that did.
  std::uint64_t now() const noexcept;
  // Whether events happen in the order of their times: see Strategy::by_time().
  bool by_time() const noexcept;

  // ---- from outside: runs until stop(), until nothing is left, to the limit, or to a request. May be called again.
  // Throws std::logic_error when an agent or event let an exception out; after that it only throws.
  enum class End : std::uint8_t { stopped, idle, event_limit, interrupted };
  End run();

  // ---- from agents and events ----
  void stop() noexcept;  // run() returns after this event, or at this agent's next switch
  std::uint32_t choose(const char* label, ChoiceKind kind, std::uint32_t alternatives);
  std::uint64_t latency(const char* label, const base::Latency& range);
  // This step touches what the bits of `domains` stand for, and nothing else that its steps report. A step that
  // reports nothing counts as touching everything. Matters to exhaustive search only.
  void touch(std::uint64_t domains) noexcept;

  // ---- from agents ----
  static constexpr AgentId nobody = UINT32_MAX;
  AgentId running() const noexcept;  // nobody outside of agents
  void charge(std::uint64_t ns) noexcept;
  void catch_up();                          // everything before now() happens first; ties with others are drawn
  void park();                              // takes a token that wake() left, or waits for one
  bool park_until(std::uint64_t deadline);  // false: the deadline came first
  void*& self() noexcept;                   // a slot of the agent (of the simulator outside of agents)
  // Before an access that may be disturbed: others may run first, for as long as is drawn. Of each window of so many
  // accesses of an agent one at most is; without an order by time, each is. Nothing outside of agents.
  static constexpr std::uint32_t step_window = 63;
  void step();
  // The agent looks for something again and again: its next look comes after something has happened that is no such
  // look. When there is nothing but looks, nothing can happen any more. `what` it looks for, for looks(), may be null.
  void let_others(const char* what = nullptr);

  // From an event: the agents that look for something again and again, and now look at what will not change unless
  // this event changes it. Only those that told what.
  struct Look {
    std::string agent;
    const char* what;
  };
  std::vector<Look> looks() const;

  // ---- what a run tells ----
  std::uint64_t hash() const noexcept;     // of every decision and switch; equal for equal runs, on any build
  void mix(std::uint64_t value) noexcept;  // adds to the hash: what happened, never an address
  std::uint64_t events() const noexcept;   // switches to agents and events that happened
  std::uint64_t choices() const noexcept;
  const std::vector<TakenChoice>& taken() const noexcept;  // with record_choices

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace heddle::lab
