// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <heddle/block.hpp>

namespace heddle::host {

// Copies a region. Regions that share memory give one of the possible mixtures, as on a chip. Returns the bytes copied.
std::uint64_t copy(const heddle::detail::CopyPlan& plan);

}  // namespace heddle::host
