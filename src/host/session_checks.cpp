// SPDX-License-Identifier: Apache-2.0
#include "host/session_checks.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <heddle/error.hpp>

namespace heddle::host {

std::string text(std::chrono::milliseconds duration) { return std::to_string(duration.count()) + " ms"; }

void require(bool condition, const std::string& message) {
  if (!condition) heddle::detail::throw_invalid(message);
}

void check(const DeviceConfig& config) {
  require(config.ranks >= 1 && config.ranks <= 1024,
          "ranks is " + std::to_string(config.ranks) + "; allowed are 1 to 1024");
  require(
      config.threads >= 0 && config.threads <= 1024,
      "threads is " + std::to_string(config.threads) + "; allowed are 1 to 1024, or 0 for as many as there are cores");
  require(config.stack_bytes >= (64U << 10U) && config.stack_bytes <= (1U << 30U),
          "stack_bytes is " + std::to_string(config.stack_bytes) + "; allowed are 65536 to 1073741824");
}

void check(const SessionConfig& config) {
  require(config.ring.task_window >= 1 && config.ring.task_window <= (1U << 20U),
          "task_window is " + std::to_string(config.ring.task_window) + "; allowed are 1 to 1048576");
  require(config.ring.heap_bytes >= 1024 && config.ring.heap_bytes <= (1ULL << 40U),
          "heap_bytes is " + std::to_string(config.ring.heap_bytes) + "; allowed are 1024 to 2^40");
  require(config.ring.dep_pool >= 1 && config.ring.dep_pool <= (1U << 26U),
          "dep_pool is " + std::to_string(config.ring.dep_pool) + "; allowed are 1 to 67108864");
  require(config.region_entries >= 1 && config.region_entries <= (1U << 26U),
          "region_entries is " + std::to_string(config.region_entries) + "; allowed are 1 to 67108864");
  require(config.waiting_blocks >= 1 && config.waiting_blocks <= (1U << 20U),
          "waiting_blocks is " + std::to_string(config.waiting_blocks) + "; allowed are 1 to 1048576");
  check(config.timeouts);
}

void check(const Timeouts& timeouts) {
  const auto refuse = [](const std::string& message) {
    throw Error(Code::invalid_argument, "timeouts: " + message)
        .with_hint("scheduler < operation < host_fence, host_fence > scheduler + 1500 ms, scheduler < tensor_access");
  };
  const auto positive = [&](const char* name, const Timeouts::Duration& duration) {
    if (duration && duration->count() <= 0)
      refuse(std::string(name) + " is " + text(*duration) + "; it is more than 0 ms, or off");
  };
  positive("scheduler", timeouts.scheduler);
  positive("operation", timeouts.operation);
  positive("host_fence", timeouts.host_fence);
  positive("tensor_access", timeouts.tensor_access);
  if (timeouts.grace.count() < 0) refuse("grace is negative");
  const auto in_order = [&](const char* name, const Timeouts::Duration& less, const char* than,
                            const Timeouts::Duration& more) {
    if (less && more && *less >= *more)
      refuse(std::string(name) + " (" + text(*less) + ") must be less than " + than + " (" + text(*more) + ")");
  };
  in_order("scheduler", timeouts.scheduler, "operation", timeouts.operation);
  in_order("operation", timeouts.operation, "host_fence", timeouts.host_fence);
  in_order("scheduler", timeouts.scheduler, "host_fence", timeouts.host_fence);
  in_order("scheduler", timeouts.scheduler, "tensor_access", timeouts.tensor_access);
  if (timeouts.scheduler && timeouts.host_fence &&
      *timeouts.host_fence <= *timeouts.scheduler + std::chrono::milliseconds(1500))
    refuse("host_fence (" + text(*timeouts.host_fence) + ") must be more than scheduler + 1500 ms (" +
           text(*timeouts.scheduler + std::chrono::milliseconds(1500)) + ")");
}

// They are touched as a whole: more than the machine has would end the process, not the call.
void check_memory(const std::vector<Plan>& plans) {
  constexpr auto larger = [](std::uint64_t sum, std::uint64_t bytes) {
    return bytes > UINT64_MAX - sum ? UINT64_MAX : sum + bytes;
  };
  std::uint64_t declared = 0;
  for (const Plan& plan : plans) {
    for (const auto& spec : plan.tensors()) declared = larger(declared, spec.bytes());
    for (const auto& window : plan.windows()) declared = larger(declared, window.bytes);
  }
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const auto machine = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * page;
  require(declared <= machine / 10 * 9, "the ranks' tensors and windows take " + std::to_string(declared >> 20U) +
                                            " MiB; this machine has " + std::to_string(machine >> 20U) +
                                            " MiB: use fewer ranks or smaller sizes");
}

}  // namespace heddle::host
