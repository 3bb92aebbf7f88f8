// SPDX-License-Identifier: Apache-2.0
//
// Runs that are decided as a Schedule says. Whoever hunts or shrinks reaches the engine and the strategies only through
// the functions here.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lab/choice.hpp"
#include "lab/failure_file.hpp"
#include "lab/run.hpp"

namespace heddle::lab {

// Of one program with its parameters; called from one thread at a time.
using Runner = std::function<RunResult(const RunSpec&, Strategy&, std::uint64_t seed, bool record_choices)>;

struct StrategyMaker {
  std::function<std::unique_ptr<Strategy>(const std::string& name)> named;
  // Takes these choices, and the default everywhere else.
  std::function<std::unique_ptr<Strategy>(std::vector<TakenChoice>, bool by_time)> replay;
};

// Tells a strategy the length that it was told when the failure was found: begin() hands on `length_hint`.
class HintedStrategy final : public Strategy {
 public:
  HintedStrategy(Strategy& inner, std::uint64_t length_hint) : inner_(inner), length_hint_(length_hint) {}
  const char* name() const override { return inner_.name(); }
  void begin(std::uint64_t seed, std::uint64_t) override { inner_.begin(seed, length_hint_); }
  std::uint32_t choose(const Choice& choice) override { return inner_.choose(choice); }
  bool by_time() const override { return inner_.by_time(); }
  void next_among(std::span<const std::uint64_t> keys, bool all) override { inner_.next_among(keys, all); }
  void step_done(const Footprint& footprint) override { inner_.step_done(footprint); }
  bool end() override { return inner_.end(); }

 private:
  Strategy& inner_;
  std::uint64_t length_hint_;
};

struct ScheduledRun {
  RunResult result;
  bool by_time = true;  // how its strategy took events
};

// A strategy of its own for each run: nothing of earlier runs takes part.
ScheduledRun run_schedule(const Runner& runner, const StrategyMaker& strategies, const RunSpec& spec,
                          const Schedule& schedule, bool record_choices);

// The failure that a run has shown.
Failure to_failure(const RunSpec& spec, const Schedule& schedule, const RunResult& result);

}  // namespace heddle::lab
