// SPDX-License-Identifier: Apache-2.0
#include "lab/chips/chips.hpp"

#include <algorithm>
#include <heddle/error.hpp>
#include <span>

#include "lab/failure_text.hpp"

namespace heddle::lab {

namespace {

struct Constant {
  const char* name;
  const char* help;
  std::uint64_t least, most;
  void (*set)(chip::Config&, std::uint64_t);
};

// A latency's mean is set by its name; its range then keeps its ratios.
void set_mean(base::Latency& latency, std::uint64_t mean) {
  if (latency.mean == 0) {
    latency = {mean, mean, mean};
    return;
  }
  latency.least = latency.least * mean / latency.mean;
  latency.most = latency.most * mean / latency.mean;
  latency.mean = mean;
}
template <base::Latency chip::Timing::* Member>
void set_latency(chip::Config& chip, std::uint64_t mean) {
  set_mean(chip.timing.*Member, mean);
}

constexpr std::uint64_t latency_most = 1'000'000'000;

const Constant constants[] = {
    {"clusters", "clusters of a device, one cube and two vector cores each", 1, 4096,
     [](chip::Config& chip, std::uint64_t value) {
       chip.geometry.clusters = static_cast<std::uint32_t>(value);
       chip.geometry.schedulers = std::min(chip.geometry.schedulers, chip.geometry.clusters);
     }},
    {"schedulers", "scheduler processors of a device, at most one a cluster", 1, 64,
     [](chip::Config& chip, std::uint64_t value) { chip.geometry.schedulers = static_cast<std::uint32_t>(value); }},
    {"scheduler_turn", "ns of a scheduler's turn, without its loads", 0, latency_most,
     set_latency<&chip::Timing::scheduler_turn>},
    {"status_load", "ns to load one core's status", 0, latency_most, set_latency<&chip::Timing::status_load>},
    {"dispatch_visible", "ns until a core sees a dispatch", 0, latency_most,
     set_latency<&chip::Timing::dispatch_visible>},
    {"dispatch_half_skew", "ns between the halves of a dispatch that are seen apart; 0: never apart", 0, latency_most,
     [](chip::Config& chip, std::uint64_t value) { chip.timing.dispatch_half_skew = value; }},
    {"status_visible", "ns until a scheduler sees a core's status", 0, latency_most,
     set_latency<&chip::Timing::status_visible>},
    {"cached_poll", "ns until a poll of cached memory sees a change", 0, latency_most,
     set_latency<&chip::Timing::cached_poll>},
    {"task_switch", "ns from a core's acknowledge to its kernel", 0, latency_most,
     set_latency<&chip::Timing::task_switch>},
    {"submit", "ns of each submit", 0, latency_most, set_latency<&chip::Timing::orchestrator_submit>},
    {"sync_start_bound", "ns that nothing else is handed out for a task with sync_start, at first", 1'000,
     3'600'000'000'000, [](chip::Config& chip, std::uint64_t value) { chip.timing.sync_start_bound = value; }},
    {"withheld_finish_bound", "ns that a pending task may stay untouched behind a finished one", 1'000,
     3'600'000'000'000, [](chip::Config& chip, std::uint64_t value) { chip.timing.withheld_finish_bound = value; }},
    {"early_dispatch", "whether tasks are placed behind gates while their producers run: 0 or 1", 0, 1,
     [](chip::Config& chip, std::uint64_t value) { chip.early.on = value != 0; }},
    {"gated_share", "percent of a scheduler's cores of one kind that may stand behind gates", 0, 100,
     [](chip::Config& chip, std::uint64_t value) { chip.early.share = static_cast<std::uint32_t>(value); }},
    {"flag_set", "ns of setting a flag", 0, latency_most,
     [](chip::Config& chip, std::uint64_t value) { set_mean(chip.handovers.flag_set, value); }},
    {"flag_wait", "ns of waiting for a flag that is there", 0, latency_most,
     [](chip::Config& chip, std::uint64_t value) { set_mean(chip.handovers.flag_wait, value); }},
    {"tile_issue", "ns of a push or pop, besides its bytes", 0, latency_most,
     [](chip::Config& chip, std::uint64_t value) { set_mean(chip.handovers.tile_issue, value); }},
    {"tile_bandwidth", "bytes per ns of a push or pop; 0: no limit", 0, 1'000'000,
     [](chip::Config& chip, std::uint64_t value) { chip.handovers.tile_bandwidth = value; }},
    {"flag_most", "that a flag counts to", 1, 1'000'000,
     [](chip::Config& chip, std::uint64_t value) { chip.handovers.flag_most = static_cast<std::uint32_t>(value); }},
    {"tile_queue", "tiles that the queue between two halves holds", 1, 1'024,
     [](chip::Config& chip, std::uint64_t value) { chip.handovers.tiles = static_cast<std::uint32_t>(value); }},
    {"core_bandwidth", "bytes per ns that one core can use of its device's memory; 0: no limit", 0, 1'000'000,
     [](chip::Config& chip, std::uint64_t value) { chip.rates.core_bandwidth = value; }},
};

struct OuterConstant {
  const char* name;
  const char* help;
  std::uint64_t least, most;
  void (*set)(Surroundings&, std::uint64_t);
};

const OuterConstant outer_constants[] = {
    {"dies_per_card", "devices that share a card, and its links", 1, 1024,
     [](Surroundings& around, std::uint64_t value) { around.links.dies_per_card = value; }},
    {"ordered_notifies", "1: every notify arrives after the puts before it, as a released one", 0, 1,
     [](Surroundings& around, std::uint64_t value) { around.ordered_notifies = value != 0; }},
    {"coherent_scalars", "1: scalar accesses go to memory, and through no cache", 0, 1,
     [](Surroundings& around, std::uint64_t value) { around.coherent_scalars = value != 0; }},
};

std::string known_constants() {
  std::string names;
  for (const NamedHelp& constant : chip_constants()) names += (names.empty() ? "" : ", ") + constant.name;
  return names;
}

template <class Any>
const Any* find(std::span<const Any> all, const std::string& name) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Any& each) { return name == each.name; });
  return found == all.end() ? nullptr : &*found;
}

