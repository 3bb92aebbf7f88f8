// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle::lab {

// A moment of one agent: the time is a count of its releases. `nobody` is before everything.
struct Epoch {
  static constexpr std::uint32_t nobody = UINT32_MAX;
  std::uint32_t agent = nobody;
  std::uint32_t time = 0;
};

// For each agent, up to which of its moments something is ordered after it. Absent entries are zero.
class VectorClock {
 public:
  std::uint32_t at(std::uint32_t agent) const { return agent < times_.size() ? times_[agent] : 0; }

  void set(std::uint32_t agent, std::uint32_t time) {
    if (agent >= times_.size()) times_.resize(std::size_t{agent} + 1);
    times_[agent] = time;
  }

  void join(const VectorClock& other) {
    if (other.times_.size() > times_.size()) times_.resize(other.times_.size());
    for (std::size_t agent = 0; agent < other.times_.size(); ++agent) {
      if (other.times_[agent] > times_[agent]) times_[agent] = other.times_[agent];
    }
  }

  void clear() { times_.clear(); }

  bool covers(const Epoch& epoch) const { return epoch.agent == Epoch::nobody || epoch.time <= at(epoch.agent); }

  // An agent with a moment in this clock that `other` does not cover, or nobody.
  std::uint32_t first_beyond(const VectorClock& other) const {
    for (std::uint32_t agent = 0; agent < times_.size(); ++agent) {
      if (times_[agent] > other.at(agent)) return agent;
    }
    return Epoch::nobody;
  }

 private:
  std::vector<std::uint32_t> times_;
};

}  // namespace heddle::lab
