// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <heddle/error.hpp>
#include <heddle/program.hpp>
#include <optional>

namespace heddle::lab {

enum class HostCall : std::uint8_t { fill, check };

// The program's own fill or check of one round, rank by rank, with the tensors that io_of(rank) names. Returns what the
// first one threw.
std::optional<Error> call_program(const ProgramBase& program, HostCall call, int ranks, std::int64_t round, int phase,
                                  const std::function<const heddle::detail::IoTable&(int)>& io_of);

}  // namespace heddle::lab
