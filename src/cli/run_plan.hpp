// SPDX-License-Identifier: Apache-2.0
//
// From the options of `heddle run` to what a session is opened with.
#pragma once

#include <cstdint>
#include <heddle/session.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/program_loader.hpp"
#include "cli/run.hpp"

namespace heddle::cli {

/// Records that a worker, or a rank of a simulated chip, keeps when a trace is asked for: some dozens of rounds of most
/// programs, 2 MiB on the host.
inline constexpr std::uint32_t trace_records_default = 1U << 16U;

/// Parameters and their values, in the order in which they are set.
using Settings = std::vector<std::pair<std::string, std::string>>;

/// One session to open and run.
struct RunPlan {
  std::string name;     ///< of the program
  std::string variant;  ///< empty without a row of the matrix
  Settings settings;    ///< the variant's among them
  std::shared_ptr<ProgramBase> program;
  std::string backend;
  DeviceConfig device;
  SessionConfig session;
  std::int64_t rounds = 1;
  bool check = true;
};

/// One plan for each row of the matrix that is asked for, else one. Throws UsageError.
std::vector<RunPlan> make_plans(const RunOptions& options, const FoundProgram& found);

/// A new object with these parameters. Throws UsageError for one that it does not have or take.
std::shared_ptr<ProgramBase> create_program(const FoundProgram& found, const Settings& settings);

/// The whole number that an option was given. Throws UsageError that names the option and the range.
std::int64_t parse_number(std::string_view option, std::string_view text, std::int64_t least, std::int64_t most);

/// The backends of this build.
struct Backend {
  std::string name;
  std::string summary;
};
const std::vector<Backend>& backends();

}  // namespace heddle::cli