template <class Any>
void check(const Any& constant, std::uint64_t value) {
  if (value >= constant.least && value <= constant.most) return;
  detail::throw_invalid("chip constant " + std::string(constant.name) + " is " + std::to_string(value) +
                        "; allowed are " + std::to_string(constant.least) + " to " + std::to_string(constant.most));
}

}  // namespace

chip::Config chip_config(const std::string& name, const std::map<std::string, std::uint64_t>& overrides) {
  chip::Config chip;
  if (name == "a2a3") {
    chip = a2a3_chip();
  } else if (name == "a5") {
    chip = a5_chip();
  } else if (name == "ideal") {
    chip = ideal_chip();
  } else {
    detail::throw_invalid("there is no chip " + shown(name) + "; there are: ideal, a2a3, a5, host");
  }
  for (const auto& [key, value] : overrides) {
    if (const auto* const outer = find<OuterConstant>(outer_constants, key)) {
      check(*outer, value);
      continue;
    }
    const auto* const constant = find<Constant>(constants, key);
    if (constant == nullptr)
      detail::throw_invalid("chip " + name + " has no constant " + shown(key) + "; there are: " + known_constants());
    check(*constant, value);
    constant->set(chip, value);
  }
  if (chip.geometry.schedulers > chip.geometry.clusters)
    detail::throw_invalid("chip constant schedulers is " + std::to_string(chip.geometry.schedulers) +
                          "; at most one for each of the " + std::to_string(chip.geometry.clusters) + " clusters");
  return chip;
}

Surroundings surroundings_of(const std::map<std::string, std::uint64_t>& overrides) {
  Surroundings around;
  for (const auto& [key, value] : overrides) {
    const auto* const constant = find<OuterConstant>(outer_constants, key);
    if (constant == nullptr) continue;
    check(*constant, value);
    constant->set(around, value);
  }
  return around;
}

const std::vector<NamedHelp>& chip_constants() {
  static const std::vector<NamedHelp> all = [] {
    std::vector<NamedHelp> names;
    for (const Constant& constant : constants) names.push_back({constant.name, constant.help});
    for (const OuterConstant& constant : outer_constants) names.push_back({constant.name, constant.help});
    return names;
  }();
  return all;
}

const std::vector<NamedHelp>& chip_names() {
  static const std::vector<NamedHelp> names{
      {"ideal", "128 clusters, and nothing takes time"},
      {"a2a3", "24 clusters, 3 schedulers"},
      {"a5", "36 clusters, 4 schedulers"},
      {"host", "the host backend itself, step by step"},
  };
  return names;
}

}  // namespace heddle::lab
