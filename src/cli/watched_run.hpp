// SPDX-License-Identifier: Apache-2.0
//
// A run in the laboratory with those who watch it for its files, and what the files are filled with.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "cli/result.hpp"
#include "cli/run_plan.hpp"
#include "cli/trace_file.hpp"
#include "lab/dispatch_log.hpp"
#include "lab/run.hpp"
#include "lab/snapshot_log.hpp"
#include "lab/trace_log.hpp"

namespace heddle::cli {

class WatchedRun {
 public:
  /// What was run, how, and the command that makes it again.
  struct Made {
    const RunPlan& plan;
    const lab::RunSpec& spec;
    const lab::RunResult& result;
    std::string strategy;
    std::uint64_t seed = 0;
    std::string command;
  };
  using Save = std::function<void(TraceFile&, const TraceFile::Writer&, std::string RunResult::* path)>;

  /// The files have to stay. `trace_records`: that the trace keeps of each rank.
  WatchedRun(RunFiles& files, std::uint64_t trace_records) : files_(files), trace_(trace_records) {}

  /// Who watches the run.
  lab::RunWatch watch();
  /// Has each file saved that was asked for and that the run gives something for: a snapshot and a page only when it
  /// failed. `shown` is told how much of a trace there is.
  void write(const Made& run, RunResult& shown, const Save& save);

 private:
  RunFiles& files_;
  lab::TraceLog trace_;
  lab::DispatchLog records_;
  lab::SnapshotLog snapshot_;
};

}  // namespace heddle::cli
