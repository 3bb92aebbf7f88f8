// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/session.hpp>

namespace heddle::host {

// What Device::probe() runs. On any backend.
void probe(Device& device);

}  // namespace heddle::host
