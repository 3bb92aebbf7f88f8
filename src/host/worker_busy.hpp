// SPDX-License-Identifier: Apache-2.0
//
// Whether a worker runs a kernel or a rank's program, of whichever session. Real on the host, for who looks for what
// never returns; nothing in other environments.
#pragma once

#include "base/host_environment.hpp"

namespace heddle::host {

template <base::Environment E>
class WorkerBusy {
 public:
  void set(bool) {}
};

template <>
class WorkerBusy<base::HostEnvironment> {
 public:
  // relaxed: a look that comes too late or too early is told apart by a second one.
  void set(bool busy) { busy_.store(busy ? 1 : 0, std::memory_order_relaxed); }
  bool get() const { return busy_.load(std::memory_order_relaxed) != 0; }

 private:
  base::HostEnvironment::Atomic<std::uint32_t> busy_{0};
};

}  // namespace heddle::host
