// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "doctor/report.hpp"
#include "lab/trace_chain.hpp"

namespace heddle::cli {

/// A report's chain of waits as a trace shows it; empty where there is none.
lab::TraceChain trace_chain(const doctor::Report& report);

}  // namespace heddle::cli
