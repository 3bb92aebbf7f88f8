// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lab/choice.hpp"

namespace heddle::lab {

// Every order of steps, every placement and every fault, one after the other, each run from its start. Latencies are
// the mean: without an order by time they only move deadlines. Sleep sets leave out orders that differ from one already
// seen only by steps that commute, as their footprints say.
class DfsStrategy final : public Strategy {
 public:
  explicit DfsStrategy(bool sleep_sets = true) : sleep_sets_(sleep_sets) {}

  const char* name() const override { return "dfs"; }
  bool by_time() const override { return false; }
  void begin(std::uint64_t seed, std::uint64_t length_hint) override;
  void next_among(std::span<const std::uint64_t> keys, bool all) override;
  std::uint32_t choose(const Choice& choice) override;
  void step_done(const Footprint& footprint) override;
  bool end() override;

  // Every order has been seen: end() has said that no other run is left, and at no point were there more things than
  // the simulator lets choose from. Worth as much as the runs are: one that was cut short has hidden what came after.
  bool complete() const noexcept { return complete_; }
  std::uint64_t runs() const noexcept { return runs_; }
  // Runs among these that turned out to repeat an order already seen.
  std::uint64_t redundant() const noexcept { return redundant_runs_; }

 private:
  // A step that needs not be taken now: what follows it has been seen.
  struct Sleeper {
    std::uint64_t key;
    Footprint footprint;
  };
  struct Node {
    std::uint32_t alternatives = 0;
    std::uint32_t taken = 0;
    std::vector<std::uint64_t> keys;  // of the steps to choose from; empty for choices within a step
    std::vector<Sleeper> asleep;      // when the node was reached first, and alternatives done since
    Footprint footprint;              // of the step that is taken, in all its runs
  };
  static constexpr std::size_t none = SIZE_MAX;

  static bool is_asleep(const std::vector<Sleeper>& sleepers, std::uint64_t key) noexcept;
  static bool advance(Node& node);
  Node& reach(std::uint32_t alternatives, std::span<const std::uint64_t> keys);

  const bool sleep_sets_;
  std::vector<Node> path_;
  // Of this run:
  std::size_t depth_ = 0;         // nodes of the path that it has passed
  std::size_t step_node_ = none;  // where the present step was chosen
  std::uint32_t next_ = 0;        // what the coming choice "next" takes
  bool is_next_ = false;          // the coming choice is "next"
  std::vector<Sleeper> asleep_;
  bool redundant_ = false;  // goes on to its end without alternatives

  bool all_ = true;
  bool complete_ = false;
  std::uint64_t runs_ = 0;
  std::uint64_t redundant_runs_ = 0;
};

}  // namespace heddle::lab
