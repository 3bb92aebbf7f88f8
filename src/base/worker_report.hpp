// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/error.hpp>
#include <string>
#include <vector>

namespace heddle::base {

// The lines of an error's report about its workers: the ones that run something first, the idle ones in one line.
std::string report_workers(const std::vector<WorkerRecord>& workers);

}  // namespace heddle::base
