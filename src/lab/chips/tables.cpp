// SPDX-License-Identifier: Apache-2.0
//
// Figures of the chips. Published ones are from the field's own documentation of its A2/A3 and A5 task runtimes; what
// is not published is marked assumed.
#include "lab/chips/chips.hpp"

namespace heddle::lab {

namespace {

// What is the same on both chips.
chip::Timing timing() {
  chip::Timing timing;
  timing.scheduler_turn = {1'000, 2'500,
                           6'000};      // published: 5 to 10 us from poll to dispatch at light load, loads included
  timing.status_load = {95, 100, 105};  // published
  timing.dispatch_issue = 20;           // published: below 20 ns
  timing.dispatch_burst = 5;            // published
  timing.dispatch_visible = {120, 140, 300};          // published mean; least and most assumed
  timing.dispatch_half_skew = 20;                     // assumed
  timing.status_visible = {180, 600, 2'400};          // published least and mean; most assumed
  timing.through_memory = {980, 1'040, 2'400};        // published least and mean; most assumed
  timing.cached_poll = {3, 20, 41};                   // published: unchanged line, and rotating lines
  timing.task_switch = {600, 800, 1'600};             // published mean; least and most assumed
  timing.orchestrator_submit = {600, 870, 2'600};     // published mean; least and most assumed
  timing.device_start = {217'000, 217'000, 217'000};  // published
  timing.sync_start_bound = 200'000;                  // assumed
  timing.withheld_finish_bound = 1'000'000;           // assumed
  return timing;
}

// Published is that there are flags, that they count, and that their numbers are few; all figures are assumed.
chip::Handovers handovers() {
  chip::Handovers handovers;
  handovers.flags = 16;
  handovers.flag_most = 15;
  handovers.tiles = 4;
  handovers.flag_set = {20, 30, 60};
  handovers.flag_wait = {20, 30, 60};
  handovers.tile_issue = {40, 60, 120};
  handovers.tile_bandwidth = 128;
  return handovers;
}

}  // namespace

chip::Config a2a3_chip() {
  chip::Config chip;
  chip.name = "a2a3";
  chip.geometry = {24, 2, 3};  // published
  chip.timing = timing();
  chip.handovers = handovers();
  chip.rates = {1'600, 32, 12'000, 64};                              // assumed
  chip.memory = {64ULL << 30U, 192ULL << 10U, 1'024ULL << 10U, 64};  // published; the cube's local memory assumed
  chip.counter_hz = 50'000'000;                                      // published
  return chip;
}

chip::Config a5_chip() {
  chip::Config chip;
  chip.name = "a5";
  chip.geometry = {36, 2, 4};  // published
  chip.timing = timing();
  chip.handovers = handovers();
  chip.rates = {3'200, 48, 20'000, 128};                              // assumed
  chip.memory = {128ULL << 30U, 256ULL << 10U, 1'024ULL << 10U, 64};  // the line published, sizes assumed
  chip.counter_hz = 1'000'000'000;                                    // published
  return chip;
}

// As many cores as any program asks for, and nothing takes time.
chip::Config ideal_chip() {
  chip::Config chip;
  chip.name = "ideal";
  chip.geometry = {128, 2, 1};
  chip.counter_hz = 1'000'000'000;
  return chip;
}

}  // namespace heddle::lab
