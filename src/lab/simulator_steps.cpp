// SPDX-License-Identifier: Apache-2.0
//
// What a simulator has for accesses that may be disturbed.
#include <cxxabi.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "lab/simulator_impl.hpp"

namespace heddle::lab {

namespace {

// How long others go first: about as long as a turn of a scheduler takes, so that something gets in between.
constexpr base::Latency disturbance{0, 3'000, 10'000};

// An agent may be disturbed while it handles an exception. What the language keeps of that belongs to the thread, as
// the ABI of C++ has it, and others must neither see nor change it.
struct HandledExceptions {
  void* caught = nullptr;
  unsigned int uncaught = 0;
};

class OwnExceptions {
 public:
  OwnExceptions() noexcept : kept_(std::exchange(of_thread(), {})) {}
  ~OwnExceptions() { of_thread() = kept_; }
  OwnExceptions(const OwnExceptions&) = delete;
  OwnExceptions& operator=(const OwnExceptions&) = delete;

 private:
  static HandledExceptions& of_thread() noexcept {
    return *reinterpret_cast<HandledExceptions*>(abi::__cxa_get_globals());
  }
  HandledExceptions kept_;
};

}  // namespace

void Simulator::step() {
  if (impl_->running == nullptr) return;
  if (impl_->by_time) {
    SimulatorAgent& agent = *impl_->running;
    if (agent.steps_left == 0) {
      const std::uint32_t place = choose("protocol.step", ChoiceKind::placement, step_window + 1);
      agent.steps_left = step_window;
      agent.disturbed_at = step_window - place;
    }
    if (--agent.steps_left != agent.disturbed_at) return;
    charge(latency("latency.disturbed", disturbance));
  }
  const OwnExceptions own;
  catch_up();
}

void Simulator::let_others(const char* what) {
  if (impl_->running == nullptr) throw std::logic_error("what is looked for outside of agents never comes");
  const OwnExceptions own;
  impl_->running->looks_for = what;
  impl_->running->state = SimulatorAgent::State::waiting;
  impl_->looking.push_back(impl_->running);
  impl_->switch_out();
}

std::vector<Simulator::Look> Simulator::looks() const {
  std::vector<Look> looks;
  for (const SimulatorAgent* const agent : impl_->looking)
    if (agent->looks_for != nullptr) looks.push_back({agent->name, agent->looks_for});
  return looks;
}

// Those that look again and again, once something has happened at `time`.
void Simulator::Impl::look_again(std::uint64_t time) {
  for (Agent* const agent : looking) {
    footprint.actors |= bit(agent->key);
    queue.put(std::max(time, agent->clock), *agent);
  }
  looking.clear();
}

}  // namespace heddle::lab
