// SPDX-License-Identifier: Apache-2.0
#include "cli/snapshot_file.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "doctor/write.hpp"
#include "host/json_file.hpp"
#include "snapshot/json.hpp"

namespace heddle::cli {

void add_run(snapshot::Snapshot& snapshot, const RunPlan& plan, const std::string& strategy, std::uint64_t seed,
             std::string replay) {
  snapshot.program = plan.name;
  snapshot.variant = plan.variant;
  snapshot.settings.clear();
  for (const auto& [name, value] : plan.settings) snapshot.settings.push_back({name, value});
  snapshot.recorded.emplace_back("settings");
  snapshot.strategy = strategy;
  snapshot.seed = seed;
  snapshot.replay = std::move(replay);
}

std::string command_of(const RunPlan& plan, const RunOptions& options, const std::string& strategy,
                       std::uint64_t seed) {
  std::string text = fmt::format("heddle run {} --on {} --ranks {} --rounds {} --strategy {} --seed {}",
                                 options.program, plan.backend, plan.device.ranks, plan.rounds, strategy, seed);
  for (const auto& [name, value] : plan.settings) text += fmt::format(" --set {}={}", name, value);
  const std::pair<const char*, const std::string*> given[] = {
      {"--fidelity", &options.lab.fidelity},   {"--faults", &options.lab.faults},
      {"--checkers", &options.lab.checkers},   {"--values", &options.lab.values},
      {"--task-window", &options.task_window}, {"--heap-bytes", &options.heap_bytes},
      {"--dep-pool", &options.dep_pool}};
  for (const auto& [name, value] : given)
    if (!value->empty()) text += fmt::format(" {} {}", name, *value);
  for (const std::string& each : options.lab.chip_set) text += fmt::format(" --chip-set {}", each);
  if (options.reset_windows) text += " --reset-windows";
  if (!options.check) text += " --no-check";
  return text;
}

void write_snapshot(const std::string& path, const snapshot::Snapshot& snapshot) {
  host::JsonFile file(path);
  file.raw(snapshot::to_json(snapshot));
  file.close();
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
