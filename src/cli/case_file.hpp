// SPDX-License-Identifier: Apache-2.0
//
// The gallery's description of a case: NAME.case.json beside the module NAME.so.
#pragma once

#include <string>
#include <vector>

#include "lab/failure_file.hpp"
#include "lab/run.hpp"

namespace heddle::cli {

struct CaseFile {
  std::string name, program;
  bool has_own_program = true;  ///< it lies beside the description, and not in programs/
  std::string kind, source, summary, what_happens, in_the_wild;
  lab::RunSpec spec;
  std::vector<std::string> strategies;
  std::vector<std::string> chip_set;                         ///< "clusters=1", as --chip-set has it
  std::vector<std::pair<std::string, std::string>> session;  ///< "task-window", "16"
  std::vector<std::string> verdicts, codes, names;           ///< what has to be told

  /// Of kind program the program has the fault, and a parameter `repaired`; of kind fault the run is given one.
  bool is_faulty() const { return kind == "program" || kind == "fault"; }
  /// What has to pass: of a faulty case the one that is right, of others the case as it is.
  lab::RunSpec right_spec() const;
  lab::Settings right_settings() const;
  /// How a user hunts it: "heddle hunt NAME --chip-set clusters=1".
  std::string hunt_command() const;
};

/// Throws UsageError that names the file and what is wrong with it.
CaseFile read_case(const std::string& path);

/// Of all folders, by name. Of two with one name the first counts. Throws as read_case().
std::vector<CaseFile> find_cases(const std::vector<std::string>& folders);

}  // namespace heddle::cli
