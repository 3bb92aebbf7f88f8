// SPDX-License-Identifier: Apache-2.0
#include "cli/snapshot_file.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "doctor/write.hpp"
#include "host/json_file.hpp"

namespace heddle::cli {

void add_run(snapshot::Snapshot& snapshot, const RunPlan& plan, std::string replay) {
  snapshot.program = plan.name;
  snapshot.variant = plan.variant;
  snapshot.settings.clear();
  for (const auto& [name, value] : plan.settings) snapshot.settings.push_back({name, value});
  snapshot.recorded.emplace_back("settings");
  snapshot.replay = std::move(replay);
}

void add_run(snapshot::Snapshot& snapshot, const RunPlan& plan, const std::string& strategy, std::uint64_t seed,
             std::string replay) {
  add_run(snapshot, plan, std::move(replay));
  snapshot.strategy = strategy;
  snapshot.seed = seed;
}

namespace {

std::string what_runs(const RunPlan& plan, const RunOptions& options) {
  return fmt::format("heddle run {} --on {} --ranks {} --rounds {}", options.program, plan.backend, plan.device.ranks,
                     plan.rounds);
}

std::string limits_of(const RunPlan& plan, const RunOptions& options) {
  std::string text;
  for (const auto& [name, value] : plan.settings) text += fmt::format(" --set {}={}", name, value);
  const std::pair<const char*, const std::string*> given[] = {{"--fidelity", &options.lab.fidelity},
                                                              {"--faults", &options.lab.faults},
                                                              {"--checkers", &options.lab.checkers},
                                                              {"--values", &options.lab.values},
                                                              {"--task-window", &options.task_window},
                                                              {"--heap-bytes", &options.heap_bytes},
                                                              {"--dep-pool", &options.dep_pool},
                                                              {"--threads", &options.threads},
                                                              {"--scheduler-timeout", &options.scheduler_timeout},
                                                              {"--operation-timeout", &options.operation_timeout},
                                                              {"--fence-timeout", &options.fence_timeout},
                                                              {"--tensor-timeout", &options.tensor_timeout}};
  for (const auto& [name, value] : given)
    if (!value->empty()) text += fmt::format(" {} {}", name, *value);
  for (const std::string& each : options.lab.chip_set) text += fmt::format(" --chip-set {}", each);
  if (options.reset_windows) text += " --reset-windows";
  if (!options.check) text += " --no-check";
  return text;
}

}  // namespace

std::string command_of(const RunPlan& plan, const RunOptions& options) {
  return what_runs(plan, options) + limits_of(plan, options);
}

std::string command_of(const RunPlan& plan, const RunOptions& options, const std::string& strategy,
                       std::uint64_t seed) {
  return what_runs(plan, options) + fmt::format(" --strategy {} --seed {}", strategy, seed) + limits_of(plan, options);
}

void write_page(const std::string& path, const doctor::Report& report, const snapshot::Snapshot& snapshot) {
  host::JsonFile file(path);
  file.raw(doctor::to_html(report, snapshot));
  file.close();
}

std::string snapshot_note(const std::string& path) {
  return fmt::format("snapshot in {0}: heddle explain {0} tells who waits for whom", path);
}

std::string page_note(const std::string& path) { return fmt::format("page in {}: open it in a browser", path); }

}  // namespace heddle::cli
