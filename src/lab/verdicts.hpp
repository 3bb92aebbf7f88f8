// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/error.hpp>

#include "lab/run.hpp"

namespace heddle::lab {

// What an error of a run says about it.
Verdict verdict_for(Code code);

}  // namespace heddle::lab
