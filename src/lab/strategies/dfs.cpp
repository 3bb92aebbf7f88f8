// SPDX-License-Identifier: Apache-2.0
#include "lab/strategies/dfs.hpp"

#include <algorithm>
#include <stdexcept>

namespace heddle::lab {

void DfsStrategy::begin(std::uint64_t /*seed*/, std::uint64_t /*length_hint*/) {
  if (complete_) {
    runs_ = redundant_runs_ = 0;
    complete_ = false;
  }
  ++runs_;
  depth_ = 0;
  step_node_ = none;
  asleep_.clear();
  redundant_ = false;
}

bool DfsStrategy::is_asleep(const std::vector<Sleeper>& sleepers, std::uint64_t key) noexcept {
  return std::any_of(sleepers.begin(), sleepers.end(), [&](const Sleeper& sleeper) { return sleeper.key == key; });
}

// The node of the path that the run comes to, or a new one at its end.
DfsStrategy::Node& DfsStrategy::reach(std::uint32_t alternatives, std::span<const std::uint64_t> keys) {
  if (depth_ == path_.size()) {
    Node node;
    node.alternatives = alternatives;
    node.keys.assign(keys.begin(), keys.end());
    path_.push_back(std::move(node));
  }
  Node& node = path_[depth_++];
  if (node.alternatives != alternatives || !std::equal(node.keys.begin(), node.keys.end(), keys.begin(), keys.end())) {
    throw std::logic_error("dfs: the same choices led to another run: the program is not deterministic");
  }
  return node;
}

void DfsStrategy::next_among(std::span<const std::uint64_t> keys, bool all) {
  all_ = all_ && all;
  next_ = 0;
  is_next_ = keys.size() > 1;
  step_node_ = none;
  if (redundant_) return;
  const auto awake =
      std::find_if(keys.begin(), keys.end(), [this](std::uint64_t key) { return !is_asleep(asleep_, key); });
  if (awake == keys.end()) {
    redundant_ = true;
    ++redundant_runs_;
    return;
  }
  if (keys.size() == 1) return;
  const bool is_new = depth_ == path_.size();
  Node& node = reach(static_cast<std::uint32_t>(keys.size()), keys);
  if (is_new) {
    node.taken = static_cast<std::uint32_t>(awake - keys.begin());
    node.asleep = asleep_;
  }
  asleep_ = node.asleep;
  next_ = node.taken;
  step_node_ = depth_ - 1;
}

std::uint32_t DfsStrategy::choose(const Choice& choice) {
  if (is_next_) {
    is_next_ = false;
    return next_;
  }
  if (choice.kind == ChoiceKind::latency || redundant_) return 0;
  return reach(choice.alternatives, {}).taken;
}

void DfsStrategy::step_done(const Footprint& footprint) {
  if (redundant_) return;
  if (step_node_ != none) path_[step_node_].footprint.add(footprint);
  step_node_ = none;
  std::erase_if(asleep_, [&](const Sleeper& sleeper) { return !sleeper.footprint.commutes(footprint); });
}

// To the next alternative, if there is one.
bool DfsStrategy::advance(Node& node) {
  do {
    ++node.taken;
  } while (node.taken < node.keys.size() && is_asleep(node.asleep, node.keys[node.taken]));
  return node.taken < node.alternatives;
}

bool DfsStrategy::end() {
  while (!path_.empty()) {
    Node& node = path_.back();
    if (sleep_sets_ && !node.keys.empty()) node.asleep.push_back(Sleeper{node.keys[node.taken], node.footprint});
    node.footprint = Footprint();
    if (advance(node)) return true;
    path_.pop_back();
  }
  complete_ = all_;
  return false;
}

}  // namespace heddle::lab
