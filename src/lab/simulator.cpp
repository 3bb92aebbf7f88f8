// SPDX-License-Identifier: Apache-2.0
#include "lab/simulator.hpp"

#include <algorithm>
#include <exception>
#include <optional>
#include <stdexcept>
#include <utility>

#include "base/sanitizer.hpp"
#include "lab/running_now.hpp"
#include "lab/simulator_impl.hpp"

#if HEDDLE_ASAN
#include <sanitizer/lsan_interface.h>
#endif

namespace heddle::lab {

namespace {

constexpr std::size_t tie_most = 16;
constexpr std::size_t next_most = 32;
constexpr std::uint32_t latency_alternatives = 16;
constexpr std::uint64_t never = SimulatorAgent::never;

thread_local Simulator* current_simulator = nullptr;

struct CurrentScope {
  explicit CurrentScope(Simulator* simulator) { current_simulator = simulator; }
  ~CurrentScope() { current_simulator = nullptr; }
  CurrentScope(const CurrentScope&) = delete;
  CurrentScope& operator=(const CurrentScope&) = delete;
};

// Calls body and tells what it threw, if it threw.
template <class Body>
std::optional<std::string> exception_of(Body&& body) {
  try {
    body();
    return std::nullopt;
  } catch (const std::exception& exception) {
    return exception.what();
  } catch (...) {
    return "something that is not a std::exception";
  }
}

}  // namespace

Simulator::Simulator(Strategy& strategy, Options options) : impl_(std::make_unique<Impl>(strategy, options)) {}

Simulator::Simulator(Strategy& strategy) : Simulator(strategy, Options()) {}

Simulator::~Simulator() {
  for (const auto& agent : impl_->agents) {
    // An agent that never began has its stack untouched.
    if (agent->stack != nullptr && !agent->started) AgentStack::give_back(std::move(agent->stack));
  }
}

Simulator* Simulator::current() noexcept { return current_simulator; }

// ---- from anywhere

AgentId Simulator::spawn(std::string name, std::function<void()> body) {
  const std::uint64_t key = key_of(name);
  if (!impl_->names.insert(key).second) throw std::logic_error("there is already an agent with the name " + name);
  auto agent = std::make_unique<SimulatorAgent>();
  agent->name = std::move(name);
  agent->key = key;
  static_cast<Queued&>(*agent).key_ = key;
  agent->number = static_cast<AgentId>(impl_->agents.size());
  agent->body = std::move(body);
  agent->stack = AgentStack::take(impl_->options.stack_bytes);
  agent->stack->run = [impl = impl_.get()]() -> base::Fiber& { return impl->run_agent(); };
  agent->clock = impl_->now;
  impl_->queue.put(impl_->now, *agent);
  impl_->agents.push_back(std::move(agent));
  return impl_->agents.back()->number;
}

SimulatorAgent& Simulator::Impl::agent(AgentId id) {
  if (id >= agents.size()) throw std::logic_error("there is no agent with the number " + std::to_string(id));
  return *agents[id];
}

void Simulator::wake(AgentId id, std::uint64_t time) {
  SimulatorAgent& agent = impl_->agent(id);
  impl_->footprint.actors |= Impl::bit(agent.key);
  if (agent.state == SimulatorAgent::State::finished) return;
  agent.token = std::min(agent.token, std::max(time, impl_->now));
  if (agent.state != SimulatorAgent::State::parked) return;
  const std::uint64_t when = std::max(std::min(agent.token, agent.deadline), agent.clock);
  if (!impl_->queue.holds(agent) || when < impl_->queue.time_of(agent)) impl_->queue.put(when, agent);
}

void Simulator::at(std::uint64_t time, Event& event) {
  if (impl_->queue.holds(event)) impl_->footprint.actors |= Impl::bit(event.key_);
  event.key_ = impl_->new_event_key();
  impl_->queue.put(std::max(time, impl_->now), event);
}

void Simulator::cancel(Event& event) {
  if (!impl_->queue.holds(event)) return;
  impl_->footprint.actors |= Impl::bit(event.key_);
  impl_->queue.remove(event);
}

const std::string& Simulator::name_of(AgentId agent) const { return impl_->agent(agent).name; }

std::uint64_t Simulator::now() const noexcept { return impl_->now; }

bool Simulator::by_time() const noexcept { return impl_->by_time; }

// ---- the loop

std::uint64_t Simulator::Impl::new_event_key() noexcept {
  if (running != nullptr) return combine(running->key, ++running->scheduled);
  if (step_key != 0) return combine(step_key, ++step_count);
  return combine(network.key, ++network.scheduled);
}

// Draws which of the candidates is next; the first is what comes by itself.
std::size_t Simulator::Impl::pick_among(const char* label, bool all) {
  candidate_keys.clear();
  for (const EventQueue::Entry& entry : candidates) {
    candidate_keys.push_back(entry.item->key_);
  }
  strategy.next_among(candidate_keys, all);
  return choose(label, ChoiceKind::order, static_cast<std::uint32_t>(candidates.size()));
}

EventQueue::Entry Simulator::Impl::pick() {
  queue.advance();
  EventQueue::Entry entry = queue.top();
  if (!by_time) {
    queue.earliest(next_most, false, candidates);
    entry = candidates[pick_among("next", candidates.size() == queue.size())];
  } else if (queue.tie()) {
    now = entry.time;
    queue.earliest(tie_most, true, candidates);
    entry = candidates[pick_among("tie", candidates.size() < tie_most)];
  }
  queue.remove(*entry.item);
  return entry;
}

void Simulator::Impl::happen(const EventQueue::Entry& entry) {
  // Out of the order of times, nothing happens before what happened last.
  now = by_time ? entry.time : std::max(now, entry.time);
  ++event_count;
  RunningNow::here().step();
  footprint = Footprint();
  const std::size_t looked = looking.size();
  note(now);
  if (entry.item->is_agent()) {
    auto& agent = *static_cast<Agent*>(entry.item);
    note(agent.number);
    go_on(agent);
  } else {
    auto& event = *static_cast<Event*>(entry.item);
    note(entry.sequence | (std::uint64_t{1} << 63U));
    step_key = event.key_;
    step_count = 0;
    footprint.actors |= bit(event.key_);
    if (const auto thrown = exception_of([&] { event.happen(); })) error = "an event threw: " + *thrown;
    step_key = 0;
  }
  if (looked != 0 && looking.size() == looked) look_again(entry.time);
  if (by_time) return;
  if (footprint.domains == 0 || stopping) footprint.domains = ~std::uint64_t{0};
  strategy.step_done(footprint);
}

// From the home context: until the agent switches.
void Simulator::Impl::go_on(Agent& agent) {
  now = std::max(now, agent.clock);
  footprint.actors |= bit(agent.key);
  agent.state = Agent::State::running;
  running = &agent;
  base::Fiber::switch_to(home, agent.resume_point());
  running = nullptr;
  if (agent.state == Agent::State::finished) {
    agent.body = nullptr;
    AgentStack::give_back(std::move(agent.stack));
  }
}

// On the stack of an agent from its start to its end.
base::Fiber& Simulator::Impl::run_agent() {
  Agent& agent = *running;
  if (const auto thrown = exception_of(agent.body)) error = "agent " + agent.name + " threw: " + *thrown;
  agent.state = Agent::State::finished;
  return home;
}

Simulator::End Simulator::run() {
  if (current_simulator != nullptr) throw std::logic_error("a simulator cannot run inside another one");
  const CurrentScope scope(this);
#if HEDDLE_ASAN
  // What agents own that never return is lost on purpose.
  const __lsan::ScopedDisabler no_leak_check;
#endif
  impl_->stopping = false;
  for (;;) {
    if (!impl_->error.empty()) throw std::logic_error(impl_->error);
    if (impl_->stopping) return End::stopped;
    if (impl_->queue.empty()) return End::idle;
    if (impl_->event_count >= impl_->options.event_limit) return End::event_limit;
    impl_->happen(impl_->pick());
    // relaxed: a request, nothing is read on the strength of it.
    if (std::atomic<bool>* const interrupt = impl_->options.interrupt;
        interrupt != nullptr && interrupt->load(std::memory_order_relaxed)) {
      interrupt->store(false, std::memory_order_relaxed);
      return End::interrupted;
    }
  }
}

// ---- from agents and events

void Simulator::stop() noexcept { impl_->stopping = true; }

std::uint32_t Simulator::Impl::choose(const char* label, ChoiceKind kind, std::uint32_t alternatives) {
  if (alternatives < 2) return 0;
  Actor& who = actor();
  const LabelTable::Label found = labels.find(label);
  if (who.ordinals.size() <= found.number) who.ordinals.resize(found.number + 1);
  const std::uint32_t ordinal = who.ordinals[found.number]++;
  const Choice choice{label,   kind,      alternatives, running != nullptr ? running->number : nobody,
                      who.key, found.key, ordinal,      choice_count++};
  const std::uint32_t chosen = strategy.choose(choice);
  if (chosen >= alternatives) {
    throw std::logic_error(std::string("strategy ") + strategy.name() + " chose " + std::to_string(chosen) + " of " +
                           std::to_string(alternatives) + " for " + label);
  }
  note(found.key);
  note(who.key + chosen);
  if (chosen != 0 && options.record_choices) taken.push_back(TakenChoice{label, who.name, ordinal, chosen});
  return chosen;
}

std::uint32_t Simulator::choose(const char* label, ChoiceKind kind, std::uint32_t alternatives) {
  return impl_->choose(label, kind, alternatives);
}

std::uint64_t Simulator::latency(const char* label, const base::Latency& range) {
  if (range.least >= range.most) return range.mean;
  const std::uint64_t chosen = impl_->choose(label, ChoiceKind::latency, latency_alternatives);
  if (chosen == 0) return range.mean;
  constexpr std::uint64_t steps = latency_alternatives - 2;
  const std::uint64_t span = range.most - range.least;
  return range.least + span / steps * (chosen - 1) + span % steps * (chosen - 1) / steps;
}

void Simulator::touch(std::uint64_t domains) noexcept { impl_->footprint.domains |= domains; }

// ---- from agents

AgentId Simulator::running() const noexcept { return impl_->running != nullptr ? impl_->running->number : nobody; }

void Simulator::charge(std::uint64_t ns) noexcept { impl_->now += ns; }

void Simulator::Impl::switch_out() {
  Agent& agent = *running;
  agent.clock = now;
  base::Fiber::switch_to(agent.suspended, home);
}

void Simulator::catch_up() {
  if (impl_->running == nullptr) return;
  EventQueue& queue = impl_->queue;
  const bool nothing_earlier = queue.empty() || queue.top().time > impl_->now;
  if (impl_->by_time && nothing_earlier && !impl_->stopping) return;
  impl_->running->state = SimulatorAgent::State::waiting;
  queue.put(impl_->now, *impl_->running);
  impl_->switch_out();
}

// A token in the agent's future is one that it waits for.
bool Simulator::Impl::park(std::uint64_t deadline) {
  if (running == nullptr) throw std::logic_error("only an agent can park");
  Agent& agent = *running;
  if (agent.token > now || stopping) {
    agent.state = Agent::State::parked;
    agent.deadline = deadline;
    const std::uint64_t when = std::min(agent.token, deadline);
    if (when != never) queue.put(std::max(when, now), agent);
    switch_out();
  }
  if (agent.token > now) return false;
  agent.token = never;
  return true;
}

void Simulator::park() { (void)impl_->park(never); }

bool Simulator::park_until(std::uint64_t deadline) { return impl_->park(deadline); }

void*& Simulator::self() noexcept { return impl_->actor().slot; }

// ---- what a run tells

std::uint64_t Simulator::hash() const noexcept { return impl_->hash_value; }
void Simulator::mix(std::uint64_t value) noexcept { impl_->note(value); }
std::uint64_t Simulator::events() const noexcept { return impl_->event_count; }
std::uint64_t Simulator::choices() const noexcept { return impl_->choice_count; }
const std::vector<TakenChoice>& Simulator::taken() const noexcept { return impl_->taken; }

}  // namespace heddle::lab
