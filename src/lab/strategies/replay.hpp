// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "lab/choice.hpp"

namespace heddle::lab {

// Takes the listed choices as listed and leaves all others to another strategy.
class ReplayStrategy final : public Strategy {
 public:
  // The others take the default.
  explicit ReplayStrategy(const std::vector<TakenChoice>& list, bool by_time = true);
  ReplayStrategy(const std::vector<TakenChoice>& list, std::unique_ptr<Strategy> base);

  const char* name() const override { return "replay"; }
  void begin(std::uint64_t seed, std::uint64_t length_hint) override;
  void next_among(std::span<const std::uint64_t> keys, bool all) override { base_->next_among(keys, all); }
  void step_done(const Footprint& footprint) override { base_->step_done(footprint); }
  std::uint32_t choose(const Choice& choice) override;
  bool by_time() const override { return base_->by_time(); }
  bool end() override { return base_->end(); }

  // How many of the list the run has met so far. Fewer than its size after the run: the program has changed.
  std::size_t consumed() const noexcept { return consumed_; }
  std::size_t size() const noexcept { return listed_.size(); }

 private:
  static std::uint64_t key(std::uint64_t agent_key, std::uint64_t label_key, std::uint32_t ordinal) noexcept;

  std::unique_ptr<Strategy> base_;
  std::unordered_map<std::uint64_t, std::uint32_t> listed_;  // what to take, by key(); looked up only, never iterated
  std::size_t consumed_ = 0;
};

}  // namespace heddle::lab
