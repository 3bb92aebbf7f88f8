// SPDX-License-Identifier: Apache-2.0
#include "cli/watched_run.hpp"

#include "cli/lab_run.hpp"
#include "cli/snapshot_file.hpp"
#include "cli/trace_chain.hpp"
#include "lab/dispatch_file.hpp"

namespace heddle::cli {

lab::RunWatch WatchedRun::watch() {
  lab::RunWatch watch;
  if (files_.trace) watch.trace = &trace_;
  if (files_.records) watch.records = &records_;
  // A trace shows the chain of waits, which is concluded from a snapshot.
  if (files_.snapshot || files_.html || files_.trace) watch.snapshot = &snapshot_;
  return watch;
}

void WatchedRun::write(const Made& run, RunResult& shown, const Save& save) {
  std::optional<snapshot::Snapshot>& taken = snapshot_.taken;
  doctor::Report report;
  if (taken) {
    add_run(*taken, run.plan, run.strategy, run.seed, run.command);
    if (files_.trace || files_.html) report = doctor::diagnose(*taken);
  }
  if (files_.trace) {
    shown.total.records = trace_.written();
    shown.total.records_dropped = trace_.dropped();
    const lab::TraceChain chain = trace_chain(report);
    save(*files_.trace, [&](const std::string& path) { trace_.write(path, chain); }, &RunResult::trace);
  }
  if (files_.records) {
    const lab::DispatchHeader header = records_header(run.plan, run.spec, run.result, run.strategy, run.seed);
    const auto write = [&](const std::string& path) {
      lab::write_dispatch(path, header, records_, run.result.passed());
    };
    save(*files_.records, write, &RunResult::records);
  }
  if (!taken) return;
  if (files_.snapshot)
    save(*files_.snapshot, [&](const std::string& path) { write_snapshot(path, *taken); }, &RunResult::snapshot);
  if (files_.html)
    save(*files_.html, [&](const std::string& path) { write_page(path, report, *taken); }, &RunResult::html);
}

}  // namespace heddle::cli
