// SPDX-License-Identifier: Apache-2.0
#include "lab/machine.hpp"

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <utility>

#include "base/sanitizer.hpp"
#include "lab/agent.hpp"
#include "lab/running_now.hpp"

#if HEDDLE_ASAN
#include <sanitizer/lsan_interface.h>
#endif

namespace heddle::lab {

namespace {

constexpr std::size_t events_kept = 48;
constexpr std::uint64_t hash_start = 0xcbf29ce484222325U;  // FNV-1a, 64 bits
constexpr std::uint64_t hash_prime = 0x100000001b3U;

thread_local Machine* current_machine = nullptr;

std::uint64_t next_run_id() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;  // relaxed: only has to be unique
}

}  // namespace

const char* Outcome::kind_name() const {
  switch (kind) {
    case Kind::finished:
      return "finished";
    case Kind::deadlock:
      return "deadlock";
    case Kind::step_limit:
      return "step limit";
    case Kind::race:
      return "race";
    case Kind::exception:
      return "exception";
  }
  return "unknown";
}

std::string Outcome::describe() const {
  std::string text = "seed " + std::to_string(seed) + ": " + kind_name() + " after " + std::to_string(steps) + " steps";
  if (!detail.empty()) text += ": " + detail;
  if (!tail.empty()) text += "\n" + tail;
  return text;
}

Machine::Machine(std::uint64_t seed, Options options)
    : seed_(seed), run_id_(next_run_id()), options_(options), random_(seed), hash_(hash_start) {
  static constexpr std::uint64_t mixes[] = {0, 40, 70, 90, 97};
  const std::uint64_t random = draw();
  stay_percent_ = options.stay_percent < 0 ? mixes[random % 5] : static_cast<std::uint64_t>(options.stay_percent);
}

Machine::~Machine() {
  for (const auto& agent : agents_) {
    // The last agent to end may have found the deadlock of the others: its stack was left in the middle of that.
    const bool idle = agent->stack->fiber.holds_context();
    if ((agent->finished || !agent->started) && idle) AgentStack::give_back(std::move(agent->stack));
  }
}

Machine* Machine::current() noexcept { return current_machine; }

// SplitMix64: small, the same everywhere, and good enough to pick interleavings.
std::uint64_t Machine::draw() noexcept {
  random_ += 0x9e3779b97f4a7c15U;
  std::uint64_t mixed = random_;
  mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
  mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
  return mixed ^ (mixed >> 31U);
}

void Machine::note(std::uint64_t decision) noexcept { hash_ = (hash_ ^ decision) * hash_prime; }

void Machine::note_event(const char* what) {
  const Event event{running_, what};
  if (events_.size() < events_kept) {
    events_.push_back(event);
  } else {
    events_[event_count_ % events_kept] = event;
  }
  ++event_count_;
}

std::string Machine::tail() const {
  std::string text;
  for (std::uint64_t index = 0; index < events_.size(); ++index) {
    const Event& event = events_[(event_count_ + index) % events_.size()];
    text += "  " + agents_[event.agent]->name + ": " + event.what + "\n";
  }
  return text;
}

void Machine::spawn(std::string name, std::function<void()> body) {
  const auto id = static_cast<std::uint32_t>(agents_.size());
  auto agent = std::make_unique<Agent>(std::move(name), std::move(body), options_.stack_bytes);
  agent->stack->run = [this]() -> base::Fiber& { return run_current(); };
  if (running_ != Epoch::nobody) {
    Agent& parent = now_running();
    flush_all(parent);
    agent->clock = parent.clock;
    release_step(parent);
  }
  agent->clock.set(id, 1);
  agents_.push_back(std::move(agent));
  runnable_.push_back(id);
  ++unfinished_;
}

void Machine::label(const void* cell, std::string name) { labels_[cell] = std::move(name); }

Outcome Machine::run() {
  if (current_machine != nullptr) throw std::logic_error("a lab machine cannot run inside another one");
  if (std::exchange(has_run_, true)) throw std::logic_error("a lab machine runs once");
  if (!runnable_.empty()) {
    current_machine = this;
#if HEDDLE_ASAN
    const __lsan::ScopedDisabler no_leak_check;
#endif
    running_ = runnable_[draw() % runnable_.size()];
    note(running_);
    base::Fiber::switch_to(home_, now_running().resume_point());
    current_machine = nullptr;
    running_ = Epoch::nobody;
  }
  for (const auto& agent : agents_) {
    if (outcome_.finished()) flush_all(*agent);
    agent->buffer.clear();
  }
  outcome_.seed = seed_;
  outcome_.steps = steps_;
  outcome_.hash = hash_;
  outcome_.marks = marks_;
  return outcome_;
}

