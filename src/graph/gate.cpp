// SPDX-License-Identifier: Apache-2.0
#include "graph/gate.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

namespace heddle::graph {

namespace {

long membarrier(int command) { return ::syscall(SYS_membarrier, command, 0U, 0); }

// False where the system has none.
bool barrier_on_all_threads() {
  static const bool is_registered = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
  return is_registered && membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0;
}

}  // namespace

void Gate<base::HostEnvironment>::step_back() noexcept {
  do {
    leave();
    // acquire: as in enter().
    for (std::uint32_t n = 0; asked_.load(std::memory_order_acquire) != 0; ++n) base::HostEnvironment::pause(n);
    inside_.store(1, std::memory_order_relaxed);  // as in enter()
    std::atomic_signal_fence(std::memory_order_seq_cst);
  } while (asked_.load(std::memory_order_acquire) != 0);
}

Look::Look(std::vector<Gate<base::HostEnvironment>*> gates, std::chrono::milliseconds patience)
    : gates_(std::move(gates)), has_(gates_.size(), false) {
  for (auto* gate : gates_) gate->asked_.fetch_add(1, std::memory_order_relaxed);  // relaxed: see the barrier
  if (!barrier_on_all_threads()) return;
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (std::size_t i = 0; i < gates_.size(); ++i) {
    // acquire: partner is the release in leave().
    for (std::uint32_t n = 0; !has_[i]; ++n) {
      has_[i] = gates_[i]->inside_.load(std::memory_order_acquire) == 0;
      if (!has_[i] && n % 64 == 63 && std::chrono::steady_clock::now() >= deadline) break;
      if (!has_[i]) base::HostEnvironment::pause(n);
    }
  }
}

Look::~Look() {
  // release: partner is the acquire in enter().
  for (auto* gate : gates_) gate->asked_.fetch_sub(1, std::memory_order_release);
}

}  // namespace heddle::graph
