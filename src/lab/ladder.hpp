// SPDX-License-Identifier: Apache-2.0
//
// Which layer a failure needs: the program is hunted as it is, and then once for each rung, with one thing changed,
// over the same schedules. Of each rung it is told how often the same failure came, and whether that is less, or more,
// than chance explains (lab/rates.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lab/hunt.hpp"
#include "lab/rates.hpp"
#include "lab/rungs.hpp"

namespace heddle::lab {

struct LadderConfig {
  HuntConfig hunt;    // its specification is the baseline; one fidelity, one width, no dfs
  Settings settings;  // of the baseline
  std::vector<Rung> rungs;
  // Failures of the baseline after which there are enough schedules.
  std::uint64_t wanted = 100;
};

struct Climber {
  // Called on threads of a hunt; see Hunter.
  std::function<Runner(const Settings&)> make_runner;
  StrategyMaker strategies;
  std::function<bool()> interrupted = [] { return false; };
  // What is hunted now (empty: the baseline), how many schedules of it are done, and how many there will be (0: that is
  // not known yet). On the caller's thread.
  std::function<void(const std::string& name, std::uint64_t done, std::uint64_t of)> progress = nullptr;
};

// The failure that the ladder is about: the most frequent verdict and code of the baseline.
struct LadderFailure {
  Verdict verdict = Verdict::failed;
  std::uint16_t code = 0;
  std::string code_name;
  std::string sentence;  // of its first schedule
  std::string strategy;
  std::uint64_t seed = 0;
};

struct RungReport {
  Rung rung;
  std::uint64_t schedules = 0;  // that were run
  std::uint64_t failures = 0;   // of those, with the same verdict and code
  std::uint64_t others = 0;     // failures of another kind; they are left out of the pairs
  Pairs pairs;
  Judgement judgement;
  bool was_tried() const { return rung.why_not.empty(); }
  bool is_gone() const { return judgement.standing == Standing::involved && failures == 0; }
};

struct LadderReport {
  std::optional<LadderFailure> failure;  // none: the baseline passed
  std::uint64_t schedules = 0;           // of the baseline
  std::uint64_t failures = 0;            // of those, with that verdict and code
  std::uint64_t others = 0;
  std::uint64_t compared = 0;     // the rungs are run over the first so many of them
  std::vector<RungReport> rungs;  // in the order of the configuration
  std::uint64_t runs = 0;         // in all
  std::optional<StalledRun> stalled;
  std::string stalled_at;  // the rung's name; empty: the baseline
  bool interrupted = false;

  // One sentence that names the layers.
  std::string conclusion() const;
};

// Throws Error(invalid_argument) for a configuration out of range, and what a runner of the baseline throws. A rung
// that is refused is not tried.
LadderReport climb(const LadderConfig& config, const Climber& climber);

}  // namespace heddle::lab