// On the stack of an agent from its start to its end. Returns who runs after it.
base::Fiber& Machine::run_current() {
  Agent& agent = now_running();
  std::string error;
  bool thrown = false;
  try {
    agent.body();
  } catch (const std::exception& exception) {
    thrown = true;
    error = exception.what();
  } catch (...) {
    thrown = true;
    error = "not a std::exception";
  }
  if (thrown) stop(Outcome::Kind::exception, agent.name + " threw: " + error, {agent.name});
  // Its stores may still be on their way: the end of an agent is not noticed by the others.
  std::erase(runnable_, running_);
  agent.finished = true;
  if (--unfinished_ == 0) return home_;
  running_ = next_after_block();
  note(running_);
  return now_running().resume_point();
}

// Does not return to the agent.
void Machine::stop(Outcome::Kind kind, std::string detail, std::vector<std::string> agents) {
  outcome_.kind = kind;
  outcome_.detail = std::move(detail);
  outcome_.agents = std::move(agents);
  outcome_.tail = tail();
  base::Fiber::switch_to(now_running().suspended, home_);
}

void Machine::fail(std::string what) { stop(Outcome::Kind::exception, std::move(what), {now_running().name}); }

// Whoever runs when the present agent cannot go on.
std::uint32_t Machine::next_after_block() {
  if (!runnable_.empty()) return runnable_[draw() % runnable_.size()];
  std::uint32_t earliest = Epoch::nobody;
  std::uint64_t deadline = no_deadline;
  std::vector<std::string> parked;
  for (std::uint32_t id = 0; id < agents_.size(); ++id) {
    if (!agents_[id]->parked) continue;
    parked.push_back(agents_[id]->name);
    if (agents_[id]->deadline < deadline) {
      deadline = agents_[id]->deadline;
      earliest = id;
    }
  }
  if (earliest == Epoch::nobody) {
    std::string names;
    for (const std::string& name : parked) names += (names.empty() ? "" : ", ") + name;
    stop(Outcome::Kind::deadlock, "parked for ever: " + names, parked);
  }
  time_ = std::max(time_, deadline);
  Agent& agent = *agents_[earliest];
  agent.parked = false;
  runnable_.push_back(earliest);
  return earliest;
}

void Machine::continue_with(std::uint32_t next) {
  note(next);
  if (next == running_) return;
  base::Fiber& from = now_running().suspended;
  running_ = next;
  base::Fiber::switch_to(from, now_running().resume_point());
}

void Machine::step(const char* what, bool prefer_other) {
  if (++steps_ > options_.step_limit) stop(Outcome::Kind::step_limit, "no end in sight: livelock?", {});
  ++time_;
  if (steps_ % 256 == 0) RunningNow::here().step();
  const std::uint64_t random = draw();
  // Bits 0..7: does a buffered store reach memory; 8..23: stay; 24..: who.
  if (pending_stores_ != 0 && random % 8 == 0) flush_somewhere(draw());
  if (!unseen_.empty() && (random >> 3U) % 8 == 0) show(*unseen_[(random >> 6U) % unseen_.size()]);
  const bool stay = !prefer_other && (random >> 8U) % 65536 * 100 < stay_percent_ * 65536;
  std::uint32_t next = running_;
  if (!stay && runnable_.size() > 1) {
    next = runnable_[(random >> 24U) % runnable_.size()];
    if (prefer_other && next == running_) {
      const auto own = std::find(runnable_.begin(), runnable_.end(), running_);
      const auto distance = static_cast<std::size_t>(own - runnable_.begin());
      next = runnable_[(distance + 1 + (random >> 44U) % (runnable_.size() - 1)) % runnable_.size()];
    }
  }
  continue_with(next);
  note_event(what);
}

void*& Machine::self() noexcept { return now_running().slot; }

std::uint32_t Machine::choose(const char* label, std::uint32_t alternatives) {
  if (alternatives < 2) return 0;
  const auto chosen = static_cast<std::uint32_t>(draw() % alternatives);
  for (const char* letter = label; *letter != '\0'; ++letter) note(static_cast<unsigned char>(*letter));
  note(chosen);
  note_event(label);
  return chosen;
}

}  // namespace heddle::lab
