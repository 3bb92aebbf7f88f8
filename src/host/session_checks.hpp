// SPDX-License-Identifier: Apache-2.0
//
// What every backend asks of a device's and a session's configuration.
#pragma once

#include <chrono>
#include <heddle/program.hpp>
#include <heddle/session.hpp>
#include <string>
#include <vector>

namespace heddle::host {

// As messages give it: "200 ms".
std::string text(std::chrono::milliseconds duration);

// Throws invalid_argument with the message unless the condition holds.
void require(bool condition, const std::string& message);

// Throw invalid_argument for what is out of range.
void check(const DeviceConfig& config);
void check(const SessionConfig& config);
// Unless scheduler < operation < host_fence, host_fence > scheduler + 1.5 s, and scheduler < tensor_access, each as far
// as both are set.
void check(const Timeouts& timeouts);
// Throws invalid_argument when the declared tensors and windows of all ranks take more than this machine has.
void check_memory(const std::vector<Plan>& plans);

}  // namespace heddle::host
