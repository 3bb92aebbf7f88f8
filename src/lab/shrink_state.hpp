// SPDX-License-Identifier: Apache-2.0
//
// The smallest failure yet, and the tries to make it smaller.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lab/shrink.hpp"

namespace heddle::lab {

class ShrinkState {
 public:
  ShrinkState(const ShrinkConfig& config, const Shrinker& shrinker);

  // Runs the failure as it came. False when it is not shown; throws what the runner throws.
  bool show();
  // Each returns whether anything became smaller.
  bool shrink_program();
  bool shrink_choices();

  // Of what show() and the two above have left; nothing when none was found, or when the seed had to stay.
  std::optional<NearestPass> nearest_pass();

  bool is_spent();
  ShrinkReport report(bool is_minimal);

 private:
  using Clock = std::chrono::steady_clock;
  struct Candidate {
    Settings settings;
    RunSpec spec;
    Schedule schedule;
  };

  // The smaller thing that is tried decides nothing about ranks: only verdict, code and task have to be the same.
  bool is_same_kind(const RunResult& result) const;
  void run(const Candidate& candidate);  // into last_
  bool can_run(const Candidate& candidate);
  void accept(const Candidate& candidate);
  bool try_program(Candidate candidate);
  bool try_choices(std::vector<TakenChoice> choices);

  bool shrink_rounds();
  bool shrink_ranks();
  bool shrink_parameters();
  bool shrink_clusters();
  bool shrink_faults();
  bool to_list();
  void drop_groups(const std::string TakenChoice::* key);
  void drop_chunks();
  void drop_singles();
  bool passes_with(std::vector<TakenChoice> choices);
  std::optional<std::vector<TakenChoice>> passing_seed();
  ShrinkSize size_of(const Candidate& candidate, const RunResult& result) const;
  void tell(const char* what);

  const ShrinkConfig& config_;
  const Shrinker& shrinker_;
  Clock::time_point begun_ = Clock::now();
  std::uint64_t runs_ = 0;
  std::map<Settings, Runner> runners_;
  std::map<std::string, std::int64_t> values_;  // of the parameters, now
  Candidate best_;
  RunResult best_result_, last_;
  bool best_by_time_ = true, last_by_time_ = true;
  ShrinkSize before_;
  bool list_fails_ = false;  // the choices as a list do not show the failure: the seed has to stay
  bool interrupted_ = false;
};

}  // namespace heddle::lab
