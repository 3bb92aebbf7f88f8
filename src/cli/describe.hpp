// SPDX-License-Identifier: Apache-2.0
//
// What the command line of each command may hold.
#pragma once

#include <CLI/App.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/cases.hpp"
#include "cli/explain.hpp"
#include "cli/hunt.hpp"
#include "cli/ladder.hpp"
#include "cli/list.hpp"
#include "cli/repair.hpp"
#include "cli/replay.hpp"
#include "cli/run.hpp"
#include "cli/shrink.hpp"
#include "cli/size.hpp"
#include "cli/snapshot.hpp"
#include "cli/verify.hpp"

namespace heddle::cli {

void describe_list(CLI::App& app, ListOptions& options);
void describe_run(CLI::App& app, RunOptions& options);
void describe_hunt(CLI::App& app, HuntOptions& options);
void describe_ladder(CLI::App& app, LadderOptions& options);
void describe_cases(CLI::App& app, CasesOptions& options);
void describe_replay(CLI::App& app, ReplayOptions& options);
void describe_shrink(CLI::App& app, ShrinkOptions& options);
void describe_repair(CLI::App& app, RepairOptions& options);
void describe_size(CLI::App& app, SizeOptions& options);
void describe_verify(CLI::App& app, VerifyOptions& options);
void describe_explain(CLI::App& app, ExplainOptions& options);
void describe_snapshot(CLI::App& app, SnapshotOptions& options);

// ---- what several of them have ----

/// An option with one text for its value, in a group of the help; null for the usual one.
void add_text(CLI::App& app, const char* name, std::string& value, const char* type, const char* help,
              const char* group);
/// --html: what the doctor concludes of a failure.
void add_html(CLI::App& app, std::optional<std::string>& html, const char* group);
void add_program_path(CLI::App& app, std::vector<std::string>& folders, const char* group);
void add_patience(CLI::App& app, std::string& patience, const char* group);
/// NAME, --ranks, --rounds, --set, --variant.
void add_what_to_run(CLI::App& app, RunOptions& options, const char* group);
/// --check, --reset-windows.
void add_checks(CLI::App& app, RunOptions& options, const char* group);
/// Timeouts and rings.
void add_limits(CLI::App& app, RunOptions& options, const char* group);
/// --seed, --strategy and the others that only the laboratory has.
void add_lab(CLI::App& app, LabOptions& options, std::string& patience, const char* group);

}  // namespace heddle::cli
