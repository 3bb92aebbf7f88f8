// SPDX-License-Identifier: Apache-2.0
//
// Runs that tests of the hunt and of shrinking make up: a strategy that draws from its seed, and one that takes a list.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lab/keys.hpp"
#include "lab/schedule.hpp"

namespace heddle::lab::test {

// The fake engine puts the agent's number for its name: "agent 3".
class SeededStrategy final : public Strategy {
 public:
  explicit SeededStrategy(std::string name) : name_(std::move(name)) {}
  const char* name() const override { return name_.c_str(); }
  void begin(std::uint64_t seed, std::uint64_t length_hint) override {
    state_ = seed;
    hint = length_hint;
  }
  std::uint32_t choose(const Choice& choice) override {
    state_ = scramble(state_ + 1);
    return static_cast<std::uint32_t>(state_ % choice.alternatives);
  }
  std::uint64_t hint = 0;

 private:
  std::string name_;
  std::uint64_t state_ = 0;
};

class ListStrategy final : public Strategy {
 public:
  explicit ListStrategy(std::vector<TakenChoice> choices) : choices_(std::move(choices)) {}
  const char* name() const override { return "replay"; }
  void begin(std::uint64_t, std::uint64_t) override {}
  std::uint32_t choose(const Choice& choice) override {
    for (const TakenChoice& each : choices_) {
      const bool is_it = each.label == choice.label && each.ordinal == choice.ordinal &&
                         each.agent == "agent " + std::to_string(choice.agent);
      if (is_it) return std::min(each.taken, choice.alternatives - 1);
    }
    return 0;
  }

 private:
  std::vector<TakenChoice> choices_;
};

inline StrategyMaker fake_strategies() {
  return {[](const std::string& name) { return std::make_unique<SeededStrategy>(name); },
          [](std::vector<TakenChoice> choices, bool) { return std::make_unique<ListStrategy>(std::move(choices)); }};
}

// Draws choices one after the other, as the engine does.
class FakeRun {
 public:
  FakeRun(Strategy& strategy, std::uint64_t seed, bool record) : strategy_(strategy), record_(record) {
    strategy_.begin(seed, 0);
    result.trace_hash = 1;
  }
  std::uint32_t choose(const char* label, std::uint32_t agent, std::uint32_t ordinal, std::uint32_t alternatives) {
    Choice choice{};
    choice.label = label;
    choice.kind = ChoiceKind::latency;
    choice.alternatives = alternatives;
    choice.agent = agent;
    choice.agent_key = key_of("agent " + std::to_string(agent));
    choice.label_key = key_of(label);
    choice.ordinal = ordinal;
    choice.position = result.choices++;
    const std::uint32_t taken = strategy_.choose(choice);
    result.trace_hash = scramble(result.trace_hash + taken);
    if (record_ && taken != 0) result.taken.push_back({label, "agent " + std::to_string(agent), ordinal, taken});
    return taken;
  }
  RunResult fail(Code code, const std::string& sentence) {
    result.verdict = Verdict::deadlock;
    result.error = Error(code, sentence);
    result.sentence = sentence;
    return result;
  }
  RunResult result;

 private:
  Strategy& strategy_;
  bool record_;
};

}  // namespace heddle::lab::test
