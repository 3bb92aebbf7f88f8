// SPDX-License-Identifier: Apache-2.0
//
// What arrives at a rank, taken up in order by an agent of its own. For fidelities at which whoever changes shared
// state may have to wait for a lock: an event of the simulator cannot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <heddle/block.hpp>
#include <string>
#include <utility>

#include "base/environment.hpp"
#include "lab/simulator.hpp"

namespace heddle::lab {

// A notify, or memory that has changed.
struct Arrival {
  int rank = -1;
  bool is_notify = false;
  std::uint64_t id = 0;  // of the notify
  heddle::detail::SignalRef signal;
  std::int64_t value = 0;
  Notify how = Notify::set;
  const std::byte* begin = nullptr;  // of the memory
  const std::byte* end = nullptr;
};

template <base::Environment E>
class Arrivals {
 public:
  Arrivals(Simulator& simulator, std::string agent, std::function<void(const Arrival&)> effect)
      : effect_(std::move(effect)) {
    simulator.spawn(std::move(agent), [this] { run(); });
  }
  Arrivals(const Arrivals&) = delete;
  Arrivals& operator=(const Arrivals&) = delete;

  // Outside of agents.
  void add(const Arrival& arrival) {
    waiting_.push_back(arrival);
    parker_.unpark();
  }
  // Once everything has been taken up.
  void stop() {
    stopping_ = true;
    parker_.unpark();
  }

 private:
  void run() {
    for (;;) {
      while (waiting_.empty() && !stopping_) parker_.park();
      if (waiting_.empty()) return;
      const Arrival arrival = waiting_.front();
      waiting_.pop_front();
      effect_(arrival);
    }
  }

  std::function<void(const Arrival&)> effect_;
  std::deque<Arrival> waiting_;
  typename E::Parker parker_;
  bool stopping_ = false;
};

}  // namespace heddle::lab
