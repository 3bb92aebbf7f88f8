// SPDX-License-Identifier: Apache-2.0
//
// One case of the gallery, run: its fault is found from fresh seeds with the verdict and the names that it asks for,
// and what is right passes.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/case_file.hpp"
#include "cli/lab_options.hpp"
#include "cli/program_loader.hpp"
#include "lab/hunt.hpp"

namespace heddle::cli {

struct CaseConfig {
  std::uint64_t seed = 1;    ///< of the first hunt; the others begin far behind it
  std::uint64_t starts = 1;  ///< hunts for the fault, each from a seed of its own
  Budget find;               ///< of a hunt for a fault
  Budget pass;               ///< of the hunt that a repaired program or a control has to pass
  int jobs = 1;
  std::chrono::nanoseconds patience = std::chrono::seconds(30);
  std::function<bool()> interrupted = [] { return false; };
  std::function<void(const std::string& name, const lab::HuntCounts&)> progress = nullptr;
};

struct CaseRun {
  CaseFile about;
  std::vector<std::uint64_t> needed;         ///< schedules until the fault was found, of each start
  std::uint64_t passed = 0;                  ///< schedules of the repaired program, or of the control, that passed
  std::optional<lab::FoundFailure> failure;  ///< of the first start
  std::string verdict, sentence;             ///< of that failure, or of what passed
  std::vector<std::string> differs;          ///< what is not as the case says, a sentence each
  std::optional<lab::StalledRun> stalled;
  bool interrupted = false;

  bool is_as_expected() const { return differs.empty() && !interrupted && !stalled; }
  /// Of `needed`; 0 without any.
  std::uint64_t median() const;
};

CaseRun run_case(const CaseFile& about, const FoundProgram& program, const CaseConfig& config);

/// What is told of a run, and a picture of it (SVG).
struct CaseShown {
  std::string report, picture;
};
/// Makes the run of the first start's failure again and explains it.
CaseShown show_case(const CaseRun& run, const FoundProgram& program);

}  // namespace heddle::cli
